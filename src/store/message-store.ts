// Messages and where they stand in a segment. Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import { LcmError } from "../errors.js";
import { decodeMessage, type EncodedMessage } from "../message-codec.js";
import type { AgentMessage, ConversationId, MessageId, ReceiptId, SegmentId } from "../types.js";
import { IndexStore } from "./index-store.js";

export interface StoredMessage {
  readonly id: MessageId;
  readonly entryId: string | null;
  readonly role: string;
  readonly createdAt: string;
  readonly message: AgentMessage;
}

export interface SourceMessage {
  readonly id: MessageId;
  readonly message: AgentMessage;
  readonly createdAt: string;
  readonly tokens: number;
}

/** A message that goes to a model, as far as a view needs to know it. */
export interface BranchRow {
  readonly id: MessageId;
  readonly tokens: number;
}

/** What stands at a position: a message, or (without one) a tombstone. */
export interface Place {
  readonly position: number;
  readonly messageId: MessageId | null;
  /** Null while it is not known: inside a committed turn, until the transcript is read. */
  readonly entryId: string | null;
  /** The committed turn that brought the message, and its offset in it. */
  readonly receiptId: ReceiptId | null;
  readonly receiptOffset: number | null;
}

export type MessageIdentity =
  | { entryId: string; receiptId?: ReceiptId; receiptOffset?: number }
  | { entryId: null; receiptId: ReceiptId; receiptOffset: number };

const PLACE = `t.position, t.message_id AS messageId, coalesce(m.entry_id, t.buried_entry) AS entryId,
  m.receipt_id AS receiptId, m.receipt_offset AS receiptOffset`;

export class MessageStore {
  readonly #db: Database;
  readonly #index: IndexStore;

  constructor(db: Database) {
    this.#db = db;
    this.#index = new IndexStore(db);
  }

