// Makes a segment's branch equal to one page of the transcript. Runs inside the caller's transaction.
//
// An entry is met once, whoever brought it first: by its entry id, by its offset in a committed turn,
// or (a database of release 0.1.x only) by its place in the alignment.

import { heartbeatLength, isSkippedHeartbeat, type HeartbeatPolicy } from "../heartbeat.js";
import {
  encodeAny,
  isAgentMessage,
  isHeartbeatPrompt,
  isSteered,
  isTranscriptOnly,
} from "../message-codec.js";
import type { Receipt } from "../store/receipt-store.js";
import type { Stores } from "../store/index.js";
import type { ConversationId, MessageId, SegmentId, TranscriptEntry } from "../types.js";
import type { ViewKeeper } from "../view-keeper.js";

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
  readonly keeper: ViewKeeper;
  readonly conversationId: ConversationId;
  readonly segmentId: SegmentId;
  /** The view shows this segment; another one's rows must not enter it. */
  readonly isCurrent: boolean;
  readonly policy: HeartbeatPolicy;
  /** Rows of release 0.1.x by the entries they were found to be. */
  readonly aligned: ReadonlyMap<string, MessageId>;
  readonly now: string;
}

/** The committed turn whose rows are being passed; it may go on in the next page. */
export type Run = { readonly receipt: Receipt; readonly offset: number } | undefined;

export interface PageResult {
  readonly filled: readonly FilledEntry[];
  readonly run: Run;
}

/**
 * Splits off a heartbeat turn at the end of a page that has another behind it: whether it is kept can
 * be told only from the whole turn.
 */
export function splitOpenHeartbeat(
  entries: readonly TranscriptEntry[],
  policy: HeartbeatPolicy,
): { readonly whole: readonly TranscriptEntry[]; readonly open: readonly TranscriptEntry[] } {
  const none = { whole: entries, open: [] };
  if (!policy.skipHeartbeats && !policy.pruneHeartbeatOk) return none;
  const start = entries.findLastIndex(({ message }) => isHeartbeat(message));
  if (start < 0) return none;
  const isOpen = start + heartbeatLength(messagesOf(entries.slice(start))) === entries.length;
  return isOpen ? { whole: entries.slice(0, start), open: entries.slice(start) } : none;
}

/** `before` is what the page before led on to; without one, the sync begins here. */
export function applyPage(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  before?: { readonly run: Run },
): PageResult {
  const filled: FilledEntry[] = [];
  let current = before ? before.run : resumeRun(context, entries);
  let buryUntil = 0;
  for (const [index, entry] of entries.entries()) {
    current ??= beginRun(context, entries, index);
    if (isHeartbeat(entry.message)) buryUntil = index + skippedLength(context, entries, index);
    const fate = decideFate(context, entry, current, index < buryUntil);
    placeEntry(context, entry, fate.id);
    if (fate.kind === "new") filled.push(fate.filled);
    current = leave(context, current);
  }
  return { filled, run: current };
}

/** A sync may begin in the middle of a committed turn. The rows before tell which one it is. */
function resumeRun(context: PageContext, entries: readonly TranscriptEntry[]): Run {
  const { messages, receipts } = context.stores;
  const first = entries[0];
  if (!first) return undefined;
  const position = first.seq - 1;
  for (let at = position - 1; at >= 0; at -= 1) {
    const place = messages.placeAt(context.segmentId, at);
    if (!place) return undefined;
    const receipt =
      (place.receiptId === null ? undefined : receipts.open(place.receiptId)) ??
      (place.entryId === null ? undefined : receipts.openAt(context.conversationId, place.entryId));
    if (receipt) {
      const offset = (place.receiptOffset ?? 0) + position - at;
      return offset < receipt.messageCount && agrees(entries, 0, receipt, offset)
        ? { receipt, offset }
        : undefined;
    }
    // Rows that are not kept know nothing of their turn; its first entry does.
    if (place.messageId !== null) return undefined;
  }
  return undefined;
}

function beginRun(context: PageContext, entries: readonly TranscriptEntry[], index: number): Run {
  const first = entries[index] as TranscriptEntry;
  const receipt = context.stores.receipts.openAt(context.conversationId, first.entryId);
  return receipt && agrees(entries, index, receipt, 0) ? { receipt, offset: 0 } : undefined;
}

/** The turn's last entry must be where the commit said; behind the page's end it is trusted. */
function agrees(
  entries: readonly TranscriptEntry[],
  index: number,
  receipt: Receipt,
  offset: number,
): boolean {
  const last = entries[index + receipt.messageCount - 1 - offset];
  return last === undefined || last.entryId === receipt.lastEntryId;
}

function leave(context: PageContext, run: Run): Run {
  if (!run) return undefined;
  const offset = run.offset + 1;
  if (offset < run.receipt.messageCount) return { ...run, offset };
  context.stores.receipts.markKnown(run.receipt.id);
  return undefined;
}

/** How many entries, from a heartbeat's prompt on, are not kept. */
function skippedLength(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  index: number,
): number {
  const rows = messagesOf(entries.slice(index));
  const turn = rows.slice(0, heartbeatLength(rows)).filter((row) => row !== undefined);
  return isSkippedHeartbeat(turn, false, context.policy) ? turn.length : 0;
}

type Fate =
  | { kind: "known"; id: MessageId }
  | { kind: "new"; id: MessageId; filled: FilledEntry }
  | { kind: "buried"; id: null };

function decideFate(
  context: PageContext,
  entry: TranscriptEntry,
  run: Run,
  isSkipped: boolean,
): Fate {
  const { messages } = context.stores;
  const known = messages.idByEntry(context.conversationId, entry.entryId);
  if (known !== undefined) return { kind: "known", id: known };
  if (messages.hasTombstone(context.conversationId, entry.entryId)) {
    return { kind: "buried", id: null };
  }
  if (isSkipped || run?.receipt.state === "skipped") return bury(context, entry);
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
  const aligned = context.aligned.get(entry.entryId);
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
  if (!context.isCurrent) return;
  // New rows at the end are appended; anything else means that the view is published anew.
  const inOrder = !before && (head === undefined || head.position < position);
  if (!inOrder) views.markStale(context.conversationId);
  else if (id !== null) context.keeper.append(context.conversationId, [id]);
}

function isHeartbeat(message: unknown): boolean {
  return isAgentMessage(message) && isHeartbeatPrompt(message);
}

function messagesOf(entries: readonly TranscriptEntry[]) {
  return entries.map(({ message }) => (isAgentMessage(message) ? message : undefined));
}
