// What the database file promises: durable, strict, and the tables users know by name.

import { describe, expect, it } from "vitest";
import { FakeHost } from "./support/fake-host.js";
import { openTestLcm, openWithHost } from "./support/workspace.js";

/** The tables of the README's schema overview. */
const NAMED = [
  "conversations",
  "messages",
  "message_parts",
  "summaries",
  "summary_messages",
  "summary_parents",
  "context_items",
  "large_files",
  "expansion_grants",
];

describe("the database", () => {
  it("keeps a write-ahead log", () => {
    const { stores } = openTestLcm();
    expect(stores.db.get("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
  });

  it("is synchronous in full, also after bookkeeping that is not", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const full = { synchronous: 2 };
    expect(lcm.stores.db.get("PRAGMA synchronous")).toEqual(full);
    await lcm.createEngine().assemble({ ...host.ref("agent:main:web1"), messages: [] });
    expect(lcm.stores.db.get("PRAGMA synchronous")).toEqual(full);
    expect(() =>
      lcm.stores.db.transaction(() => {
        throw new Error("broken off");
      }, "relaxed"),
    ).toThrow("broken off");
    expect(lcm.stores.db.get("PRAGMA synchronous")).toEqual(full);
  });

  it("holds strict tables only, the named ones among them", () => {
    const { stores } = openTestLcm();
    const tables = stores.db.all<{ name: string; strict: number }>(
      "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    );
    expect(tables.filter(({ strict }) => strict === 0)).toEqual([]);
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(NAMED));
  });

  it("finds sessions that were left by an index, however many a conversation has", () => {
    const { stores } = openTestLcm();
    const plan = stores.db.all<{ detail: string }>(
      `EXPLAIN QUERY PLAN SELECT segment_id FROM segments
       WHERE conversation_id = 1 AND times_left > 0 AND segment_id > 0 ORDER BY segment_id LIMIT 1`,
    );
    expect(plan.map(({ detail }) => detail)).toEqual([
      expect.stringContaining("INDEX segments_left (conversation_id=? AND segment_id>?)"),
    ]);
  });
});
