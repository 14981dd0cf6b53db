// How the full-text indexes are kept, and what a search costs.

import { describe, expect, it } from "vitest";
import type { Database } from "../src/db/connection.js";
import type { Reader } from "../src/db/read-only.js";
import { IndexUpkeep } from "../src/index-upkeep.js";
import { encodeMessage } from "../src/message-codec.js";
import { searchFullText } from "../src/search/full-text.js";
import { searchRegex } from "../src/search/regex.js";
import { SearchStore } from "../src/store/search-store.js";
import type { SearchRequest } from "../src/search/types.js";
import type { MessageId } from "../src/types.js";
import { hitsOf, Talk } from "./support/search.js";

function asOperator(db: Database, work: () => void): void {
  db.transaction(() => {
    db.run("INSERT INTO operator_actions (action, target, started_at) VALUES ('repair', 'x', '')");
    work();
    db.run("UPDATE operator_actions SET finished_at = '2026' WHERE finished_at IS NULL");
  });
}

const request = (
  talk: Talk,
  pattern: string,
  more: Partial<SearchRequest> = {},
): SearchRequest => ({
  pattern,
  mode: "full_text",
  scope: "both",
  conversations: [talk.conversation()],
  limit: 50,
  sort: "relevance",
  ...more,
});

describe("the index", () => {
  it("is written with the message and undone with it", async () => {
    const talk = new Talk();
    const { db } = talk.lcm.stores;
    const undone = () =>
      db.transaction(() => {
        talk.user("heron");
        throw new Error("changed my mind");
      });
    expect(undone).toThrow("changed my mind");
    expect(await talk.find("heron")).toEqual([]);
    expect(talk.lcm.stores.index.newest()).toBe(0);
  });

  it("loses what an operator deletes", async () => {
    const talk = new Talk();
    const [one, two] = [talk.user("heron one"), talk.user("heron two")];
    talk.summary("heron leaf", [one]);
    asOperator(talk.lcm.stores.db, () => {
      talk.lcm.stores.db.exec(`DELETE FROM summary_messages; DELETE FROM transcript_entries;
        DELETE FROM summaries; DELETE FROM messages WHERE message_id = ${one}`);
    });
    expect(await talk.find("heron")).toEqual([two]);
    const rest = talk.lcm.stores.db.all("SELECT rowid FROM search_documents_index");
    expect(rest).toEqual([]);
  });

  it("follows a body that is replaced by the exact original", async () => {
    const talk = new Talk();
    const id = talk.user("a heron");
    const { db, messages } = talk.lcm.stores;
    const original = encodeMessage(
      { role: "user", content: "an egret" },
      "2026-01-01T00:00:00.000Z",
    );
    asOperator(db, () => messages.replaceBody(id, "entry-1", original));
    expect(await talk.find("heron")).toEqual([]);
    expect(await talk.find("egret")).toEqual([id]);
  });

  it("keeps no copy of any text", () => {
    const talk = new Talk();
    talk.user("unmistakable");
    const { db } = talk.lcm.stores;
    expect(db.all("SELECT text FROM search_messages")).toEqual([{ text: null }]);
    const tables = db.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE name LIKE 'search%content'",
    );
    expect(tables).toEqual([]);
  });

  it("is filled in small steps with what release 0.1.x left, the newest first", async () => {
    const talk = new Talk();
    const ids = talk.addAll(Array.from({ length: 1_200 }, (_, index) => `heron ${index}`));
    const leaf = talk.summary("heron leaf", ids.slice(0, 3));
    const { stores } = talk.lcm;
    stores.db.exec(`DELETE FROM search_messages; DELETE FROM search_documents_index;
      INSERT INTO search_backlog VALUES ('messages', 1, 1200), ('documents', 1, 1)`);
    const waiting = await talk.ask("heron");
    expect(waiting).toMatchObject({ hits: [], stopped: expect.stringContaining("1201 older") });
    const upkeep = new IndexUpkeep();
    upkeep.step(stores);
    const newest = ids.slice(700).toReversed();
    expect(await talk.find("heron", { sort: "recency", limit: 200 })).toEqual(newest.slice(0, 200));
    let steps = 1;
    while (upkeep.step(stores)) steps += 1;
    expect(steps).toBeLessThan(12);
    const found = (await talk.pages("heron", { limit: 200 })).flat();
    expect(new Set(found)).toEqual(new Set([...ids, leaf]));
    expect(await talk.ask("heron")).not.toHaveProperty("stopped");
  });

  it("is merged in the background, in small steps that come to an end", async () => {
    const talk = new Talk();
    for (let index = 0; index < 200; index += 1) talk.user(`heron ${index}`);
    const { stores } = talk.lcm;
    const segments = (): number =>
      stores.db.get<{ count: number }>(
        "SELECT count(DISTINCT segid) AS count FROM search_messages_idx",
      )?.count ?? 0;
    const before = segments();
    await talk.lcm.worker.drain();
    expect(segments()).toBeLessThan(before);
    expect(segments()).toBeLessThan(16);
    expect(new IndexUpkeep().step(stores)).toBe(false);
    expect(await talk.find("heron", { limit: 200 })).toHaveLength(200);
  });

  it("costs a commit as many statements as there are rows, however many there were before", () => {
    const talk = new Talk();
    const changes = (): number =>
      talk.lcm.stores.db.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
    talk.user("first");
    const costs = [1, 2, 3].map(() => {
      const before = changes();
      talk.user("heron");
      return changes() - before;
    });
    expect(new Set(costs).size).toBe(1);
  });
});

