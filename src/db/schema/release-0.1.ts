// Takes over a database made by release 0.1.x: its tables are set aside, the current schema is made,
// rows are copied with their ids, and the old tables are dropped, all in the caller's transaction.
//
// That release knew neither session keys nor transcript entries, and kept message text but not always
// the exact message. The copied rows therefore wait, under a placeholder key, to be adopted by the
// session they came from and aligned with its transcript (see transcript-sync/alignment.ts). Its view
// is not copied: once the rows are aligned it is derived from the branch, with every node that is whole
// on it.

import { rowKey } from "../../release-01-key.js";
import type { Database, Row } from "../connection.js";

const OLD_TABLES = [
  "context_items",
  "summary_messages",
  "summary_parents",
  "message_parts",
  "large_files",
  "summaries",
  "messages",
  "conversations",
] as const;

/** Session keys of the host start with `agent:`, so this prefix can not meet a real one. */
export const RELEASE_01_KEY_PREFIX = "release-0.1:";

export function isRelease01(tables: ReadonlySet<string>): boolean {
  return ["conversations", "messages", "summaries", "context_items"].every((name) =>
    tables.has(name),
  );
}

export function importRelease01(
  db: Database,
  tables: ReadonlySet<string>,
  createSchema: () => void,
): void {
  for (const table of ["messages_fts", "summaries_fts"]) {
    if (tables.has(table)) db.exec(`DROP TABLE ${table}`);
  }
  const present = OLD_TABLES.filter((table) => tables.has(table));
  for (const table of present) db.exec(`ALTER TABLE ${table} RENAME TO old_${table}`);
  createSchema();
  copyConversations(db);
  copyMessages(db, tables.has("message_parts"));
  copySummaries(db);
  if (tables.has("large_files")) copyLargeFiles(db);
  for (const table of present) db.exec(`DROP TABLE old_${table}`);
  backfillSummaries(db);
  leaveForIndexing(db);
}

/** Indexing everything would hold up the start, so the background does it. */
function leaveForIndexing(db: Database): void {
  db.exec(`INSERT INTO search_documents (summary_id) SELECT summary_id FROM summaries;
    INSERT INTO search_backlog (kind, first_id, last_id)
      SELECT 'messages', min(message_id), max(message_id) FROM messages HAVING count(*) > 0;
    INSERT INTO search_backlog (kind, first_id, last_id)
      SELECT 'documents', min(document_id), max(document_id) FROM search_documents HAVING count(*) > 0;`);
}

/** SQLite's `datetime('now')` is UTC without saying so. */
function iso(column: string): string {
  return `coalesce(${isoOrNull(column)}, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`;
}

function isoOrNull(column: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})`;
}

function columnsOf(db: Database, table: string): Set<string> {
  return new Set(
    db
      .all<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)
      .map((row) => row.name),
  );
}

function copyConversations(db: Database): void {
  const bootstrapped = columnsOf(db, "old_conversations").has("bootstrapped_at")
    ? isoOrNull("bootstrapped_at")
    : "NULL";
  db.exec(`INSERT INTO conversations
    (conversation_id, agent_id, session_key, session_id, title, bootstrapped_at, unaligned, view_stale,
     created_at, updated_at)
    SELECT conversation_id, 'main', '${RELEASE_01_KEY_PREFIX}' || conversation_id || ':' || session_id,
           session_id, title, ${bootstrapped}, 1, 1, ${iso("created_at")}, ${iso("updated_at")}
    FROM old_conversations`);
}

function copyMessages(db: Database, hasParts: boolean): void {
  const rows = db.iterate<OldMessage>(
    `SELECT message_id AS id, conversation_id AS conversationId, role, content, token_count AS tokens,
            ${iso("created_at")} AS createdAt FROM old_messages
     WHERE conversation_id IN (SELECT conversation_id FROM conversations) ORDER BY message_id`,
  );
  for (const row of rows) copyMessage(db, row, hasParts ? partsOf(db, row.id) : []);
}

function partsOf(db: Database, message: number): OldPart[] {
  return db.all<OldPart>(
    `SELECT ordinal, part_type AS type, metadata, tool_call_id AS toolCallId, tool_name AS toolName
     FROM old_message_parts WHERE message_id = ? ORDER BY ordinal`,
    message,
  );
}

function copyMessage(db: Database, row: OldMessage, parts: readonly OldPart[]): void {
  const message = rebuildMessage(row, parts);
  db.run(
    `INSERT INTO messages (message_id, conversation_id, role, in_context, starts_turn, token_count, created_at, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.conversationId,
    message.role,
    // Release 0.1.x stored its own compaction events as system messages; no model should see them.
    row.role === "system" ? 0 : 1,
    message.role === "user" ? 1 : 0,
    row.tokens,
    row.createdAt,
    JSON.stringify(message),
  );
  db.run(
    "INSERT INTO release_01_keys (message_id, key) VALUES (?, ?)",
    row.id,
    rowKey(row.role, row.content),
  );
  for (const part of parts) {
    db.run(
      `INSERT INTO message_parts (message_id, ordinal, part_type, tool_call_id, tool_name, token_count)
       VALUES (?, ?, ?, ?, ?, 0)`,
      row.id,
      part.ordinal,
      part.type,
      part.toolCallId,
      part.toolName,
    );
  }
}

