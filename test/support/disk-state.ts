// What another process would find in a database file now.

import { DatabaseSync } from "node:sqlite";

type Rows = Record<string, unknown>[];

export function readRows(path: string, sql: string): Rows {
  return reading(path, (all) => all(sql));
}

/** Every row of every table, for comparing two states. */
export function contents(path: string): string {
  return reading(path, (all) =>
    all(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
      .map(({ name }) => `${String(name)}: ${JSON.stringify(all(`SELECT * FROM ${String(name)}`))}`)
      .join("\n"),
  );
}

/** Rows of release 0.1.x know neither entries nor places. */
const STORED_HERE = "(entry_id IS NOT NULL OR receipt_id IS NOT NULL)";

/** Rows that lack what was written with them: a message its place, a receipt its messages. */
export function halfWritten(path: string): Rows {
  return reading(path, (all) => [
    ...all(
      `SELECT 'message without a place' AS what, message_id AS id FROM messages
       WHERE ${STORED_HERE} AND message_id NOT IN
         (SELECT message_id FROM transcript_entries WHERE message_id IS NOT NULL)`,
    ),
    ...all(
      `SELECT 'message without parts' AS what, message_id AS id FROM messages
       WHERE ${STORED_HERE} AND message_id NOT IN (SELECT message_id FROM message_parts)`,
    ),
    ...all(
      `SELECT 'receipt without its messages' AS what, r.receipt_id AS id
       FROM turn_receipts r JOIN segments s USING (conversation_id, session_id)
       WHERE r.message_count <> (SELECT count(*) FROM transcript_entries t
         WHERE t.segment_id = s.segment_id AND t.message_id IS NOT NULL
           AND t.position BETWEEN r.first_position AND r.first_position + r.message_count - 1)`,
    ),
    ...all(
      `SELECT 'open operator action' AS what, action_id AS id FROM operator_actions
       WHERE finished_at IS NULL`,
    ),
  ]);
}

function reading<T>(path: string, work: (all: (sql: string) => Rows) => T): T {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return work((sql) => db.prepare(sql).all());
  } finally {
    db.close();
  }
}
