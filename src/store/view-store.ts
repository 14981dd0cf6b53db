// The view: the ordered context items of a conversation, and the boundaries it starts at.
// Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import type { ConversationId, MessageId, SegmentId } from "../types.js";

/** Room between two ordinals, so that a publish can put items in between without renumbering. */
const ORDINAL_GAP = 1024;

export interface Boundary {
  readonly eventId: string;
  readonly reason: string;
  /** The last position before the reset; -1 when nothing came before it. */
  readonly afterPosition: number;
  readonly firstKeptEntry: string | null;
  readonly createdAt: string;
}

export class ViewStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Adds a message at the end, unless it never goes to a model. */
  append(conversation: ConversationId, message: MessageId): void {
    this.#db.run(
      `INSERT INTO context_items (conversation_id, ordinal, item_type, message_id)
       SELECT ?1, coalesce((SELECT max(ordinal) FROM context_items WHERE conversation_id = ?1), 0) + ${ORDINAL_GAP},
              'message', message_id
       FROM messages WHERE message_id = ?2 AND in_context = 1`,
      conversation,
      message,
    );
  }

  /** Publishes the view anew from a segment's branch, starting at its last boundary. */
  rebuild(conversation: ConversationId, segment: SegmentId): void {
    this.#db.run("DELETE FROM context_items WHERE conversation_id = ?", conversation);
    this.#db.run(
      `INSERT INTO context_items (conversation_id, ordinal, item_type, message_id)
       SELECT ?, row_number() OVER (ORDER BY t.position) * ${ORDINAL_GAP}, 'message', t.message_id
       FROM transcript_entries t JOIN messages m USING (message_id)
       WHERE t.segment_id = ? AND t.position >= ? AND m.in_context = 1`,
      conversation,
      segment,
      this.startPosition(segment),
    );
    this.#db.run("UPDATE conversations SET view_version = view_version + 1 WHERE conversation_id = ?", conversation);
  }

  /** Records a reset. True when it was not known yet. */
  addBoundary(segment: SegmentId, boundary: Boundary): boolean {
    const { changes } = this.#db.run(
      `INSERT INTO boundaries (segment_id, event_id, reason, after_position, first_kept_entry, created_at)
       VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      segment,
      boundary.eventId,
      boundary.reason,
      boundary.afterPosition,
      boundary.firstKeptEntry,
      boundary.createdAt,
    );
    return changes > 0;
  }

  /** The first position in view: after the last reset, or where the tail it kept begins. */
  startPosition(segment: SegmentId): number {
    const row = this.#db.get<{ afterPosition: number; keptPosition: number | null }>(
      `SELECT b.after_position AS afterPosition,
              (SELECT t.position FROM messages m JOIN transcript_entries t USING (message_id)
               JOIN segments s USING (segment_id)
               WHERE s.segment_id = b.segment_id AND m.conversation_id = s.conversation_id
                 AND m.entry_id = b.first_kept_entry) AS keptPosition
       FROM boundaries b WHERE b.segment_id = ? ORDER BY b.boundary_id DESC LIMIT 1`,
      segment,
    );
    if (!row) return 0;
    const afterReset = row.afterPosition + 1;
    return row.keptPosition === null ? afterReset : Math.min(row.keptPosition, afterReset);
  }

  messageIds(conversation: ConversationId): MessageId[] {
    return this.#db
      .all<{ id: MessageId }>(
        `SELECT message_id AS id FROM context_items
         WHERE conversation_id = ? AND message_id IS NOT NULL ORDER BY ordinal`,
        conversation,
      )
      .map((row) => row.id);
  }
}