interface OldMessage {
  id: number;
  conversationId: number;
  role: string;
  content: string;
  tokens: number;
  createdAt: string;
}

interface OldPart {
  ordinal: number;
  type: string;
  metadata: string | null;
  toolCallId: string | null;
  toolName: string | null;
}

/** The fullest message the old rows can give: the raw blocks where they were kept, else the text. */
function rebuildMessage(row: OldMessage, parts: readonly OldPart[]): Row & { role: string } {
  const kept = parts.map(({ metadata }) => readMetadata(metadata));
  const role = originalRole(row, kept);
  const exact = kept.length > 0 && kept.every((part) => "raw" in part);
  const content = exact
    ? kept.map((part) => part["raw"])
    : role === "user"
      ? row.content
      : [{ type: "text", text: row.content }];
  const toolCallId =
    role === "toolResult" ? parts.find((part) => part.toolCallId)?.toolCallId : undefined;
  const toolName =
    role === "toolResult" ? parts.find((part) => part.toolName)?.toolName : undefined;
  return {
    role,
    content,
    timestamp: Date.parse(row.createdAt),
    ...(toolCallId ? { toolCallId } : {}),
    ...(toolName ? { toolName } : {}),
  };
}

/** That release had four roles; what it stored as one of them was often another. */
function originalRole(row: OldMessage, parts: readonly Row[]): string {
  const named = parts.map((part) => part["originalRole"]).find((role) => typeof role === "string");
  const role = named === undefined || named === "unknown" ? row.role : String(named);
  return role === "tool" ? "toolResult" : role;
}

