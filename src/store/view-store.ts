// The view: the ordered context items of a conversation, and the boundaries it starts at.
// Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import type { ConversationId, MessageId, SegmentId } from "../types.js";

/** Room between two ordinals, so that a publish can put items in between without renumbering. */
const ORDINAL_GAP = 1024;

export interface Boundary {
  readonly eventId: string;
  readonly reason: string;
  /** The entry before the reset. */
  readonly afterEntry: string;
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
    this.#db.run(
      `UPDATE conversations SET view_version = view_version + 1, view_stale = 0
       WHERE conversation_id = ?`,
      conversation,
    );
  }

  /** Records a reset. True when it was not known yet. */
  addBoundary(segment: SegmentId, boundary: Boundary): boolean {
    const { changes } = this.#db.run(
      `INSERT INTO boundaries (segment_id, event_id, reason, after_entry, first_kept_entry, created_at)
       VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      segment,
      boundary.eventId,
      boundary.reason,
      boundary.afterEntry,
      boundary.firstKeptEntry,
      boundary.createdAt,
    );
    return changes > 0;
  }

  /** The entry before a reset that is known. */
  entryBefore(segment: SegmentId, eventId: string): string | undefined {
    return this.#db.get<{ entry: string }>(
      "SELECT after_entry AS entry FROM boundaries WHERE segment_id = ? AND event_id = ?",
      segment,
      eventId,
    )?.entry;
  }

  /** Says that more than the view's end has changed. It is published anew once the sync is through. */
  markStale(conversation: ConversationId): void {
    this.#db.run(
      "UPDATE conversations SET view_stale = 1 WHERE conversation_id = ? AND view_stale = 0",
      conversation,
    );
  }

  isStale(conversation: ConversationId): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM conversations WHERE conversation_id = ? AND view_stale = 1",
      conversation,
    );
    return row !== undefined;
  }

  /**
   * The first position in view: behind the last reset on the segment's branch, or where the tail it
   * kept begins. A reset counts while the entry before it is on the branch.
   */
  startPosition(segment: SegmentId): number {
    const boundaries = this.#db.all<Pick<Boundary, "afterEntry" | "firstKeptEntry">>(
      `SELECT after_entry AS afterEntry, first_kept_entry AS firstKeptEntry
       FROM boundaries WHERE segment_id = ? ORDER BY boundary_id DESC`,
      segment,
    );
    for (const { afterEntry, firstKeptEntry } of boundaries) {
      const after = this.#positionOf(segment, afterEntry);
      if (after === undefined) continue;
      const kept = firstKeptEntry === null ? undefined : this.#positionOf(segment, firstKeptEntry);
      return Math.min(kept ?? after + 1, after + 1);
    }
    return 0;
  }

  #positionOf(segment: SegmentId, entryId: string): number | undefined {
    return this.#db.get<{ position: number }>(
      `SELECT t.position FROM segments s
       JOIN messages m ON m.conversation_id = s.conversation_id AND m.entry_id = ?2
       JOIN transcript_entries t ON t.message_id = m.message_id AND t.segment_id = s.segment_id
       WHERE s.segment_id = ?1
       UNION ALL
       SELECT position FROM transcript_entries WHERE segment_id = ?1 AND buried_entry = ?2`,
      segment,
      entryId,
    )?.position;
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
