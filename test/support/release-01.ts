// A database as release 0.1.x left it, made with that release's own schema.

import { DatabaseSync } from "node:sqlite";

const SCHEMA = `
CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, title TEXT,
  bootstrapped_at TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')), updated_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE messages (message_id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE, seq INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('system','user','assistant','tool')), content TEXT NOT NULL, token_count INTEGER NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), UNIQUE (conversation_id, seq));
CREATE TABLE summaries (summary_id TEXT PRIMARY KEY,
  conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('leaf','condensed')), DEPTH_COLUMNS content TEXT NOT NULL, token_count INTEGER NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), file_ids TEXT NOT NULL DEFAULT '[]');
CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER NOT NULL REFERENCES messages(message_id) ON DELETE CASCADE,
  session_id TEXT NOT NULL, part_type TEXT NOT NULL, ordinal INTEGER NOT NULL, text_content TEXT, tool_call_id TEXT, tool_name TEXT,
  tool_input TEXT, tool_output TEXT, metadata TEXT, UNIQUE (message_id, ordinal));
CREATE TABLE summary_messages (summary_id TEXT NOT NULL REFERENCES summaries(summary_id) ON DELETE CASCADE,
  message_id INTEGER NOT NULL REFERENCES messages(message_id) ON DELETE RESTRICT, ordinal INTEGER NOT NULL, PRIMARY KEY (summary_id, message_id));
CREATE TABLE summary_parents (summary_id TEXT NOT NULL REFERENCES summaries(summary_id) ON DELETE CASCADE,
  parent_summary_id TEXT NOT NULL REFERENCES summaries(summary_id) ON DELETE RESTRICT, ordinal INTEGER NOT NULL, PRIMARY KEY (summary_id, parent_summary_id));
CREATE TABLE context_items (conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  item_type TEXT NOT NULL, message_id INTEGER REFERENCES messages(message_id) ON DELETE RESTRICT, summary_id TEXT REFERENCES summaries(summary_id) ON DELETE RESTRICT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), PRIMARY KEY (conversation_id, ordinal));
CREATE TABLE large_files (file_id TEXT PRIMARY KEY, conversation_id INTEGER NOT NULL REFERENCES conversations(conversation_id) ON DELETE CASCADE,
  file_name TEXT, mime_type TEXT, byte_size INTEGER, storage_uri TEXT NOT NULL, exploration_summary TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE INDEX messages_conv_seq_idx ON messages (conversation_id, seq);
CREATE INDEX context_items_conv_idx ON context_items (conversation_id, ordinal);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, tokenize='porter unicode61');
CREATE VIRTUAL TABLE summaries_fts USING fts5(summary_id UNINDEXED, content, tokenize='porter unicode61');
`;

export interface Release01Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly createdAt: string;
  /** The raw block, where that release kept message parts. */
  readonly block?: object;
  /** What that release noted of a part that has no raw block: of commands, and of other shapes. */
  readonly note?: Readonly<Record<string, unknown>>;
  /** The role that the message had in the transcript, where it is not one of the four. */
  readonly originalRole?: string;
  readonly toolCallId?: string;
}

/** Two leaves over the messages and a condensed node over both, as that release would have made. */
export function createRelease01(
  path: string,
  sessionId: string,
  messages: readonly Release01Message[],
  options: { depthColumns?: boolean } = {},
): void {
  const db = new DatabaseSync(path);
  const depthColumns =
    options.depthColumns === false
      ? ""
      : "depth INTEGER NOT NULL DEFAULT 0, earliest_at TEXT, latest_at TEXT, descendant_count INTEGER NOT NULL DEFAULT 0,";
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("BEGIN");
  db.exec(SCHEMA.replace("DEPTH_COLUMNS", depthColumns));
  db.prepare(
    "INSERT INTO conversations (session_id, created_at, updated_at) VALUES (?, '2026-02-17 07:00:00', '2026-02-17 09:00:00')",
  ).run(sessionId);
  for (const [index, message] of messages.entries()) {
    db.prepare(
      "INSERT INTO messages (conversation_id, seq, role, content, token_count, created_at) VALUES (1, ?, ?, ?, ?, ?)",
    ).run(
      index + 1,
      message.role,
      message.text,
      Math.ceil(message.text.length / 4),
      message.createdAt,
    );
    if (message.block ?? message.note) {
      db.prepare(
        "INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_call_id, metadata) VALUES (?, ?, ?, 'text', 0, ?, ?, ?)",
      ).run(
        `part-${index}`,
        index + 1,
        sessionId,
        message.text,
        message.toolCallId ?? null,
        JSON.stringify({
          originalRole: originalRole(message),
          ...(message.note ?? { rawType: "text", raw: message.block }),
        }),
      );
    }
    db.prepare("INSERT INTO messages_fts (rowid, content) VALUES (?, ?)").run(
      index + 1,
      message.text,
    );
  }
  const half = Math.floor(messages.length / 2);
  const insert = db.prepare(
    "INSERT INTO summaries (summary_id, conversation_id, kind, content, token_count) VALUES (?, 1, ?, ?, 10)",
  );
  insert.run("sum_aaaaaaaaaaaaaaaa", "leaf", "first half");
  insert.run("sum_bbbbbbbbbbbbbbbb", "leaf", "second half [Truncated from 900 tokens]");
  insert.run("sum_cccccccccccccccc", "condensed", "all of it");
  for (let id = 1; id <= messages.length; id += 1) {
    db.prepare("INSERT INTO summary_messages VALUES (?, ?, ?)").run(
      id <= half ? "sum_aaaaaaaaaaaaaaaa" : "sum_bbbbbbbbbbbbbbbb",
      id,
      id,
    );
  }
  db.exec(`INSERT INTO summary_parents VALUES ('sum_cccccccccccccccc', 'sum_aaaaaaaaaaaaaaaa', 0), ('sum_cccccccccccccccc', 'sum_bbbbbbbbbbbbbbbb', 1);
    INSERT INTO context_items (conversation_id, ordinal, item_type, summary_id) VALUES (1, 0, 'summary', 'sum_cccccccccccccccc');
    INSERT INTO large_files (file_id, conversation_id, storage_uri) VALUES ('file_1234567890abcdef', 1, '/somewhere');
    COMMIT;`);
  db.close();
}

function originalRole(message: Release01Message): string {
  return message.originalRole ?? (message.role === "tool" ? "toolResult" : message.role);
}