  insert(
    conversation: ConversationId,
    identity: MessageIdentity,
    encoded: EncodedMessage,
  ): MessageId {
    const id = this.#db.run(
      `INSERT INTO messages (conversation_id, entry_id, receipt_id, receipt_offset, role, in_context,
                             starts_turn, token_count, created_at, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      conversation,
      identity.entryId,
      identity.receiptId ?? null,
      identity.receiptOffset ?? null,
      encoded.role,
      encoded.inContext ? 1 : 0,
      encoded.startsTurn ? 1 : 0,
      encoded.tokens,
      encoded.createdAt,
      encoded.body,
    ).lastId as MessageId;
    this.#insertParts(id, encoded);
    this.#index.addMessage(id, conversation, encoded);
    return id;
  }

  #insertParts(message: MessageId, encoded: EncodedMessage): void {
    for (const [ordinal, part] of encoded.parts.entries()) {
      this.#db.run(
        `INSERT INTO message_parts (message_id, ordinal, part_type, tool_call_id, tool_name, token_count)
         VALUES (?, ?, ?, ?, ?, ?)`,
        message,
        ordinal,
        part.type,
        part.toolCallId,
        part.toolName,
        part.tokens,
      );
    }
  }

  /** Replaces what release 0.1.x kept of a message by the exact original. Needs an operator action. */
  replaceBody(message: MessageId, entryId: string, encoded: EncodedMessage): void {
    const row = this.#db.get<{ conversation: ConversationId }>(
      `UPDATE messages SET entry_id = ?, role = ?, in_context = ?, starts_turn = ?, token_count = ?,
         created_at = ?, body = ?
       WHERE message_id = ? RETURNING conversation_id AS conversation`,
      entryId,
      encoded.role,
      encoded.inContext ? 1 : 0,
      encoded.startsTurn ? 1 : 0,
      encoded.tokens,
      encoded.createdAt,
      encoded.body,
      message,
    );
    this.#db.run("DELETE FROM message_parts WHERE message_id = ?", message);
    this.#insertParts(message, encoded);
    if (row) this.#index.addMessage(message, row.conversation, encoded);
  }

  idByEntry(conversation: ConversationId, entryId: string): MessageId | undefined {
    return this.#db.get<{ id: MessageId }>(
      "SELECT message_id AS id FROM messages WHERE conversation_id = ? AND entry_id = ?",
      conversation,
      entryId,
    )?.id;
  }

  /** True for an entry that an accepted turn brought. */
  isCommitted(conversation: ConversationId, entryId: string): boolean {
    const row = this.#db.get(
      `SELECT 1 FROM messages
       WHERE conversation_id = ? AND entry_id = ? AND receipt_id IS NOT NULL`,
      conversation,
      entryId,
    );
    return row !== undefined;
  }

  /** The row of a committed turn that still waits for its entry id. */
  idByReceipt(receipt: ReceiptId, offset: number): MessageId | undefined {
    return this.#db.get<{ id: MessageId }>(
      `SELECT message_id AS id FROM messages
       WHERE entry_id IS NULL AND receipt_id = ? AND receipt_offset = ?`,
      receipt,
      offset,
    )?.id;
  }

  /**
   * The rows of a turn that a branch holds already, from its first entry to its last. Empty when none
   * holds it whole: what stands behind its first entry may then belong to another turn.
   */
  turnRows(
    conversation: ConversationId,
    turn: { firstEntry: string; lastEntry: string; count: number },
  ): MessageId[] {
    const first = this.idByEntry(conversation, turn.firstEntry);
    if (first === undefined) return [];
    const rows = this.#db.all<{ segment: number; id: MessageId; entryId: string | null }>(
      `SELECT t.segment_id AS segment, t.message_id AS id, m.entry_id AS entryId
       FROM transcript_entries f
       JOIN transcript_entries t ON t.segment_id = f.segment_id
         AND t.position >= f.position AND t.position < f.position + ?2
       JOIN messages m ON m.message_id = t.message_id
       WHERE f.message_id = ?1 ORDER BY t.segment_id, t.position`,
      first,
      turn.count,
    );
    const runs = [...Map.groupBy(rows, ({ segment }) => segment).values()];
    const whole = runs.find(
      (run) => run.length === turn.count && run.at(-1)?.entryId === turn.lastEntry,
    );
    return whole?.map(({ id }) => id) ?? [];
  }

  /** Says which committed turn a row belongs to that the transcript brought first. */
  joinTurn(message: MessageId, turn: { receiptId: ReceiptId; receiptOffset: number }): void {
    this.#db.run(
      `UPDATE messages SET receipt_id = ?, receipt_offset = ?
       WHERE message_id = ? AND receipt_id IS NULL`,
      turn.receiptId,
      turn.receiptOffset,
      message,
    );
  }

  setEntryId(message: MessageId, entryId: string): void {
    this.#db.run("UPDATE messages SET entry_id = ? WHERE message_id = ?", entryId, message);
  }

  /** A message that is known to be stored. */
  get(message: MessageId): AgentMessage {
    const row = this.#db.get<{ body: string }>(
      "SELECT body FROM messages WHERE message_id = ?",
      message,
    );
    if (!row) throw new LcmError("CORRUPT", `${this.#db.path}: message ${message} is not stored.`);
    return decodeMessage(row.body);
  }

  /** The messages of a list, in the list's order. */
  sources(ids: readonly MessageId[]): SourceMessage[] {
    return this.#db
      .all<Omit<SourceMessage, "message"> & { body: string }>(
        `SELECT m.message_id AS id, m.created_at AS createdAt, m.token_count AS tokens, m.body
         FROM json_each(?) j JOIN messages m ON m.message_id = j.value ORDER BY j.key`,
        JSON.stringify(ids),
      )
      .map(({ body, ...row }) => ({ ...row, message: decodeMessage(body) }));
  }

  /** Those of the messages that go to a model, in the list's order. */
  forView(ids: readonly MessageId[]): BranchRow[] {
    return this.#db.all<BranchRow>(
      `SELECT m.message_id AS id, m.token_count AS tokens
       FROM json_each(?) j JOIN messages m ON m.message_id = j.value
       WHERE m.in_context = 1 ORDER BY j.key`,
      JSON.stringify(ids),
    );
  }

