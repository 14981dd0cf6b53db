// Receipts of accepted turns, keyed by the host's advancement key.

import type { Database } from "../db/connection.js";
import type { ConversationId, ReceiptId } from "../types.js";

export type ReceiptState = "stored" | "skipped" | "deferred";

export interface Receipt {
  readonly id: ReceiptId;
  readonly firstEntryId: string;
  readonly lastEntryId: string;
  readonly messageCount: number;
  readonly state: ReceiptState;
}

export interface NewReceipt extends Omit<Receipt, "id"> {
  readonly advancementKey: string;
  readonly conversationId: ConversationId;
  readonly sessionId: string;
  readonly generation: string | null;
  readonly firstPosition: number | null;
  readonly entriesKnown: boolean;
  readonly isHeartbeat: boolean;
  readonly committedAt: string;
}

const RECEIPT = `receipt_id AS id, first_entry_id AS firstEntryId, last_entry_id AS lastEntryId,
  message_count AS messageCount, state`;

export class ReceiptStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  exists(advancementKey: string): boolean {
    return (
      this.#db.get("SELECT 1 FROM turn_receipts WHERE advancement_key = ?", advancementKey) !==
      undefined
    );
  }

  insert(receipt: NewReceipt): ReceiptId {
    return this.#db.run(
      `INSERT INTO turn_receipts (advancement_key, conversation_id, session_id, generation, first_entry_id,
         last_entry_id, first_position, message_count, state, entries_known, is_heartbeat, committed_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      receipt.advancementKey,
      receipt.conversationId,
      receipt.sessionId,
      receipt.generation,
      receipt.firstEntryId,
      receipt.lastEntryId,
      receipt.firstPosition,
      receipt.messageCount,
      receipt.state,
      receipt.entriesKnown ? 1 : 0,
      receipt.isHeartbeat ? 1 : 0,
      receipt.committedAt,
    ).lastId as ReceiptId;
  }

  /** A turn that starts at this entry and whose inner rows still wait for their entry ids. */
  openAt(conversation: ConversationId, firstEntryId: string): Receipt | undefined {
    return this.#db.get<Receipt>(
      `SELECT ${RECEIPT} FROM turn_receipts
       WHERE conversation_id = ? AND first_entry_id = ? AND entries_known = 0`,
      conversation,
      firstEntryId,
    );
  }

  /** A turn whose inner rows still wait for their entry ids. */
  open(id: ReceiptId): Receipt | undefined {
    return this.#db.get<Receipt>(
      `SELECT ${RECEIPT} FROM turn_receipts WHERE receipt_id = ? AND entries_known = 0`,
      id,
    );
  }

  markKnown(id: ReceiptId): void {
    this.#db.run("UPDATE turn_receipts SET entries_known = 1 WHERE receipt_id = ?", id);
  }
}
