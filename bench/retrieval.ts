// How well a search finds answers, on conversations that are generated here, and what the index costs.
// `npm run bench:retrieval` prints the tables; the seeds of the second played no part in choosing the
// weights of the ranking.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLcm } from "../src/lcm.js";
import { encodeMessage } from "../src/message-codec.js";
import { createSearch } from "../src/search/index.js";
import type { Search } from "../src/search/types.js";
import type { Stores } from "../src/store/index.js";
import type { ConversationId, MessageId } from "../src/types.js";
import { indexCosts } from "./retrieval/costs.js";
import { generate, type Generated, type Question, wordsOf } from "./retrieval/conversations.js";

const SEEDS = [1, 2, 3, 4, 101, 102, 103, 104];
const HELD_OUT = [201, 202, 203, 204, 205, 206, 207, 208];
const SESSIONS = 120;
const TOP = 20;

interface Scores {
  readonly at5: number;
  readonly at10: number;
  readonly at20: number;
  readonly mrr: number;
}

type Way = (question: Question) => Promise<MessageId[]>;

await main();

async function main(): Promise<void> {
  for (const [name, seeds] of [
    ["seeds the ranking was made on", SEEDS],
    ["held-out seeds", HELD_OUT],
  ] as const) {
    const runs: Record<string, Scores>[] = [];
    for (const seed of seeds) runs.push(await measure(seed));
    console.log(`\n${name}: ${seeds.join(", ")}`);
    for (const way of Object.keys(runs[0] ?? {})) {
      console.log(line(way, mean(runs.map((run) => run[way] as Scores))));
    }
  }
  console.log(`\n${indexCosts()}`);
}

async function measure(seed: number): Promise<Record<string, Scores>> {
  const directory = mkdtempSync(join(tmpdir(), "lcm-bench-"));
  const databasePath = join(directory, "lcm.db");
  const lcm = openLcm({ databasePath });
  const search = createSearch({ databasePath: () => databasePath });
  try {
    const generated = generate({ seed, sessions: SESSIONS });
    const { conversation, ids } = store(lcm.stores, generated);
    const ways: Record<string, Way> = {
      sentences: searching(search, conversation, ({ sentence }) => sentence),
      "sentences, plain OR": async ({ sentence }) => plainOr(lcm.stores, sentence),
      "key words": searching(search, conversation, ({ keywords }) => keywords),
      "key words, plain OR": async ({ keywords }) => plainOr(lcm.stores, keywords),
    };
    const scores: Record<string, Scores> = {};
    for (const [name, way] of Object.entries(ways)) {
      scores[name] = await score(generated.questions, ids, way);
    }
    return scores;
  } finally {
    await search.close();
    lcm.close();
    rmSync(directory, { recursive: true });
  }
}

function store(
  { db, conversations, messages }: Stores,
  generated: Generated,
): { conversation: ConversationId; ids: MessageId[] } {
  const now = new Date().toISOString();
  return db.transaction(() => {
    const session = { agentId: "main", sessionKey: "agent:main:bench", sessionId: "bench-0" };
    const { id } = conversations.findOrCreate(session, now);
    const ids = generated.starts.flatMap((start, index) => {
      const segment = conversations.segmentOrCreate(id, `bench-${index}`, now);
      return generated.messages
        .slice(start, generated.starts[index + 1])
        .map((message, position) => {
          const entryId = `e${start + position}`;
          const messageId = messages.insert(id, { entryId }, encodeMessage(message, now));
          messages.place(segment.id, position, { messageId });
          return messageId;
        });
    });
    return { conversation: id, ids };
  });
}

function searching(
  search: Search,
  conversation: ConversationId,
  words: (q: Question) => string,
): Way {
  return async (question) => {
    const answer = await search.run({
      pattern: words(question),
      mode: "full_text",
      scope: "messages",
      conversations: [conversation],
      limit: TOP,
      sort: "relevance",
    });
    if (answer.kind === "refused") throw new Error(answer.reason);
    return answer.hits.flatMap((hit) => (hit.type === "message" ? [hit.id] : []));
  };
}

function plainOr({ db }: Stores, text: string): MessageId[] {
  const match = [...new Set(wordsOf(text))].map((word) => `"${word}"`).join(" OR ");
  return db
    .all<{ id: MessageId }>(
      `SELECT rowid AS id FROM search_messages WHERE search_messages MATCH ? ORDER BY rank LIMIT ${TOP}`,
      `{text} : (${match})`,
    )
    .map(({ id }) => id);
}

async function score(
  questions: readonly Question[],
  ids: readonly MessageId[],
  way: Way,
): Promise<Scores> {
  const ranks: number[] = [];
  for (const question of questions) {
    const found = await way(question);
    const rank = found.indexOf(ids[question.answer] as MessageId);
    ranks.push(rank === -1 ? Number.POSITIVE_INFINITY : rank + 1);
  }
  const within = (limit: number): number =>
    ranks.filter((rank) => rank <= limit).length / ranks.length;
  const mrr = ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length;
  return { at5: within(5), at10: within(10), at20: within(20), mrr };
}

function mean(all: readonly Scores[]): Scores {
  const of = (key: keyof Scores): number =>
    all.reduce((sum, one) => sum + one[key], 0) / all.length;
  return { at5: of("at5"), at10: of("at10"), at20: of("at20"), mrr: of("mrr") };
}

function line(name: string, { at5, at10, at20, mrr }: Scores): string {
  const [five, ten, twenty, rank] = [at5, at10, at20, mrr].map((value) => value.toFixed(2));
  return `  ${name.padEnd(22)} recall@5 ${five}  @10 ${ten}  @20 ${twenty}  MRR ${rank}`;
}