  /** What of a segment's branch goes to a model, in order from a position on. */
  branchFrom(segment: SegmentId, position: number): BranchRow[] {
    return this.#db.all<BranchRow>(
      `SELECT m.message_id AS id, m.token_count AS tokens
       FROM transcript_entries t JOIN messages m USING (message_id)
       WHERE t.segment_id = ? AND t.position >= ? AND m.in_context = 1 ORDER BY t.position`,
      segment,
      position,
    );
  }

  /** True when a message that goes to a model stands from one position up to another. */
  isShownBetween(segment: SegmentId, from: number, to: number): boolean {
    const row = this.#db.get(
      `SELECT 1 FROM transcript_entries t JOIN messages m USING (message_id)
       WHERE t.segment_id = ? AND t.position >= ? AND t.position < ? AND m.in_context = 1 LIMIT 1`,
      segment,
      from,
      to,
    );
    return row !== undefined;
  }

  /** The messages of a segment's branch that another conversation holds too, by entry, in order. */
  sharedWith(other: ConversationId, segment: SegmentId): { own: MessageId; parents: MessageId }[] {
    return this.#db.all<{ own: MessageId; parents: MessageId }>(
      `SELECT m.message_id AS own, p.message_id AS parents
       FROM transcript_entries t JOIN messages m USING (message_id)
       JOIN messages p ON p.conversation_id = ? AND p.entry_id = m.entry_id
       WHERE t.segment_id = ? ORDER BY t.position`,
      other,
      segment,
    );
  }

  /** True when nothing is missing between the first and the last known place of a segment. */
  isWhole(segment: SegmentId): boolean {
    const row = this.#db.get<{ whole: number }>(
      `SELECT count(*) = coalesce(max(position), -1) + 1 AS whole
       FROM transcript_entries WHERE segment_id = ?`,
      segment,
    );
    return row?.whole === 1;
  }

  /** Where a message stands on a segment's branch, if it does. */
  positionOf(segment: SegmentId, message: MessageId): number | undefined {
    return this.#db.get<{ position: number }>(
      "SELECT position FROM transcript_entries WHERE message_id = ? AND segment_id = ?",
      message,
      segment,
    )?.position;
  }

  placeAt(segment: SegmentId, position: number): Place | undefined {
    return this.#db.get<Place>(
      `SELECT ${PLACE} FROM transcript_entries t LEFT JOIN messages m USING (message_id)
       WHERE t.segment_id = ? AND t.position = ?`,
      segment,
      position,
    );
  }

  head(segment: SegmentId): Place | undefined {
    return this.#db.get<Place>(
      `SELECT ${PLACE} FROM transcript_entries t LEFT JOIN messages m USING (message_id)
       WHERE t.segment_id = ? ORDER BY t.position DESC LIMIT 1`,
      segment,
    );
  }

  place(
    segment: SegmentId,
    position: number,
    what: { messageId: MessageId } | { buriedEntry: string | null },
  ): void {
    this.#db.run(
      `INSERT INTO transcript_entries (segment_id, position, message_id, buried_entry)
       VALUES (?, ?, ?, ?)
       ON CONFLICT (segment_id, position) DO UPDATE SET
         message_id = excluded.message_id, buried_entry = excluded.buried_entry`,
      segment,
      position,
      "messageId" in what ? what.messageId : null,
      "messageId" in what ? null : what.buriedEntry,
    );
  }

  /** Takes everything from `position` on off the segment's branch. The messages stay stored. */
  cutFrom(segment: SegmentId, position: number): number {
    return this.#db.run(
      "DELETE FROM transcript_entries WHERE segment_id = ? AND position >= ?",
      segment,
      position,
    ).changes;
  }

  addTombstone(conversation: ConversationId, entryId: string, reason: string, now: string): void {
    this.#db.run(
      `INSERT INTO tombstones (conversation_id, entry_id, reason, created_at) VALUES (?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      conversation,
      entryId,
      reason,
      now,
    );
  }

  hasTombstone(conversation: ConversationId, entryId: string): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM tombstones WHERE conversation_id = ? AND entry_id = ?",
      conversation,
      entryId,
    );
    return row !== undefined;
  }

  /** True for a message entry of the conversation, kept or buried. */
  knowsEntry(conversation: ConversationId, entryId: string): boolean {
    return (
      this.idByEntry(conversation, entryId) !== undefined ||
      this.hasTombstone(conversation, entryId)
    );
  }

  /** The messages of a segment's branch in order. */
  branch(segment: SegmentId): StoredMessage[] {
    return this.#db
      .all<Omit<StoredMessage, "message"> & { body: string }>(
        `SELECT m.message_id AS id, m.entry_id AS entryId, m.role, m.created_at AS createdAt, m.body
         FROM transcript_entries t JOIN messages m USING (message_id)
         WHERE t.segment_id = ? ORDER BY t.position`,
        segment,
      )
      .map(({ body, ...row }) => ({ ...row, message: decodeMessage(body) }));
  }
}
