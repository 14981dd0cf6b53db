// Makes the store equal to the host's transcript. The transcript is the truth: whatever `commitTurn`
// never delivered (history, steered or killed turns, injected rows, turns on legacy) arrives here.

import { retryWhileBusy } from "../db/connection.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { MessageId, SessionRef } from "../types.js";
import type { FilledEntry } from "./apply-page.js";
import { recordGaps } from "./gaps.js";
import { planAlignment } from "./plan-alignment.js";
import { ResetDrain } from "./reset-drain.js";
import {
  type DrainOutcome,
  isoNow,
  startBudget,
  type SyncDependencies,
  type SyncLimits,
} from "./sync-types.js";
import { VisibleDrain } from "./visible-drain.js";

export type { SyncLimits } from "./sync-types.js";

export interface SyncReport {
  readonly outcome: DrainOutcome["kind"];
  /** Messages that were not in the store before. */
  readonly added: number;
  readonly reason?: string;
}

export async function syncTranscript(
  deps: SyncDependencies,
  session: SessionRef,
  limits: SyncLimits,
): Promise<SyncReport> {
  const budget = startBudget(limits);
  const opened = await retryWhileBusy(() => openSegment(deps, session), budget.busyMs);
  if (!opened) return { outcome: "missing", added: 0, reason: "the session was deleted" };
  const { conversation, segment } = opened;
  const aligned = await findAligned(deps, session, conversation);
  if (!aligned)
    return { outcome: "unavailable", added: 0, reason: "the transcript can not be read" };

  const visible = new VisibleDrain(deps, { session, ...opened, aligned }, budget);
  const read = await visible.run();
  const resets: DrainOutcome =
    read.kind === "current"
      ? await new ResetDrain(deps, session, segment, budget).run()
      : { kind: read.kind };
  const isThrough = read.kind === "current" && resets.kind !== "partial";
  await retryWhileBusy(() => finish(deps, opened, visible.unreported, isThrough), budget.busyMs);
  const outcome = resets.kind === "partial" ? "partial" : read.kind;
  const report = { outcome, added: visible.added };
  return read.reason === undefined ? report : { ...report, reason: read.reason };
}

interface Opened {
  readonly conversation: Conversation;
  readonly segment: Segment;
}

/** Undefined for a session that was deleted: its transcript must not bring it back. */
function openSegment(deps: SyncDependencies, session: SessionRef): Opened | undefined {
  return findCurrentSegment(deps, session) ?? createSegment(deps, session);
}

/** Most turns go on in the segment of the turn before: then there is nothing to write. */
function findCurrentSegment({ stores }: SyncDependencies, session: SessionRef): Opened | undefined {
  const conversation = stores.conversations.find(session);
  if (conversation?.sessionId !== session.sessionId) return undefined;
  const segment = stores.conversations.segment(conversation.id, session.sessionId);
  return segment && { conversation, segment };
}

function createSegment(
  { stores, source, now }: SyncDependencies,
  session: SessionRef,
): Opened | undefined {
  const at = isoNow(now);
  const forkedFrom = source.forkedFrom(session);
  const { conversations, views } = stores;
  return stores.db.transaction(() => {
    const known = conversations.find(session);
    const isKnown = known && conversations.segment(known.id, session.sessionId) !== undefined;
    if (!isKnown && conversations.hiddenOwner(session)) return undefined;
    const conversation = conversations.findOrCreate(session, at);
    const segment = conversations.segmentOrCreate(conversation.id, session.sessionId, at);
    if (conversations.makeCurrent(conversation.id, session.sessionId, at)) {
      views.markStale(conversation.id);
    }
    const parent =
      forkedFrom === undefined
        ? undefined
        : conversations.find({ agentId: session.agentId, sessionKey: forkedFrom });
    if (parent) conversations.recordForkSource(conversation.id, parent.id);
    return { conversation, segment };
  });
}

async function findAligned(
  deps: SyncDependencies,
  session: SessionRef,
  conversation: Conversation,
): Promise<ReadonlyMap<string, MessageId> | undefined> {
  if (!deps.stores.conversations.isUnaligned(conversation.id)) return new Map();
  return planAlignment(deps, session, conversation);
}

/** Reports what no page did, and publishes the view anew if anything but its end has changed. */
function finish(
  { stores, keeper, now }: SyncDependencies,
  { conversation, segment }: Opened,
  unreported: readonly FilledEntry[],
  isThrough: boolean,
): void {
  const at = isoNow(now);
  const { conversations, views } = stores;
  const isNew = conversation.bootstrappedAt === null;
  const settles = isThrough && (isNew || views.state(conversation.id).isStale);
  if (unreported.length === 0 && !settles) return;
  stores.db.transaction(() => {
    recordGaps(stores, conversation, segment, unreported, at);
    if (!settles) return;
    const isShown = conversations.isCurrent(conversation.id, segment.sessionId);
    if (isShown && views.state(conversation.id).isStale)
      keeper.rebuild(conversation.id, segment.id, at);
    conversations.markBootstrapped(conversation.id, at);
  });
}