function readMetadata(metadata: string | null): Row {
  if (metadata === null) return {};
  try {
    const parsed: unknown = JSON.parse(metadata);
    return typeof parsed === "object" && parsed !== null ? (parsed as Row) : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

// That release's tools wrote with foreign keys off. A row that refers to nothing is left behind, in
// the backup; it must not keep the rest from being taken over.

const KNOWN_CONVERSATION = "conversation_id IN (SELECT conversation_id FROM conversations)";
const KNOWN_MESSAGE = "message_id IN (SELECT message_id FROM messages)";
const KNOWN_SUMMARY = "summary_id IN (SELECT summary_id FROM summaries)";

function copySummaries(db: Database): void {
  const columns = columnsOf(db, "old_summaries");
  const depth = columns.has("depth") ? "depth" : "CASE kind WHEN 'leaf' THEN 0 ELSE 1 END";
  const fileIds = columns.has("file_ids") ? "file_ids" : "'[]'";
  db.exec(`INSERT INTO summaries
      (summary_id, conversation_id, kind, depth, content, token_count, file_ids, level, created_at)
    SELECT summary_id, conversation_id, kind, ${depth}, content, token_count, ${fileIds},
           CASE WHEN content LIKE '%[Truncated %' OR content LIKE '%truncated for context management]%'
                THEN 'deterministic' ELSE 'normal' END,
           ${iso("created_at")}
    FROM old_summaries WHERE ${KNOWN_CONVERSATION};
    INSERT INTO summary_messages (summary_id, ordinal, message_id)
      SELECT summary_id, row_number() OVER (PARTITION BY summary_id ORDER BY ordinal, message_id) - 1, message_id
      FROM old_summary_messages WHERE ${KNOWN_SUMMARY} AND ${KNOWN_MESSAGE};
    INSERT INTO summary_parents (summary_id, ordinal, parent_summary_id)
      SELECT summary_id, row_number() OVER (PARTITION BY summary_id ORDER BY ordinal, parent_summary_id) - 1,
             parent_summary_id
      FROM old_summary_parents WHERE ${KNOWN_SUMMARY} AND parent_${KNOWN_SUMMARY};
    INSERT INTO publications (summary_id, view_version, published_at)
      SELECT summary_id, 0, created_at FROM summaries;`);
}

function copyLargeFiles(db: Database): void {
  db.exec(`INSERT INTO large_files
      (file_id, conversation_id, file_name, mime_type, byte_size, storage_uri, exploration_summary, created_at)
    SELECT file_id, conversation_id, file_name, mime_type, byte_size, storage_uri, exploration_summary, ${iso("created_at")}
    FROM old_large_files WHERE ${KNOWN_CONVERSATION}`);
}

/**
 * Derives depth, time range and descendant count bottom-up. Runs once, when the rows are taken over,
 * under an operator action because summaries are otherwise never altered.
 */
function backfillSummaries(db: Database): void {
  const now = new Date().toISOString();
  const action = db.run(
    "INSERT INTO operator_actions (action, target, started_at) VALUES ('import-release-0.1', 'summaries', ?)",
    now,
  ).lastId;
  db.exec(`UPDATE summaries SET depth = 0, descendant_count = 0,
      message_count = (SELECT count(*) FROM summary_messages sm
                       WHERE sm.summary_id = summaries.summary_id),
      first_message_id = (SELECT message_id FROM summary_messages sm
                          WHERE sm.summary_id = summaries.summary_id ORDER BY ordinal LIMIT 1),
      last_message_id = (SELECT message_id FROM summary_messages sm
                         WHERE sm.summary_id = summaries.summary_id ORDER BY ordinal DESC LIMIT 1),
      earliest_at = (SELECT min(m.created_at) FROM summary_messages sm JOIN messages m USING (message_id)
                     WHERE sm.summary_id = summaries.summary_id),
      latest_at   = (SELECT max(m.created_at) FROM summary_messages sm JOIN messages m USING (message_id)
                     WHERE sm.summary_id = summaries.summary_id)
    WHERE kind = 'leaf'`);
  deriveCondensed(db);
  db.exec(`UPDATE summaries SET earliest_at = coalesce(earliest_at, created_at),
                                latest_at = coalesce(latest_at, created_at)`);
  db.run("UPDATE operator_actions SET finished_at = ? WHERE action_id = ?", now, action);
}

/** Walks up from the leaves; each round settles the nodes whose sources are all settled. */
function deriveCondensed(db: Database): void {
  const settled = new Set(summaryIds(db, "leaf"));
  let open = summaryIds(db, "condensed");
  while (open.length > 0) {
    const ready = open.filter((id) => sourcesOf(db, id).every((source) => settled.has(source)));
    // Nodes built from each other in a circle keep their text and lose the links that can not be true.
    const next = ready.length > 0 ? ready : open;
    if (ready.length === 0) for (const id of open) unlinkSources(db, id, settled);
    for (const id of next) settle(db, id);
    for (const id of next) settled.add(id);
    open = open.filter((id) => !settled.has(id));
  }
}

function summaryIds(db: Database, kind: "leaf" | "condensed"): string[] {
  return db
    .all<{ id: string }>("SELECT summary_id AS id FROM summaries WHERE kind = ?", kind)
    .map((row) => row.id);
}

function unlinkSources(db: Database, id: string, settled: ReadonlySet<string>): void {
  for (const source of sourcesOf(db, id)) {
    if (settled.has(source)) continue;
    db.run(
      "DELETE FROM summary_parents WHERE summary_id = ? AND parent_summary_id = ?",
      id,
      source,
    );
  }
}

function sourcesOf(db: Database, id: string): string[] {
  return db
    .all<{ id: string }>(
      "SELECT parent_summary_id AS id FROM summary_parents WHERE summary_id = ?",
      id,
    )
    .map((row) => row.id);
}

function settle(db: Database, id: string): void {
  db.run(
    `UPDATE summaries SET
       (depth, earliest_at, latest_at, descendant_count, message_count, first_message_id,
        last_message_id) = (
       SELECT coalesce(max(s.depth), 0) + 1, min(coalesce(s.earliest_at, s.created_at)),
              max(coalesce(s.latest_at, s.created_at)), coalesce(sum(s.descendant_count + 1), 0),
              coalesce(sum(s.message_count), 0), min(s.first_message_id), max(s.last_message_id)
       FROM summary_parents sp JOIN summaries s ON s.summary_id = sp.parent_summary_id
       WHERE sp.summary_id = ?1)
     WHERE summary_id = ?1`,
    id,
  );
}
