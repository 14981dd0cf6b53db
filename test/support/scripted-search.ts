// A search for tests: looks through the stored rows word by word, with no index and no thread.

import { plainText } from "../../src/message-codec.js";
import type { Hit, Search, SearchRequest, Snippet } from "../../src/search/types.js";
import type { Stores } from "../../src/store/index.js";
import type { ConversationId, MessageId, SummaryId } from "../../src/types.js";

export class ScriptedSearch implements Search {
  readonly requests: SearchRequest[] = [];
  /** Answered as the reason why not everything was looked at. */
  stopped: string | undefined;

  constructor(private readonly stores: () => Stores) {}

  async run(request: SearchRequest): Promise<Awaited<ReturnType<Search["run"]>>> {
    this.requests.push(request);
    let pattern: RegExp;
    try {
      pattern = compile(request);
    } catch (error) {
      return { kind: "refused", reason: `pattern can not be used: ${(error as Error).message}` };
    }
    const all = [...this.#messages(request, pattern), ...this.#summaries(request, pattern)]
      .filter(
        ({ createdAt }) =>
          (request.since === undefined || createdAt >= request.since) &&
          (request.before === undefined || createdAt < request.before),
      )
      .toSorted((one, other) => other.score - one.score);
    const from = Number(request.cursor ?? 0);
    const to = from + request.limit;
    return {
      kind: "found",
      hits: all.slice(from, to),
      ...(to < all.length ? { cursor: String(to) } : {}),
      ...(this.stopped === undefined ? {} : { stopped: this.stopped }),
    };
  }

  async close(): Promise<void> {}

  #messages({ conversations, scope }: SearchRequest, pattern: RegExp): Hit[] {
    if (scope === "summaries") return [];
    const { db, recall, summaries } = this.stores();
    const ids = db
      .all<{ id: MessageId }>(
        `SELECT m.message_id AS id FROM json_each(?) j
         JOIN messages m ON m.conversation_id = j.value ORDER BY m.message_id`,
        JSON.stringify(conversations),
      )
      .map(({ id }) => id);
    return recall.messages(ids).flatMap((row): Hit[] => {
      const match = snippet(plainText(row.message), pattern);
      if (!match) return [];
      const { id, conversationId, role, createdAt } = row;
      const coveredBy = summaries.leavesOver([id])[0]?.id ?? null;
      const { found, score } = match;
      return [
        { type: "message", id, conversationId, role, createdAt, coveredBy, snippet: found, score },
      ];
    });
  }

  #summaries({ conversations, scope }: SearchRequest, pattern: RegExp): Hit[] {
    if (scope === "messages") return [];
    const { db, summaries } = this.stores();
    const ids = db
      .all<{ id: SummaryId; conversationId: ConversationId }>(
        `SELECT s.summary_id AS id FROM json_each(?) j
         JOIN summaries s ON s.conversation_id = j.value ORDER BY s.rowid`,
        JSON.stringify(conversations),
      )
      .map(({ id }) => id);
    return summaries.many(ids).flatMap((row): Hit[] => {
      const match = snippet(row.content, pattern);
      if (!match) return [];
      const { id, conversationId, depth, earliestAt, latestAt, createdAt } = row;
      const kind = depth === 0 ? "leaf" : "condensed";
      const { found, score } = match;
      const common = { conversationId, createdAt, snippet: found, score };
      return [{ type: "summary", id, depth, kind, earliestAt, latestAt, ...common }];
    });
  }
}

function compile({ pattern, mode }: SearchRequest): RegExp {
  if (mode === "regex") return new RegExp(pattern, "gu");
  const words = pattern.match(/[\p{L}\p{N}_]{3,}/gu) ?? ["(?!)"];
  return new RegExp(words.join("|"), "giu");
}

function snippet(text: string, pattern: RegExp): { found: Snippet; score: number } | undefined {
  const matches = [...text.matchAll(pattern)].filter(([match]) => match !== "");
  const [first] = matches;
  if (!first) return undefined;
  const from = Math.max(0, first.index - 40);
  const shown = text.slice(from, first.index + first[0].length + 80);
  const mark = [first.index - from, first.index - from + first[0].length] as const;
  const words = new Set(matches.map(([match]) => match.toLowerCase()));
  return { found: { text: shown, marks: [mark] }, score: words.size };
}
