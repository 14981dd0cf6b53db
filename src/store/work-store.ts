// What the background has to do, and who does it. Times are ISO; a clock that jumps back can leave
// them far ahead of now, so a time further ahead than it could have been set counts as passed.

import type { Database } from "../db/connection.js";
import type { ConversationId } from "../types.js";

export interface Debt {
  readonly conversationId: ConversationId;
  /** Grows with every note: a worker that finds it changed looks again. */
  readonly noted: number;
}

export class WorkStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Says that a background pass may find something to do. Assumes the caller's transaction. */
  noteDebt(conversation: ConversationId, now: string): void {
    this.#db.run(
      `INSERT INTO compaction_debt (conversation_id, noted, due_at) VALUES (?1, 1, ?2)
       ON CONFLICT DO UPDATE SET noted = noted + 1, due_at = ?2`,
      conversation,
      now,
    );
  }

  /** Conversations whose time has come, the longest waiting first. `farthest`: see above. */
  due(now: string, farthest: string, limit: number): Debt[] {
    return this.#db.all<Debt>(
      `SELECT conversation_id AS conversationId, noted FROM compaction_debt
       WHERE due_at <= ? OR due_at > ? ORDER BY due_at LIMIT ?`,
      now,
      farthest,
      limit,
    );
  }

  debtOf(conversation: ConversationId): Debt | undefined {
    return this.#db.get<Debt>(
      "SELECT conversation_id AS conversationId, noted FROM compaction_debt WHERE conversation_id = ?",
      conversation,
    );
  }

  /** Nothing is left to do, unless something was noted since. */
  settle({ conversationId, noted }: Debt): void {
    this.#db.run(
      "DELETE FROM compaction_debt WHERE conversation_id = ? AND noted = ?",
      conversationId,
      noted,
    );
  }

  /** Something is left to do, but not before then, unless something was noted since. */
  postpone({ conversationId, noted }: Debt, dueAt: string): void {
    this.#db.run(
      "UPDATE compaction_debt SET due_at = ? WHERE conversation_id = ? AND noted = ?",
      dueAt,
      conversationId,
      noted,
    );
  }

  /** Takes or renews a lease. False while another holder has it. `farthest`: see above. */
  lease(
    conversation: ConversationId,
    holder: string,
    times: { readonly now: string; readonly expiresAt: string; readonly farthest: string },
  ): boolean {
    const { changes } = this.#db.run(
      `INSERT INTO leases (conversation_id, holder, expires_at) VALUES (?1, ?2, ?3)
       ON CONFLICT DO UPDATE SET holder = ?2, expires_at = ?3
       WHERE holder = ?2 OR expires_at <= ?4 OR expires_at > ?5`,
      conversation,
      holder,
      times.expiresAt,
      times.now,
      times.farthest,
    );
    return changes > 0;
  }

  holderOf(conversation: ConversationId): string | undefined {
    return this.#db.get<{ holder: string }>(
      "SELECT holder FROM leases WHERE conversation_id = ?",
      conversation,
    )?.holder;
  }

  /** Ends whoever's lease: a person waits. The other notices before its next step. */
  revokeLease(conversation: ConversationId): void {
    this.#db.run("DELETE FROM leases WHERE conversation_id = ?", conversation);
  }

  release(conversation: ConversationId, holder: string): void {
    this.#db.run(
      "DELETE FROM leases WHERE conversation_id = ? AND holder = ?",
      conversation,
      holder,
    );
  }
}
