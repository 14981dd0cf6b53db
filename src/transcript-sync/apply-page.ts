// Makes a segment's branch equal to one page of the transcript. Runs inside the caller's transaction.
//
// An entry is met once, whoever brought it first: by its entry id, by its offset from the first entry
// of a committed turn, or (a database of release 0.1.x only) by its text.

import { isSkippedHeartbeat, type HeartbeatPolicy } from "../heartbeat.js";
import { encodeAny, isAgentMessage, isSteered, isTranscriptOnly } from "../message-codec.js";
import type { Receipt } from "../store/receipt-store.js";
import type { Stores } from "../store/index.js";
import type { ConversationId, MessageId, SegmentId, TranscriptEntry } from "../types.js";
import type { Alignment } from "./alignment.js";

/** A message that no commit had delivered. */
export interface FilledEntry {
  readonly position: number;
  readonly createdAt: string;
  /** False for rows that go on with the turn before them: replies, tool results, steering. */
  readonly startsTurn: boolean;
  /** `host` for a reply that no model wrote: to a slash command, or injected. */
  readonly author: "model" | "host" | "other";
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
  /** The committed turn whose rows we are passing. */
  readonly run: { readonly receipt: Receipt; readonly offset: number } | undefined;
  /** True inside a heartbeat turn that is not kept. */
  readonly skipping: boolean;
}

export interface PageResult {
  readonly filled: readonly FilledEntry[];
  readonly carry: Carry;
}

/** Where reading begins at `position`: perhaps in the middle of a committed turn. */
export function startCarry(context: PageContext, position: number): Carry {
  const { receipts } = context.stores;
  const receipt = receipts.openCovering(context.conversationId, context.sessionId, position);
  const run = receipt && { receipt, offset: position - receipt.firstPosition };
  return { run, skipping: false };
}

export function applyPage(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  before: Carry,
): PageResult {
  const filled: FilledEntry[] = [];
  let carry = before;
  for (const [index, entry] of entries.entries()) {
    carry = enter(context, entries, index, carry);
    const fate = decideFate(context, entry, carry);
    placeEntry(context, entry, fate.id);
    if (fate.kind === "new") filled.push(fate.filled);
    carry = leave(context, carry);
  }
  return { filled, carry };
}

/** Begins a committed turn's run, begins or ends a skipped heartbeat, at the entry that does so. */
function enter(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  index: number,
  { run, skipping }: Carry,
): Carry {
  const entry = entries[index] as TranscriptEntry;
  const startsTurn = isAgentMessage(entry.message) && entry.message.role === "user";
  const outside = isAgentMessage(entry.message) && isTranscriptOnly(entry.message);
  return {
    run: run ?? beginRun(context, entries, index),
    skipping: startsTurn ? beginsSkippedHeartbeat(context, entries, index) : skipping && !outside,
  };
}

function beginRun(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  index: number,
): Carry["run"] {
  const first = entries[index] as TranscriptEntry;
  const receipt = context.stores.receipts.openAt(context.conversationId, first.entryId);
  if (!receipt) return undefined;
  const last = entries[index + receipt.messageCount - 1];
  // The turn's last entry must be where the commit said; a turn cut by the page's end is trusted.
  const agrees = last === undefined || last.entryId === receipt.lastEntryId;
  return agrees ? { receipt, offset: 0 } : undefined;
}

function leave(context: PageContext, { run, skipping }: Carry): Carry {
  if (!run) return { run, skipping };
  const offset = run.offset + 1;
  if (offset < run.receipt.messageCount) return { run: { ...run, offset }, skipping };
  context.stores.receipts.markKnown(run.receipt.id);
  return { run: undefined, skipping };
}

function beginsSkippedHeartbeat(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  index: number,
): boolean {
  const rest = entries.slice(index + 1).map((entry) => entry.message);
  const end = rest.findIndex(
    (message) => isAgentMessage(message) && (message.role === "user" || isTranscriptOnly(message)),
  );
  const turn = [entries[index]?.message, ...(end < 0 ? rest : rest.slice(0, end))];
  return isSkippedHeartbeat(turn.filter(isAgentMessage), false, context.policy);
}

type Fate =
  | { kind: "known"; id: MessageId }
  | { kind: "new"; id: MessageId; filled: FilledEntry }
  | { kind: "buried"; id: null };

function decideFate(context: PageContext, entry: TranscriptEntry, { run, skipping }: Carry): Fate {
  const { messages } = context.stores;
  const known = messages.idByEntry(context.conversationId, entry.entryId);
  if (known !== undefined) return { kind: "known", id: known };
  if (messages.hasTombstone(context.conversationId, entry.entryId)) {
    return { kind: "buried", id: null };
  }
  if (run?.receipt.state === "skipped" || skipping) return bury(context, entry);
  const claimed = run && messages.idByReceipt(run.receipt.id, run.offset);
  if (claimed !== undefined) {
    messages.setEntryId(claimed, entry.entryId);
    return { kind: "known", id: claimed };
  }
  return insertEntry(context, entry);
}

function bury(context: PageContext, entry: TranscriptEntry): Fate {
  const { messages } = context.stores;
  messages.addTombstone(context.conversationId, entry.entryId, "heartbeat", context.now);
  return { kind: "buried", id: null };
}

function insertEntry(context: PageContext, entry: TranscriptEntry): Fate {
  const { messages } = context.stores;
  const encoded = encodeAny(entry.message, entry.createdAt ?? context.now);
  const aligned = isAgentMessage(entry.message)
    ? context.alignment?.claim(entry.message)
    : undefined;
  if (aligned !== undefined) {
    messages.replaceBody(aligned, entry.entryId, encoded);
    return { kind: "known", id: aligned };
  }
  const id = messages.insert(context.conversationId, { entryId: entry.entryId }, encoded);
  return { kind: "new", id, filled: describeFilled(entry, encoded.createdAt) };
}

function describeFilled({ seq, message }: TranscriptEntry, createdAt: string): FilledEntry {
  const known = isAgentMessage(message) ? message : undefined;
  return {
    position: seq - 1,
    createdAt,
    startsTurn: known?.role === "user" && !isSteered(known),
    author: known?.role !== "assistant" ? "other" : isTranscriptOnly(known) ? "host" : "model",
  };
}

/** Puts the entry at its position. Another message there belongs to a branch that is gone. */
function placeEntry(context: PageContext, entry: TranscriptEntry, id: MessageId | null): void {
  const { messages, views } = context.stores;
  const position = entry.seq - 1;
  const place = id === null ? { buriedEntry: entry.entryId } : { messageId: id };
  const before = messages.placeAt(context.segmentId, position);
  if (before?.messageId === id) {
    if (before.entryId !== entry.entryId) messages.place(context.segmentId, position, place);
    return;
  }
  if (before) messages.cutFrom(context.segmentId, position);
  const head = messages.head(context.segmentId);
  messages.place(context.segmentId, position, place);
  // New rows at the end are appended; anything else means that the view is published anew.
  const inOrder = !before && (head === undefined || head.position < position);
  if (!inOrder) views.markStale(context.conversationId);
  else if (id !== null) views.append(context.conversationId, id);
}
