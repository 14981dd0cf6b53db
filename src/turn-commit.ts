// Stores one accepted turn in one transaction. The advancement key makes it idempotent; entry ids make
// it meet rows that the transcript brought first.

import { usageSample } from "./calibration.js";
import { errorText } from "./errors.js";
import { isSkippedHeartbeat, type HeartbeatPolicy } from "./heartbeat.js";
import { encodeMessage, isAgentMessage, type EncodedMessage } from "./message-codec.js";
import { showSegment } from "./open-session.js";
import type { Conversation } from "./store/conversation-store.js";
import type { ReceiptState } from "./store/receipt-store.js";
import type { Stores } from "./store/index.js";
import type { ViewKeeper } from "./view-keeper.js";
import type {
  AgentMessage,
  ConversationId,
  MessageId,
  ReceiptId,
  SegmentId,
  SessionRef,
} from "./types.js";

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
  /** Of the model that answered, when the host told it. */
  readonly contextWindow: number | null;
}

export type CommitOutcome =
  | { status: "committed" | "duplicate" }
  /** The payload could not be read. The receipt is kept and the transcript supplies the turn. */
  | { status: "deferred"; reason: string };

export function commitTurn(
  stores: Stores,
  keeper: ViewKeeper,
  turn: AcceptedTurn,
  policy: HeartbeatPolicy,
  now: string,
): CommitOutcome {
  const reading = readPayload(turn, now);
  return stores.db.transaction(() => {
    if (stores.receipts.exists(turn.advancementKey)) return { status: "duplicate" };
    const target = openTarget(stores, turn.session, timesOf(reading, now), now);
    const commit = new Commit(stores, keeper, turn, target, now);
    if (!reading.ok) return commit.defer(reading.reason);
    recordUsage(stores, reading, now);
    const { contextWindow } = turn;
    stores.conversations.recordTurnFacts(target.conversationId, { contextWindow });
    const isSkipped = isSkippedHeartbeat(reading.messages, turn.isHeartbeat, policy);
    return isSkipped && !commit.isStored() ? commit.skip() : commit.store(reading.encoded);
  });
}

/** Outcome of looking at a payload before anything is written. */
type Reading =
  | { ok: true; messages: AgentMessage[]; encoded: EncodedMessage[] }
  | { ok: false; reason: string };

function readPayload({ messages, first, last }: AcceptedTurn, now: string): Reading {
  if (!messages.every(isAgentMessage)) {
    return { ok: false, reason: "it holds a message without a role" };
  }
  const expected = last.position - first.position + 1;
  if (messages.length !== expected) {
    const reason = `it holds ${messages.length} messages for ${expected} transcript positions`;
    return { ok: false, reason };
  }
  try {
    const encoded = messages.map((message) => encodeMessage(message, now));
    return { ok: true, messages: [...messages], encoded };
  } catch (error) {
    return { ok: false, reason: errorText(error) };
  }
}

/** What the host reports of a turn's usage corrects our token estimates. */
function recordUsage(
  { calibration }: Stores,
  { messages, encoded }: Extract<Reading, { ok: true }>,
  now: string,
): void {
  const sample = usageSample(
    messages,
    encoded.map(({ tokens }) => tokens),
  );
  if (sample) calibration.record(sample.model, sample, now);
}

interface Target {
  readonly conversationId: ConversationId;
  readonly segmentId: SegmentId;
  /** The view shows this segment; another one's rows must not enter it. */
  readonly isCurrent: boolean;
}

/** When the messages of a turn were made (ISO); one that could not be read was made now. */
interface TurnTimes {
  readonly first: string;
  readonly last: string;
}

function timesOf(reading: Reading, now: string): TurnTimes {
  const encoded = reading.ok ? reading.encoded : [];
  return { first: encoded[0]?.createdAt ?? now, last: encoded.at(-1)?.createdAt ?? now };
}

function openTarget(stores: Stores, session: SessionRef, turn: TurnTimes, now: string): Target {
  const { conversations, left } = stores;
  const { sessionId } = session;
  const hidden = conversations.hiddenOwner(session);
  // The host delivers a turn that waited in its outbox even when its session was deleted meanwhile.
  if (hidden && turn.last <= hidden.hiddenAt) {
    const { id } = conversations.segmentOrCreate(hidden.id, sessionId, now);
    return { conversationId: hidden.id, segmentId: id, isCurrent: false };
  }
  const conversation = conversations.findOrCreate(session, now);
  const known = conversations.segment(conversation.id, sessionId);
  const segment = known ?? conversations.segmentOrCreate(conversation.id, sessionId, now);
  const moves = !known && isNewer(stores, conversation, turn);
  if (moves) showSegment(stores, conversation, segment, now);
  conversations.markActive(conversation.id, now);
  const isCurrent = moves || conversation.sessionId === sessionId;
  // Nobody else would read the entry ids inside a turn of a session that is not current.
  if (!isCurrent) left.mark(segment.id);
  return { conversationId: conversation.id, segmentId: segment.id, isCurrent };
}

