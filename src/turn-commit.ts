// Stores one accepted turn in one transaction. The advancement key makes it idempotent; entry ids and
// positions make it meet rows that the transcript brought first.

import { errorText } from "./errors.js";
import { isSkippedHeartbeat, type HeartbeatPolicy } from "./heartbeat.js";
import { encodeMessage, isAgentMessage, type EncodedMessage } from "./message-codec.js";
import type { Stores } from "./store/index.js";
import type { AgentMessage, MessageId, ReceiptId, SegmentId, SessionRef } from "./types.js";

export interface TurnAnchor {
  readonly entryId: string;
  readonly position: number;
}

export interface AcceptedTurn {
  readonly advancementKey: string;
  readonly session: SessionRef;
  readonly generation: string | null;
  readonly first: TurnAnchor;
  readonly last: TurnAnchor;
  readonly messages: readonly unknown[];
  readonly isHeartbeat: boolean;
}

export type CommitOutcome =
  | { status: "committed" | "duplicate" }
  /** The payload could not be read. The receipt is kept and the transcript supplies the turn. */
  | { status: "deferred"; reason: string };

/** Outcome of looking at a payload before anything is written. */
type Reading = { ok: true; messages: AgentMessage[]; encoded: EncodedMessage[] } | { ok: false; reason: string };

export function commitTurn(stores: Stores, turn: AcceptedTurn, policy: HeartbeatPolicy, now: string): CommitOutcome {
  const reading = readPayload(turn, now);
  return stores.db.transaction(() => {
    if (stores.receipts.exists(turn.advancementKey)) return { status: "duplicate" };
    const target = openTarget(stores, turn.session, now);
    const commit = new Commit(stores, turn, target, now);
    if (!reading.ok) return commit.defer(reading.reason);
    if (isSkippedHeartbeat(reading.messages, turn.isHeartbeat, policy)) return commit.skip();
    return commit.store(reading.encoded);
  });
}

function readPayload(turn: AcceptedTurn, now: string): Reading {
  const { messages, first, last } = turn;
  if (!messages.every(isAgentMessage)) return { ok: false, reason: "it holds a message without a role" };
  const expected = last.position - first.position + 1;
  if (messages.length !== expected) {
    return { ok: false, reason: `it holds ${messages.length} messages for ${expected} transcript positions` };
  }
  try {
    return { ok: true, messages: [...messages], encoded: messages.map((message) => encodeMessage(message, now)) };
  } catch (error) {
    return { ok: false, reason: errorText(error) };
  }
}

interface Target {
  readonly conversationId: ReturnType<Stores["conversations"]["findOrCreate"]>["id"];
  readonly segmentId: SegmentId;
}

/** The first turn of a session has no bootstrap, so a segment may begin here. */
function openTarget(stores: Stores, session: SessionRef, now: string): Target {
  const { id: conversationId } = stores.conversations.findOrCreate(session, now);
  const isNew = stores.conversations.segment(conversationId, session.sessionId) === undefined;
  const { id: segmentId } = stores.conversations.segmentOrCreate(conversationId, session.sessionId, now);
  // A late commit of an earlier session id must not take the view back from the current one.
  if (isNew && stores.conversations.makeCurrent(conversationId, session.sessionId, now)) {
    stores.views.rebuild(conversationId, segmentId);
  }
  stores.conversations.markActive(conversationId, now);
  return { conversationId, segmentId };
}

class Commit {
  constructor(
    private readonly stores: Stores,
    private readonly turn: AcceptedTurn,
    private readonly target: Target,
    private readonly now: string,
  ) {}

  store(encoded: readonly EncodedMessage[]): CommitOutcome {
    const rowsCameFirst = this.#entryIsStored(this.turn.first.entryId);
    const viewMoved = this.#makeRoom();
    const receipt = this.#writeReceipt("stored");
    for (const [offset, message] of encoded.entries()) {
      const id = this.#storeAt(offset, message, receipt, rowsCameFirst);
      if (id && !viewMoved) this.stores.views.append(this.target.conversationId, id);
    }
    if (viewMoved) this.stores.views.rebuild(this.target.conversationId, this.target.segmentId);
    return { status: "committed" };
  }

  skip(): CommitOutcome {
    this.#makeRoom();
    this.#writeReceipt("skipped");
    for (const { entryId } of [this.turn.first, this.turn.last]) {
      this.stores.messages.addTombstone(this.target.conversationId, entryId, "heartbeat", this.now);
    }
    for (let position = this.turn.first.position; position <= this.turn.last.position; position += 1) {
      this.stores.messages.place(this.target.segmentId, position, null);
    }
    return { status: "committed" };
  }

  defer(reason: string): CommitOutcome {
    this.#writeReceipt("deferred");
    this.stores.events.record(
      this.target.conversationId,
      { kind: "malformed", happenedAt: this.now, messageCount: 0, detail: reason },
      this.now,
    );
    return { status: "deferred", reason };
  }

  /** Stores the row at an offset unless it is there already. Returns a row that is new to the view. */
  #storeAt(offset: number, message: EncodedMessage, receipt: ReceiptId, rowsCameFirst: boolean): MessageId | undefined {
    const { stores, target } = this;
    const position = this.turn.first.position + offset;
    const entryId = this.#entryIdAt(offset);
    if (entryId !== null && stores.messages.hasTombstone(target.conversationId, entryId)) {
      stores.messages.place(target.segmentId, position, null);
      return undefined;
    }
    const known =
      (entryId === null ? undefined : stores.messages.idByEntry(target.conversationId, entryId)) ??
      (rowsCameFirst ? (stores.messages.placeAt(target.segmentId, position)?.messageId ?? undefined) : undefined);
    const placed = stores.messages.placeAt(target.segmentId, position)?.messageId;
    const id = known ?? stores.messages.insert(target.conversationId, this.#identity(entryId, receipt, offset), message);
    stores.messages.place(target.segmentId, position, id);
    return placed === id ? undefined : id;
  }

  #identity(entryId: string | null, receiptId: ReceiptId, receiptOffset: number) {
    return entryId === null ? { entryId, receiptId, receiptOffset } : { entryId, receiptId, receiptOffset };
  }

  #entryIdAt(offset: number): string | null {
    if (offset === 0) return this.turn.first.entryId;
    return this.turn.first.position + offset === this.turn.last.position ? this.turn.last.entryId : null;
  }

  #entryIsStored(entryId: string): boolean {
    return this.stores.messages.idByEntry(this.target.conversationId, entryId) !== undefined;
  }

  /**
   * A position that another entry holds belongs to a branch that is gone; it leaves the view.
   * True when the view has to be published anew.
   */
  #makeRoom(): boolean {
    const { messages } = this.stores;
    const place = messages.placeAt(this.target.segmentId, this.turn.first.position);
    if (!place || place.entryId === this.turn.first.entryId || place.messageId === null) return false;
    messages.cutFrom(this.target.segmentId, this.turn.first.position);
    return true;
  }

  #writeReceipt(state: "stored" | "skipped" | "deferred"): ReceiptId {
    const { turn } = this;
    const count = turn.last.position - turn.first.position + 1;
    return this.stores.receipts.insert({
      advancementKey: turn.advancementKey,
      conversationId: this.target.conversationId,
      sessionId: turn.session.sessionId,
      generation: turn.generation,
      firstEntryId: turn.first.entryId,
      lastEntryId: turn.last.entryId,
      firstPosition: turn.first.position,
      messageCount: count,
      state,
      entriesKnown: state === "deferred" || count <= 2,
      isHeartbeat: turn.isHeartbeat,
      committedAt: this.now,
    });
  }
}
