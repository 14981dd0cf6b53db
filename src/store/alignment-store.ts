// The search for rows of release 0.1.x in the transcript: how far it has come, and what it found.
// Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import type { ConversationId, MessageId, SegmentId } from "../types.js";

export interface AlignmentState {
  readonly cursor: string;
  /** Where the page before the cursor begins. */
  readonly earlierCursor: string | null;
  /** `reading`: more of the transcript is to be read; `planned`: the partners are known. */
  readonly state: "reading" | "read" | "planned";
}

export interface KeyedEntry {
  readonly position: number;
  readonly entryId: string;
  readonly key: string;
}

export class AlignmentStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** True while a conversation's release 0.1.x rows were not yet looked for in the transcript. */
  isOpen(conversation: ConversationId): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM conversations WHERE conversation_id = ? AND unaligned = 1",
      conversation,
    );
    return row !== undefined;
  }

  /** Nothing more is looked for; what the search knew is forgotten. */
  close(conversation: ConversationId): void {
    if (!this.isOpen(conversation)) return;
    this.#db.run("UPDATE conversations SET unaligned = 0 WHERE conversation_id = ?", conversation);
    this.#db.run(
      `DELETE FROM release_01_keys WHERE message_id IN (
         SELECT message_id FROM messages WHERE conversation_id = ?)`,
      conversation,
    );
    this.#db.run(
      `DELETE FROM alignments WHERE segment_id IN (
         SELECT segment_id FROM segments WHERE conversation_id = ?)`,
      conversation,
    );
  }

  state(segment: SegmentId): AlignmentState | undefined {
    return this.#db.get<AlignmentState>(
      "SELECT cursor, earlier_cursor AS earlierCursor, state FROM alignments WHERE segment_id = ?",
      segment,
    );
  }

  save(segment: SegmentId, { cursor, earlierCursor, state }: AlignmentState): void {
    this.#db.run(
      `INSERT INTO alignments (segment_id, cursor, earlier_cursor, state) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT DO UPDATE SET cursor = ?2, earlier_cursor = ?3, state = ?4`,
      segment,
      cursor,
      earlierCursor,
      state,
    );
  }

  entryAt(segment: SegmentId, position: number): string | undefined {
    return this.#db.get<{ entryId: string }>(
      `SELECT entry_id AS entryId FROM alignment_entries WHERE segment_id = ? AND position = ?`,
      segment,
      position,
    )?.entryId;
  }

  addEntry(segment: SegmentId, { position, entryId, key }: KeyedEntry): void {
    this.#db.run(
      "INSERT INTO alignment_entries (segment_id, position, entry_id, key) VALUES (?, ?, ?, ?)",
      segment,
      position,
      entryId,
      key,
    );
  }

  /** Forgets what was read from a position on. */
  cutFrom(segment: SegmentId, position: number): void {
    this.#db.run(
      "DELETE FROM alignment_entries WHERE segment_id = ? AND position >= ?",
      segment,
      position,
    );
  }

  /** Entries that were read and are neither stored, nor buried, nor found already, in order. */
  openEntries(conversation: ConversationId, segment: SegmentId): KeyedEntry[] {
    return this.#db.all<KeyedEntry>(
      `SELECT a.position, a.entry_id AS entryId, a.key FROM alignment_entries a
       WHERE a.segment_id = ?2
         AND NOT EXISTS (SELECT 1 FROM messages m
                         WHERE m.conversation_id = ?1 AND m.entry_id = a.entry_id)
         AND NOT EXISTS (SELECT 1 FROM tombstones t
                         WHERE t.conversation_id = ?1 AND t.entry_id = a.entry_id)
         AND NOT EXISTS (SELECT 1 FROM alignment_entries f
                         JOIN messages m ON m.message_id = f.message_id
                         WHERE f.entry_id = a.entry_id AND f.message_id IS NOT NULL
                           AND m.conversation_id = ?1)
       ORDER BY a.position`,
      conversation,
      segment,
    );
  }

  /** Rows that release 0.1.x left and that no entry has claimed, in order. */
  openRows(conversation: ConversationId): { id: MessageId; key: string }[] {
    return this.#db.all<{ id: MessageId; key: string }>(
      `SELECT m.message_id AS id, k.key FROM messages m JOIN release_01_keys k USING (message_id)
       WHERE m.conversation_id = ? AND m.entry_id IS NULL
         AND NOT EXISTS (SELECT 1 FROM alignment_entries f WHERE f.message_id = m.message_id)
       ORDER BY m.message_id`,
      conversation,
    );
  }

  savePartner(segment: SegmentId, position: number, message: MessageId): void {
    this.#db.run(
      "UPDATE alignment_entries SET message_id = ? WHERE segment_id = ? AND position = ?",
      message,
      segment,
      position,
    );
  }

  /**
   * The old rows that some of the entries were found to be, and that none has claimed yet. The joins are
   * crossed, so that SQLite begins with the few entries and not with all rows that wait.
   */
  partners(conversation: ConversationId, entryIds: readonly string[]): Map<string, MessageId> {
    const rows = this.#db.all<{ entryId: string; id: MessageId }>(
      `SELECT a.entry_id AS entryId, a.message_id AS id
       FROM json_each(?) j CROSS JOIN alignment_entries a ON a.entry_id = j.value
       CROSS JOIN messages m ON m.message_id = a.message_id
       WHERE a.message_id IS NOT NULL AND m.conversation_id = ? AND m.entry_id IS NULL`,
      JSON.stringify(entryIds),
      conversation,
    );
    return new Map(rows.map(({ entryId, id }) => [entryId, id]));
  }
}