/**
 * Whether a turn of a session that is new to us is newer than the one the view shows. Its `assemble`
 * would have told, if the store could be reached then. A late commit of an earlier session must not
 * take the view back.
 */
function isNewer({ conversations }: Stores, shown: Conversation, turn: TurnTimes): boolean {
  const current =
    shown.sessionId === null ? undefined : conversations.segment(shown.id, shown.sessionId);
  return !current || turn.first > current.createdAt;
}

class Commit {
  constructor(
    private readonly stores: Stores,
    private readonly keeper: ViewKeeper,
    private readonly turn: AcceptedTurn,
    private readonly target: Target,
    private readonly now: string,
  ) {}

  isStored(): boolean {
    const { messages } = this.stores;
    return messages.idByEntry(this.target.conversationId, this.turn.first.entryId) !== undefined;
  }

  store(encoded: readonly EncodedMessage[]): CommitOutcome {
    const { messages } = this.stores;
    const { first, last } = this.turn;
    this.#makeRoom();
    // The transcript may have brought the turn already, perhaps under another session id.
    const known = messages.turnRows(this.target.conversationId, {
      firstEntry: first.entryId,
      lastEntry: last.entryId,
      count: encoded.length,
    });
    const head = messages.head(this.target.segmentId)?.position ?? -1;
    const receipt = this.#writeReceipt("stored");
    const added = encoded
      .map((message, offset) => this.#storeAt(offset, message, receipt, known[offset]))
      .filter((id) => id !== undefined);
    if (this.target.isCurrent) this.#updateView(added, head);
    this.stores.work.noteDebt(this.target.conversationId, this.now);
    return { status: "committed" };
  }

  skip(): CommitOutcome {
    const { messages } = this.stores;
    const { first, last } = this.turn;
    this.#makeRoom();
    this.#writeReceipt("skipped");
    for (const { entryId } of [first, last]) {
      messages.addTombstone(this.target.conversationId, entryId, "heartbeat", this.now);
    }
    for (let position = first.position; position <= last.position; position += 1) {
      const buriedEntry = this.#entryIdAt(position - first.position);
      messages.place(this.target.segmentId, position, { buriedEntry });
    }
    if (this.target.isCurrent) this.#updateView([], first.position - 1);
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

  /**
   * New rows behind the head are appended. Behind a gap they must wait: the transcript has not been
   * read so far yet, and a view with a hole in it would be summarized as if there was none.
   */
  #updateView(added: readonly MessageId[], head: number): void {
    const { conversationId, segmentId } = this.target;
    const { views, messages } = this.stores;
    const { position } = this.turn.first;
    if (position !== head + 1 && added.length > 0) views.markStale(conversationId);
    if (!views.state(conversationId).isStale) this.keeper.append(conversationId, added);
    else if (messages.isWhole(segmentId)) this.keeper.rebuild(conversationId, segmentId, this.now);
  }

  /** Stores the row at an offset unless it is there already. Returns a row that is new to the view. */
  #storeAt(
    offset: number,
    message: EncodedMessage,
    receipt: ReceiptId,
    known: MessageId | undefined,
  ): MessageId | undefined {
    const { messages } = this.stores;
    const { conversationId, segmentId } = this.target;
    const position = this.turn.first.position + offset;
    const entryId = this.#entryIdAt(offset);
    if (entryId !== null && messages.hasTombstone(conversationId, entryId)) {
      messages.place(segmentId, position, { buriedEntry: entryId });
      return undefined;
    }
    const placed = messages.placeAt(segmentId, position)?.messageId ?? undefined;
    const stored =
      known ??
      (entryId === null ? undefined : messages.idByEntry(conversationId, entryId)) ??
      placed;
    const identity = { entryId, receiptId: receipt, receiptOffset: offset };
    if (stored !== undefined) messages.joinTurn(stored, identity);
    const id = stored ?? messages.insert(conversationId, identity, message);
    messages.place(segmentId, position, { messageId: id });
    return placed === id ? undefined : id;
  }

  /** Only the entries at both ends of a turn are named. */
  #entryIdAt(offset: number): string | null {
    const { first, last } = this.turn;
    if (offset === 0) return first.entryId;
    return first.position + offset === last.position ? last.entryId : null;
  }

  /** Another entry at either end belongs to a branch that is gone: its places are given up. */
  #makeRoom(): void {
    const { messages, views } = this.stores;
    const { first, last } = this.turn;
    const stale = [first, last].some(({ position, entryId }) => {
      const place = messages.placeAt(this.target.segmentId, position);
      return place !== undefined && place.entryId !== entryId;
    });
    if (!stale) return;
    messages.cutFrom(this.target.segmentId, first.position);
    if (this.target.isCurrent) views.markStale(this.target.conversationId);
  }

  #writeReceipt(state: ReceiptState): ReceiptId {
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
