// The schema itself keeps what was stored: content changes only beside the record of an operator's
// action (G2).

import { describe, expect, it } from "vitest";
import type { Database } from "../src/db/connection.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { openWithHost } from "./support/workspace.js";

const KEY = "agent:main:web1";

/** A turn of four messages, whose inner two have no entry yet, with a leaf and a node above it. */
async function openWithGraph(): Promise<Database> {
  const host = new FakeHost();
  const { stores, createEngine } = openWithHost(host);
  const rows = [
    userMessage("hello", host.tick()),
    ...toolLoop("c1", "out", host.tick()),
    assistantMessage("done", host.tick()),
  ];
  await createEngine().commitTurn(host.turn(KEY, rows));
  stores.db.exec(`
    INSERT INTO summaries (summary_id, conversation_id, kind, content, token_count, created_at)
      VALUES ('sum_leaf', 1, 'leaf', 'a leaf', 2, '2026'), ('sum_node', 1, 'condensed', 'a node', 2, '2026');
    INSERT INTO summary_messages VALUES ('sum_leaf', 0, 1), ('sum_leaf', 1, 2);
    INSERT INTO summary_parents VALUES ('sum_node', 0, 'sum_leaf');
    INSERT INTO operator_actions (action, target, started_at, finished_at)
      VALUES ('repair', 'earlier', '2026', '2026');`);
  return stores.db;
}

const MESSAGE_CHANGES = [
  "conversation_id = conversation_id",
  "role = 'other'",
  "in_context = 0",
  "starts_turn = 0",
  "token_count = 1",
  "created_at = '1999'",
  "body = '{}'",
  "body = NULL",
  "body = body",
  "entry_id = 'other'",
  "entry_id = NULL",
];

const SUMMARY_CHANGES = [
  "content = 'better'",
  "conversation_id = conversation_id",
  "kind = 'leaf'",
  "depth = 7",
  "token_count = 1",
  "earliest_at = '1999'",
  "latest_at = '1999'",
  "descendant_count = 9",
  "file_ids = '[1]'",
  "level = 'deterministic'",
  "model = 'other'",
  "prompt_version = 'other'",
  "previous_context = 'other'",
  "source_tokens = 9",
  "message_count = 9",
  "first_message_id = 2",
  "last_message_id = 3",
  "created_at = '1999'",
];

const MESSAGE_COLUMNS =
  "message_id, conversation_id, entry_id, role, in_context, starts_turn, token_count, created_at, body";

/** Statements that alter or remove what was stored. */
const FORBIDDEN = [
  ...MESSAGE_CHANGES.map((change) => `UPDATE messages SET ${change} WHERE message_id = 1`),
  `REPLACE INTO messages (${MESSAGE_COLUMNS}) VALUES (1, 1, NULL, 'user', 1, 1, 1, '2026', '{}')`,
  ...SUMMARY_CHANGES.map(
    (change) => `UPDATE summaries SET ${change} WHERE summary_id = 'sum_node'`,
  ),
  `REPLACE INTO summaries (summary_id, conversation_id, kind, content, token_count, created_at)
     VALUES ('sum_node', 1, 'condensed', 'better', 2, '2026')`,
  "DELETE FROM summaries WHERE summary_id = 'sum_node'",
  "DELETE FROM conversations",
];

/** The same, of rows that others point to: an action has to remove those first. */
const FORBIDDEN_WHILE_IN_USE = [
  "DELETE FROM messages WHERE message_id = 1",
  `REPLACE INTO messages (${MESSAGE_COLUMNS})
     SELECT NULL, 1, entry_id, 'user', 1, 1, 1, '2026', '{}' FROM messages WHERE message_id = 1`,
  "DELETE FROM summaries WHERE summary_id = 'sum_leaf'",
];

function stored(db: Database): unknown {
  const tables = ["messages", "summaries", "conversations", "operator_actions"];
  return tables.map((table) => db.all(`SELECT * FROM ${table}`));
}

function asOperator(db: Database, work: () => void): void {
  db.transaction(() => {
    db.run("INSERT INTO operator_actions (action, target, started_at) VALUES ('repair', 'x', '')");
    work();
    db.run("UPDATE operator_actions SET finished_at = '2026' WHERE finished_at IS NULL");
  });
}

describe("what was stored", () => {
  it.each([...FORBIDDEN, ...FORBIDDEN_WHILE_IN_USE])("is kept from: %s", async (sql) => {
    const db = await openWithGraph();
    const before = stored(db);
    expect(() => db.run(sql)).toThrow(/never altered|never deleted|keeps its transcript entry/);
    expect(stored(db)).toEqual(before);
  });

  it.each(FORBIDDEN)("may be changed beside an operator's action: %s", async (sql) => {
    const db = await openWithGraph();
    asOperator(db, () => expect(db.run(sql).changes).toBeGreaterThan(0));
  });

  it("may be deleted beside an operator's action once nothing points to it", async () => {
    const db = await openWithGraph();
    asOperator(db, () => {
      for (const table of ["summary_messages", "context_items", "transcript_entries"]) {
        db.run(`DELETE FROM ${table}`);
      }
      expect(db.run("DELETE FROM messages").changes).toBe(4);
    });
  });

  it("is guarded again once the action is finished or was undone", async () => {
    const db = await openWithGraph();
    asOperator(db, () => {});
    expect(() => db.run("UPDATE messages SET body = '{}'")).toThrow("never altered");
    const undone = () =>
      asOperator(db, () => {
        throw new Error("changed my mind");
      });
    expect(undone).toThrow("changed my mind");
    expect(() => db.run("UPDATE messages SET body = '{}'")).toThrow("never altered");
  });
});

describe("a message", () => {
  it("takes its transcript entry once", async () => {
    const db = await openWithGraph();
    const name = (entry: string) => () =>
      db.run(`UPDATE messages SET entry_id = '${entry}' WHERE message_id = 2`);
    name("entry-2")();
    expect(name("entry-3")).toThrow("a message keeps its transcript entry");
  });

  it("is not stored without its body, whoever asks", async () => {
    const db = await openWithGraph();
    const insert = () =>
      db.run(`INSERT INTO messages (${MESSAGE_COLUMNS})
        VALUES (NULL, 1, 'entry-9', 'user', 1, 1, 1, '2026', NULL)`);
    expect(insert).toThrow("a message needs its body");
    expect(() => asOperator(db, insert)).toThrow("a message needs its body");
  });
});

describe("the record of operator actions", () => {
  it.each([
    "DELETE FROM operator_actions",
    "UPDATE operator_actions SET action = 'other'",
    "UPDATE operator_actions SET target = 'other'",
    "UPDATE operator_actions SET detail = 'other'",
    "UPDATE operator_actions SET started_at = '1999'",
    "UPDATE operator_actions SET finished_at = NULL",
    "REPLACE INTO operator_actions (action_id, action, target, started_at) VALUES (1, 'x', 'x', '')",
  ])("is kept from: %s", async (sql) => {
    const db = await openWithGraph();
    const before = stored(db);
    expect(() => db.run(sql)).toThrow(/the record of operator actions is kept/);
    expect(stored(db)).toEqual(before);
    expect(() => asOperator(db, () => db.run(sql))).toThrow(/operator actions is kept/);
  });
});