/** Runs a search over the writing connection, and tells its statements. */
function statementsOf(talk: Talk, search: SearchRequest): { sql: string; params: unknown[] }[] {
  const seen: { sql: string; params: unknown[] }[] = [];
  const { db } = talk.lcm.stores;
  const note = (sql: string, params: unknown[]): void => void seen.push({ sql, params });
  const reader: Reader = {
    get: (sql, ...params) => (note(sql, params), db.get(sql, ...params)),
    all: (sql, ...params) => (note(sql, params), db.all(sql, ...params)),
    iterate: (sql, ...params) => (note(sql, params), db.iterate(sql, ...params)),
  };
  const store = new SearchStore(reader);
  const isLate = (): boolean => false;
  if (search.mode === "full_text") hitsOf(searchFullText({ store, now: 0, isLate }, search));
  else searchRegex({ store, isLate, onPlace: () => {}, onHit: () => {} }, search);
  return seen;
}

describe("a search", () => {
  const QUESTION = "where did the heron build its nest on february 10";

  function filled(count: number): Talk {
    const talk = new Talk();
    const ids = talk.addAll(
      Array.from({ length: count }, (_, index) => `the heron built nest ${index}`),
    );
    talk.summary("the heron built nests", ids.slice(0, 4) as MessageId[]);
    return talk;
  }

  it("takes as many statements of a long history as of a short one", () => {
    const [short, long] = [filled(700), filled(4_000)];
    const count = (talk: Talk): number => statementsOf(talk, request(talk, QUESTION)).length;
    expect(count(long)).toBe(count(short));
    expect(count(long)).toBeLessThan(40);
  });

  it.each([
    ["of one conversation", {}],
    [
      "between two times",
      { since: "2026-01-01T00:00:00.000Z", before: "2027-01-01T00:00:00.000Z" },
    ],
    ["by time", { sort: "recency" }],
  ] as const)("reads no table from end to end: %s", (_, more) => {
    const talk = filled(50);
    talk.user("elsewhere", "web2");
    const { db } = talk.lcm.stores;
    for (const { sql, params } of statementsOf(talk, request(talk, QUESTION, more))) {
      const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...(params as string[]));
      const scans = plan
        .map(({ detail }) => detail)
        .filter((detail) =>
          /^SCAN (?:m|s|d|t|messages|summaries|transcript_entries)\b/.test(detail),
        );
      expect(scans, sql).toEqual([]);
    }
  });

  it("by regular expression looks at ranges of ids", () => {
    const talk = filled(4_000);
    const statements = statementsOf(talk, request(talk, "no such bird", { mode: "regex" }));
    expect(statements.length).toBeLessThan(8);
    const scan = statements.find(({ sql }) => sql.includes("FROM messages m"));
    const plan = talk.lcm.stores.db.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN ${scan?.sql}`,
      ...(scan?.params as string[]),
    );
    expect(plan[0]?.detail).toContain("USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
  });
});
