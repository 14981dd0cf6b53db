// Segments that are not current and may hold what was never read. Each is marked in the transaction
// that leaves it, and stays marked until it was read to its end. Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import type { ConversationId, SegmentId } from "../types.js";

export interface LeftSegment {
  readonly id: SegmentId;
  readonly sessionId: string;
  /** Tells the mark that a read began with from one that was set meanwhile. */
  readonly timesLeft: number;
}

export class LeftSegmentStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  mark(segment: SegmentId): void {
    this.#db.run("UPDATE segments SET times_left = times_left + 1 WHERE segment_id = ?", segment);
  }

  /** The segment is current, where every sync reads it. */
  unmark(segment: SegmentId): void {
    this.#db.run(
      "UPDATE segments SET times_left = 0 WHERE segment_id = ? AND times_left > 0",
      segment,
    );
  }

  /** The next marked segment behind `after`, the oldest first. */
  next(conversation: ConversationId, after: SegmentId | 0): LeftSegment | undefined {
    return this.#db.get<LeftSegment>(
      `SELECT segment_id AS id, session_id AS sessionId, times_left AS timesLeft FROM segments
       WHERE conversation_id = ? AND times_left > 0 AND segment_id > ?
       ORDER BY segment_id LIMIT 1`,
      conversation,
      after,
    );
  }

  /** The segment was read to its end, or is gone. A mark that was set since the read began stays. */
  settle({ id, timesLeft }: LeftSegment): void {
    this.#db.run(
      "UPDATE segments SET times_left = 0 WHERE segment_id = ? AND times_left = ?",
      id,
      timesLeft,
    );
  }
}
