// Makes a segment's branch equal to one page of the transcript. Runs inside the caller's transaction.
//
// An entry is met once, whoever brought it first: by its entry id, by its offset from the first entry
// of a committed turn, or (a database of release 0.1.x only) by its text.

import { isSkippedHeartbeat, type HeartbeatPolicy } from "../heartbeat.js";
import { encodeMessage, isAgentMessage, isTranscriptOnly } from "../message-codec.js";
import type { Receipt } from "../store/receipt-store.js";
import type { Stores } from "../store/index.js";
import type { AgentMessage, ConversationId, MessageId, SegmentId, TranscriptEntry } from "../types.js";
import type { Alignment } from "./alignment.js";

/** A message that no commit had delivered. */
export interface FilledEntry {
  readonly role: string;
  readonly createdAt: string;
  /** True for a reply that a model wrote. */
  readonly byModel: boolean;
}

export interface PageContext {
  readonly stores: Stores;
  readonly conversationId: ConversationId;
  readonly segmentId: SegmentId;
  readonly sessionId: string;
  readonly policy: HeartbeatPolicy;
  readonly alignment: Alignment | undefined;
  readonly now: string;
}

/** What one page leads on to: runs that go over the end of a page continue in the next. */
export interface Carry {
  run: { receipt: Receipt; offset: number } | undefined;
  skippingHeartbeat: boolean;
}

export interface PageResult {
  readonly filled: FilledEntry[];
  /** False when rows were only added at the end, in order. */
  readonly viewMoved: boolean;
}

export function startCarry(context: PageContext, position: number): Carry {
  const receipt = context.stores.receipts.openCovering(context.conversationId, context.sessionId, position);
  const run = receipt ? { receipt, offset: position - receipt.firstPosition } : undefined;
  const before = position > 0 ? context.stores.messages.placeAt(context.segmentId, position - 1) : undefined;
  return { run, skippingHeartbeat: !run && before !== undefined && before.messageId === null };
}

export function applyPage(context: PageContext, entries: readonly TranscriptEntry[], carry: Carry): PageResult {
  const filled: FilledEntry[] = [];
  let viewMoved = false;
  for (const [index, entry] of entries.entries()) {
    advanceRuns(context, entries, index, carry);
    const placed = placeEntry(context, entry, carry);
    viewMoved ||= placed.viewMoved;
    if (placed.filled) filled.push(placed.filled);
    closeRun(context, carry);
  }
  return { filled, viewMoved };
}

/** Starts a committed turn's run, or a skipped heartbeat, at the entry that begins it. */
function advanceRuns(context: PageContext, entries: readonly TranscriptEntry[], index: number, carry: Carry): void {
  const entry = entries[index] as TranscriptEntry;
  if (roleOf(entry) === "user") carry.skippingHeartbeat = beginsSkippedHeartbeat(context, entries, index);
  if (carry.run) return;
  const receipt = context.stores.receipts.openAt(context.conversationId, entry.entryId);
  if (!receipt) return;
  const last = entries[index + receipt.messageCount - 1];
  // The turn's last entry must be where the commit said; a turn cut by the page's end is taken on trust.
  if (last === undefined || last.entryId === receipt.lastEntryId) carry.run = { receipt, offset: 0 };
}

function closeRun(context: PageContext, carry: Carry): void {
  if (!carry.run) return;
  carry.run = { ...carry.run, offset: carry.run.offset + 1 };
  if (carry.run.offset < carry.run.receipt.messageCount) return;
  context.stores.receipts.markKnown(carry.run.receipt.id);
  carry.run = undefined;
}

function beginsSkippedHeartbeat(context: PageContext, entries: readonly TranscriptEntry[], index: number): boolean {
  const turn = [entries[index] as TranscriptEntry];
  for (let next = index + 1; next < entries.length; next += 1) {
    const entry = entries[next] as TranscriptEntry;
    if (roleOf(entry) === "user") break;
    turn.push(entry);
  }
  return isSkippedHeartbeat(turn.map((entry) => entry.message).filter(isAgentMessage), false, context.policy);
}

interface Placed {
  readonly viewMoved: boolean;
  readonly filled?: FilledEntry;
}

function placeEntry(context: PageContext, entry: TranscriptEntry, carry: Carry): Placed {
  const { messages, views } = context.stores;
  const position = entry.seq - 1;
  const before = messages.placeAt(context.segmentId, position);
  const fate = decideFate(context, entry, carry);
  const id = fate.kind === "tombstone" ? null : fate.id;
  if (before && before.messageId === id) return { viewMoved: false };

  let viewMoved = false;
  if (before) {
    messages.cutFrom(context.segmentId, position);
    viewMoved = true;
  }
  const head = messages.head(context.segmentId);
  if (head && head.position > position) viewMoved = true;
  messages.place(context.segmentId, position, id);
  if (id !== null && !viewMoved) views.append(context.conversationId, id);
  return fate.kind === "new" ? { viewMoved, filled: fate.filled } : { viewMoved };
}

type Fate =
  | { kind: "known"; id: MessageId }
  | { kind: "new"; id: MessageId; filled: FilledEntry }
  | { kind: "tombstone" };

function decideFate(context: PageContext, entry: TranscriptEntry, carry: Carry): Fate {
  const { messages } = context.stores;
  const known = messages.idByEntry(context.conversationId, entry.entryId);
  if (known !== undefined) return { kind: "known", id: known };
  if (messages.hasTombstone(context.conversationId, entry.entryId)) return { kind: "tombstone" };
  if (carry.run?.receipt.state === "skipped" || carry.skippingHeartbeat) return bury(context, entry, "heartbeat");
  const claimed = carry.run && messages.idByReceipt(carry.run.receipt.id, carry.run.offset);
  if (claimed !== undefined) {
    messages.setEntryId(claimed, entry.entryId);
    return { kind: "known", id: claimed };
  }
  return insertEntry(context, entry);
}

function bury(context: PageContext, entry: TranscriptEntry, reason: string): Fate {
  context.stores.messages.addTombstone(context.conversationId, entry.entryId, reason, context.now);
  return { kind: "tombstone" };
}

function insertEntry(context: PageContext, entry: TranscriptEntry): Fate {
  if (!isAgentMessage(entry.message)) return bury(context, entry, "not a message");
  const encoded = encodeMessage(entry.message, entry.createdAt ?? context.now);
  const aligned = context.alignment?.claim(entry.message);
  if (aligned !== undefined) {
    context.stores.messages.replaceBody(aligned, entry.entryId, encoded);
    return { kind: "known", id: aligned };
  }
  const id = context.stores.messages.insert(context.conversationId, { entryId: entry.entryId }, encoded);
  return { kind: "new", id, filled: describeFilled(entry.message, encoded.createdAt) };
}

function describeFilled(message: AgentMessage, createdAt: string): FilledEntry {
  return { role: message.role, createdAt, byModel: message.role === "assistant" && !isTranscriptOnly(message) };
}

function roleOf(entry: TranscriptEntry): string | undefined {
  return isAgentMessage(entry.message) ? entry.message.role : undefined;
}
