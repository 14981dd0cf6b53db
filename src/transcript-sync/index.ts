// Makes the store equal to the host's transcript. The transcript is the truth: whatever `commitTurn`
// never delivered (history, steered or killed turns, injected rows, turns on legacy) arrives here.

import { retryWhileBusy } from "../db/connection.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { SessionRef } from "../types.js";
import { recordGaps } from "./gaps.js";
import { ResetDrain } from "./reset-drain.js";
import { isoNow, type SyncDependencies, type SyncLimits } from "./sync-types.js";
import type { FilledEntry } from "./apply-page.js";
import { type DrainOutcome, VisibleDrain } from "./visible-drain.js";

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
  const opened = await retryWhileBusy(() => openSegment(deps, session), limits.busyMs);
  const { conversation, segment } = opened;
  const visible = new VisibleDrain(deps, session, conversation, segment, limits);
  const outcome = await visible.run();
  if (outcome.kind === "current") await new ResetDrain(deps, session, segment, limits).run();
  const isCurrent = outcome.kind === "current";
  await retryWhileBusy(() => finish(deps, opened, visible.unreported, isCurrent), limits.busyMs);
  const report = { outcome: outcome.kind, added: visible.added };
  return outcome.reason === undefined ? report : { ...report, reason: outcome.reason };
}

interface Opened {
  readonly conversation: Conversation;
  readonly segment: Segment;
}

function openSegment(deps: SyncDependencies, session: SessionRef): Opened {
  return findCurrentSegment(deps, session) ?? createSegment(deps, session);
}

/** Most turns go on in the segment of the turn before: then there is nothing to write. */
function findCurrentSegment({ stores }: SyncDependencies, session: SessionRef): Opened | undefined {
  const conversation = stores.conversations.find(session);
  if (conversation?.sessionId !== session.sessionId) return undefined;
  const segment = stores.conversations.segment(conversation.id, session.sessionId);
  return segment && { conversation, segment };
}

function createSegment({ stores, source, now }: SyncDependencies, session: SessionRef): Opened {
  const at = isoNow(now);
  const forkedFrom = source.forkedFrom(session);
  return stores.db.transaction(() => {
    const conversation = stores.conversations.findOrCreate(session, at);
    const segment = stores.conversations.segmentOrCreate(conversation.id, session.sessionId, at);
    if (stores.conversations.makeCurrent(conversation.id, session.sessionId, at)) {
      stores.views.markStale(conversation.id);
    }
    const parent =
      forkedFrom === undefined
        ? undefined
        : stores.conversations.find({ agentId: session.agentId, sessionKey: forkedFrom });
    if (parent) stores.conversations.recordForkSource(conversation.id, parent.id);
    return { conversation, segment };
  });
}

/** Reports what no page did, and publishes the view anew if anything but its end has changed. */
function finish(
  { stores, now }: SyncDependencies,
  { conversation, segment }: Opened,
  unreported: readonly FilledEntry[],
  isCurrent: boolean,
): void {
  const at = isoNow(now);
  const isNew = conversation.bootstrappedAt === null;
  const settles = isCurrent && (isNew || stores.views.isStale(conversation.id));
  if (unreported.length === 0 && !settles) return;
  stores.db.transaction(() => {
    recordGaps(stores, conversation, segment, unreported, at);
    if (!settles) return;
    if (stores.views.isStale(conversation.id)) stores.views.rebuild(conversation.id, segment.id);
    stores.conversations.markBootstrapped(conversation.id, at);
  });
}
