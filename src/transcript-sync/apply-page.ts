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
import type { Segment } from "../store/conversation-store.js";
import type { Receipt } from "../store/receipt-store.js";
import type { Stores } from "../store/index.js";
import type { ConversationId, MessageId, TranscriptEntry } from "../types.js";
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
  readonly segment: Segment;
  /** The view shows this segment; another one's rows must not enter it. */
  readonly isCurrent: boolean;
  readonly policy: HeartbeatPolicy;
  /** Rows of release 0.1.x by the entries they were found to be. */
  readonly aligned: ReadonlyMap<string, MessageId>;
  readonly now: string;
}

/** A committed turn whose rows are being passed, and where in it. */
interface Run {
  readonly receipt: Receipt;
  readonly offset: number;
}

export interface PageResult {
  readonly filled: readonly FilledEntry[];
  /** From the first row of a committed turn on that goes on behind the entries; nothing of it is applied. */
  readonly rest: readonly TranscriptEntry[];
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

/** `goesOn`: there may be more behind the entries, so that a turn cut by their end is waited for. */
export function applyPage(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  goesOn: boolean,
): PageResult {
  const filled: FilledEntry[] = [];
  let run: Run | undefined;
  let buryUntil = 0;
  for (const [index, entry] of entries.entries()) {
    const found = run ?? findRun(context, entries, index, goesOn);
    if (found === "goes on") return { filled, rest: entries.slice(index) };
    run = found;
    if (isHeartbeat(entry.message)) buryUntil = index + skippedLength(context, entries, index);
    const fate = decideFate(context, entry, run, index < buryUntil);
    placeEntry(context, entry, fate.id);
    if (fate.kind === "new") filled.push(fate.filled);
    run = leave(context, run);
  }
  return { filled, rest: [] };
}

/** The committed turn that an entry is part of. */
function findRun(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  index: number,
  goesOn: boolean,
): Run | "goes on" | undefined {
  const candidates = [
    index === 0 ? resumeRun(context, entries) : undefined,
    beginRun(context, entries, index),
  ];
  for (const run of candidates) {
    const proof = run && proveRun(run, entries, index);
    if (proof === "whole") return run;
    if (proof === "goes on" && goesOn) return proof;
  }
  return undefined;
}

/**
 * A commit names only the entries at both ends of its turn. Its rows are met only where both are seen at
 * their distance: what stands between them on a branch is then the same wherever they are. With less, a
 * row of the turn could be given the id of an entry from another branch.
 */
function proveRun(
  { receipt, offset }: Run,
  entries: readonly TranscriptEntry[],
  index: number,
): "whole" | "goes on" | undefined {
  const last = entries[index + receipt.messageCount - 1 - offset];
  if (!last) return "goes on";
  return last.entryId === receipt.lastEntryId ? "whole" : undefined;
}

/** A sync may begin in the middle of a committed turn. The rows before tell which one it is. */
function resumeRun(context: PageContext, entries: readonly TranscriptEntry[]): Run | undefined {
  const { messages, receipts } = context.stores;
  const position = (entries[0] as TranscriptEntry).seq - 1;
  for (let at = position - 1; at >= 0; at -= 1) {
    const place = messages.placeAt(context.segment.id, at);
    if (!place) return undefined;
    const receipt =
      (place.receiptId === null ? undefined : receipts.open(place.receiptId)) ??
      (place.entryId === null ? undefined : receipts.openAt(context.conversationId, place.entryId));
    if (receipt) {
      const offset = (place.receiptOffset ?? 0) + position - at;
      return offset < receipt.messageCount ? { receipt, offset } : undefined;
    }
    // Rows that are not kept know nothing of their turn; its first entry does.
    if (place.messageId !== null) return undefined;
  }
  return undefined;
}

function beginRun(
  context: PageContext,
  entries: readonly TranscriptEntry[],
  index: number,
): Run | undefined {
  const { entryId } = entries[index] as TranscriptEntry;
  const receipt = context.stores.receipts.openAt(context.conversationId, entryId);
  return receipt && { receipt, offset: 0 };
}

function leave(context: PageContext, run: Run | undefined): Run | undefined {
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
  run: Run | undefined,
  isSkipped: boolean,
): Fate {
  const { messages } = context.stores;
  const known = messages.idByEntry(context.conversationId, entry.entryId);
  if (known !== undefined) return { kind: "known", id: known };
  if (messages.hasTombstone(context.conversationId, entry.entryId)) {
    return { kind: "buried", id: null };
  }
  if (isSkipped || run?.receipt.state === "skipped") return bury(context, entry, "heartbeat");
  const claimed = run && messages.idByReceipt(run.receipt.id, run.offset);
  if (claimed !== undefined) {
    messages.setEntryId(claimed, entry.entryId);
    return { kind: "known", id: claimed };
  }
  return insertEntry(context, entry);
}

function bury(context: PageContext, entry: TranscriptEntry, reason: "heartbeat" | "deleted"): Fate {
  const { messages } = context.stores;
  messages.addTombstone(context.conversationId, entry.entryId, reason, context.now);
  return { kind: "buried", id: null };
}

function insertEntry(context: PageContext, entry: TranscriptEntry): Fate {
  const { messages } = context.stores;
  const encoded = encodeAny(entry.message, entry.createdAt ?? context.now);
  const { hiddenBefore } = context.segment;
  if (hiddenBefore !== null && encoded.createdAt <= hiddenBefore) {
    return bury(context, entry, "deleted");
  }
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
  const before = messages.placeAt(context.segment.id, position);
  if (before?.messageId === id) {
    if (before.entryId !== entry.entryId) messages.place(context.segment.id, position, place);
    return;
  }
  if (before) messages.cutFrom(context.segment.id, position);
  const head = messages.head(context.segment.id);
  messages.place(context.segment.id, position, place);
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
