// Resets that kept the session id, and where they let a segment's view begin.
// Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import type { SegmentId } from "../types.js";

export interface Boundary {
  readonly eventId: string;
  readonly reason: string;
  /** The entry before the reset. */
  readonly afterEntry: string;
  readonly firstKeptEntry: string | null;
  readonly createdAt: string;
}

/** Where a view begins, and the reset inside it, when a tail before the reset was kept. */
export interface ViewStart {
  readonly position: number;
  /** The first position behind the reset; no leaf covers messages on both sides of it. */
  readonly resetAt: number | null;
}

export class BoundaryStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Records a reset. True when it was not known yet. */
  add(segment: SegmentId, boundary: Boundary): boolean {
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

  /**
   * Behind the last reset on the segment's branch, or where the tail it kept begins. A reset counts
   * while the entry before it is on the branch.
   */
  viewStart(segment: SegmentId): ViewStart {
    const boundaries = this.#db.all<Pick<Boundary, "afterEntry" | "firstKeptEntry">>(
      `SELECT after_entry AS afterEntry, first_kept_entry AS firstKeptEntry
       FROM boundaries WHERE segment_id = ? ORDER BY boundary_id DESC`,
      segment,
    );
    for (const { afterEntry, firstKeptEntry } of boundaries) {
      const after = this.#positionOf(segment, afterEntry);
      if (after === undefined) continue;
      const kept = firstKeptEntry === null ? undefined : this.#positionOf(segment, firstKeptEntry);
      const resetAt = after + 1;
      return kept !== undefined && kept < resetAt
        ? { position: kept, resetAt }
        : { position: resetAt, resetAt: null };
    }
    return { position: 0, resetAt: null };
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
}
