// A database with talk in it, and a search over it.

import { onTestFinished } from "vitest";
import type { Lcm } from "../../src/lcm.js";
import { encodeMessage } from "../../src/message-codec.js";
import { createSearch } from "../../src/search/index.js";
import type { Hit, SearchAnswer, SearchRequest } from "../../src/search/types.js";
import type { AgentMessage, ConversationId, MessageId, SummaryId } from "../../src/types.js";
import { assistantMessage, userMessage } from "./messages.js";
import { openTestLcm } from "./workspace.js";

const START = Date.UTC(2026, 1, 10, 9);
const MINUTE = 60_000;

export const REGEX = { mode: "regex" } as const;

export class Talk {
  readonly lcm: Lcm = openTestLcm();
  readonly search = createSearch({ databasePath: () => this.lcm.config.databasePath });
  #count = 0;
  #time = START;

  constructor() {
    onTestFinished(() => this.search.close());
  }

  /** Lets the next message be written at a time. */
  at(iso: string): this {
    this.#time = Date.parse(iso);
    return this;
  }

  conversation(name = "web1"): ConversationId {
    const session = { agentId: "main", sessionKey: `agent:main:${name}`, sessionId: name };
    return this.lcm.stores.conversations.findOrCreate(session, new Date(START).toISOString()).id;
  }

  user(text: string, name = "web1"): MessageId {
    return this.add(userMessage(text, (this.#time += MINUTE)), name);
  }

  assistant(text: string, name = "web1"): MessageId {
    return this.add(assistantMessage(text, (this.#time += MINUTE)), name);
  }

  add(message: AgentMessage, name = "web1"): MessageId {
    const { db, conversations, messages } = this.lcm.stores;
    return db.transaction(() => {
      const now = new Date(this.#time).toISOString();
      const conversation = this.conversation(name);
      const segment = conversations.segmentOrCreate(conversation, name, now);
      const position = (messages.head(segment.id)?.position ?? -1) + 1;
      const entryId = `entry-${(this.#count += 1)}`;
      const id = messages.insert(conversation, { entryId }, encodeMessage(message, now));
      messages.place(segment.id, position, { messageId: id });
      return id;
    });
  }

  /** Many at once, one of each text. */
  addAll(texts: readonly string[]): MessageId[] {
    return this.lcm.stores.db.transaction(() => texts.map((text) => this.user(text)));
  }

  summary(content: string, over: readonly MessageId[]): SummaryId {
    const at = new Date(this.#time).toISOString();
    const { db, summaries } = this.lcm.stores;
    const [first, last] = [over[0] as MessageId, over.at(-1) as MessageId];
    const node = {
      conversationId: this.conversation(),
      depth: 0,
      content,
      tokens: 10,
      earliestAt: at,
      latestAt: at,
      descendantCount: 0,
      messageCount: over.length,
      firstMessageId: first,
      lastMessageId: last,
      fileIds: [],
      level: "normal",
      model: null,
      promptVersion: "1",
      previousContext: null,
      sourceTokens: 20,
    } as const;
    return db.transaction(() => summaries.insert(node, { kind: "leaf", messages: over }, at));
  }

  ask(pattern: string, options: Partial<SearchRequest> = {}): Promise<SearchAnswer> {
    return this.search.run({
      pattern,
      mode: "full_text",
      scope: "both",
      conversations: options.conversations ?? [this.conversation()],
      limit: 50,
      sort: "relevance",
      ...options,
    });
  }

  async find(
    pattern: string,
    options: Partial<SearchRequest> = {},
  ): Promise<(MessageId | SummaryId)[]> {
    return hitsOf(await this.ask(pattern, options)).map(({ id }) => id);
  }

  /** All pages of a search, page by page. */
  async pages(
    pattern: string,
    options: Partial<SearchRequest>,
  ): Promise<(MessageId | SummaryId)[][]> {
    const pages: (MessageId | SummaryId)[][] = [];
    let cursor: string | undefined;
    do {
      const answer = await this.ask(pattern, { ...options, cursor });
      pages.push(hitsOf(answer).map(({ id }) => id));
      cursor = answer.kind === "found" ? answer.cursor : undefined;
    } while (cursor !== undefined);
    return pages;
  }
}

export function hitsOf(answer: SearchAnswer): readonly Hit[] {
  if (answer.kind === "refused") throw new Error(answer.reason);
  return answer.hits;
}

/** What the marks of a hit's snippet stand on. */
export function markedIn({ snippet }: Hit): string[] {
  return snippet.marks.map(([from, to]) => snippet.text.slice(from, to));
}
