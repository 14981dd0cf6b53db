// Read-only counts for people: what is stored, what was mended, what arrived last.

import { existsSync, statSync } from "node:fs";
import type { Database } from "../db/connection.js";
import type { ConversationId } from "../types.js";

export interface DatabaseCounts {
  readonly path: string;
  readonly bytes: number;
  readonly conversations: number;
  readonly hiddenConversations: number;
  readonly messages: number;
}

export interface ConversationCounts {
  readonly conversationId: ConversationId;
  readonly sessionKey: string;
  readonly sessionId: string | null;
  readonly activeSince: string | null;
  readonly messages: number;
  readonly gapsFilled: number;
  readonly lastGapAt: string | null;
  readonly legacyTurns: number;
  readonly lastLegacyAt: string | null;
  readonly imported: number;
  readonly lastReceipt: { entryId: string; committedAt: string; messageCount: number } | null;
  readonly lastTurnStartAt: string | null;
}

export class StatusStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  database(): DatabaseCounts {
    const row = this.#db.get<Omit<DatabaseCounts, "path" | "bytes">>(
      `SELECT (SELECT count(*) FROM conversations WHERE hidden_at IS NULL) AS conversations,
              (SELECT count(*) FROM conversations WHERE hidden_at IS NOT NULL) AS hiddenConversations,
              (SELECT count(*) FROM messages) AS messages`,
    );
    return {
      path: this.#db.path,
      bytes: fileBytes(this.#db.path),
      ...(row as Omit<DatabaseCounts, "path" | "bytes">),
    };
  }

  conversation(id: ConversationId): ConversationCounts {
    const row = this.#db.get<Omit<ConversationCounts, "lastReceipt">>(
      `SELECT c.conversation_id AS conversationId, c.session_key AS sessionKey, c.session_id AS sessionId,
              c.active_since AS activeSince,
              (SELECT count(*) FROM messages WHERE conversation_id = c.conversation_id) AS messages,
              (SELECT count(*) FROM sync_events WHERE conversation_id = c.conversation_id AND kind = 'gap') AS gapsFilled,
              (SELECT max(happened_at) FROM sync_events WHERE conversation_id = c.conversation_id AND kind = 'gap') AS lastGapAt,
              (SELECT count(*) FROM sync_events WHERE conversation_id = c.conversation_id AND kind = 'legacy') AS legacyTurns,
              (SELECT max(happened_at) FROM sync_events WHERE conversation_id = c.conversation_id AND kind = 'legacy') AS lastLegacyAt,
              (SELECT coalesce(sum(message_count), 0) FROM sync_events WHERE conversation_id = c.conversation_id AND kind = 'import') AS imported,
              (SELECT max(started_at) FROM turn_starts WHERE conversation_id = c.conversation_id) AS lastTurnStartAt
       FROM conversations c WHERE c.conversation_id = ?`,
      id,
    );
    const lastReceipt = this.#db.get<NonNullable<ConversationCounts["lastReceipt"]>>(
      `SELECT last_entry_id AS entryId, committed_at AS committedAt, message_count AS messageCount
       FROM turn_receipts WHERE conversation_id = ? ORDER BY receipt_id DESC LIMIT 1`,
      id,
    );
    return {
      ...(row as Omit<ConversationCounts, "lastReceipt">),
      lastReceipt: lastReceipt ?? null,
    };
  }

  /** The conversations that were used last. */
  recent(limit: number): ConversationId[] {
    return this.#db
      .all<{ id: ConversationId }>(
        `SELECT conversation_id AS id FROM conversations WHERE hidden_at IS NULL
         ORDER BY updated_at DESC LIMIT ?`,
        limit,
      )
      .map((row) => row.id);
  }
}

/** The database with its write-ahead log, which may be the larger part of it. */
function fileBytes(path: string): number {
  return [path, `${path}-wal`].reduce(
    (sum, file) => sum + (existsSync(file) ? statSync(file).size : 0),
    0,
  );
}
