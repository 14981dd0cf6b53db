// Makes the store equal to the host's transcript. The transcript is the truth: whatever `commitTurn`
// never delivered (history, steered or killed turns, injected rows, turns on legacy) arrives here.

import { retryWhileBusy } from "../db/connection.js";
import { copyParentsNodes } from "../fork-nodes.js";
import { meetSession } from "../meet-session.js";
import { isDeleted } from "../missed-deletions.js";
import { beginSession, followSession, type OpenSession } from "../open-session.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { Stores } from "../store/index.js";
import type { SessionRef } from "../types.js";
import type { FilledEntry } from "./apply-page.js";
import { recordGaps } from "./gaps.js";
import { drainLeft } from "./left-drain.js";
import { planAlignment } from "./plan-alignment.js";
import { ResetDrain } from "./reset-drain.js";
import {
  type Budget,
  type DrainOutcome,
  isoNow,
  startBudget,
  type SyncDependencies,
  type SyncLimits,
  type SyncReport,
} from "./sync-types.js";
import { VisibleDrain } from "./visible-drain.js";

export type { SyncLimits, SyncReport } from "./sync-types.js";

const NOT_READ = "the transcript can not be read";
const DELETED: SyncReport = { outcome: "missing", added: 0, reason: "the session was deleted" };

/** What a sync is for: `begin` before a turn of the session, which the view then shows. */
export type SyncPurpose = "begin" | "follow";

export async function syncTranscript(
  deps: SyncDependencies,
  session: SessionRef,
  limits: SyncLimits,
  purpose: SyncPurpose,
): Promise<SyncReport> {
  const budget = startBudget(limits);
  const isNew = !deps.stores.conversations.find(session);
  if (purpose === "begin" || isNew) await meetSession(deps, session, budget.busyMs);
  const opened = await retryWhileBusy(() => openSession(deps, session, purpose), budget.busyMs);
  if (!opened) return DELETED;
  const { conversation } = opened;
  // What a branch was cut from is read before the branch: only there are its turns whole.
  const left = await drainLeft(deps, session, conversation, budget);
  const isCurrent = deps.stores.conversations.isCurrent(conversation.id, session.sessionId);
  if (left.outcome === "partial" || !isCurrent) return left;
  const current = await drainCurrent(deps, session, opened, budget);
  return { ...current, added: left.added + current.added };
}

function openSession(
  deps: SyncDependencies,
  session: SessionRef,
  purpose: SyncPurpose,
): OpenSession | undefined {
  const at = isoNow(deps.now);
  const open = purpose === "begin" ? beginSession : followSession;
  const opened =
    findCurrent(deps, session) ?? deps.stores.db.transaction(() => open(deps, session, at));
  if (opened) linkToParent(deps, session, opened.conversation);
  return opened;
}

/** Most turns go on in a segment that was read before: then there is nothing to write. */
function findCurrent({ stores }: SyncDependencies, session: SessionRef): OpenSession | undefined {
  const conversation = stores.conversations.find(session);
  if (conversation?.sessionId !== session.sessionId) return undefined;
  const segment = stores.conversations.segment(conversation.id, session.sessionId);
  return segment && segment.visibleCursor !== null ? { conversation, segment } : undefined;
}

/** Tried at every sync until one is through: neither the store nor the parent need be there at first. */
function linkToParent(
  { stores, source }: SyncDependencies,
  session: SessionRef,
  { id, forkedFrom, bootstrappedAt }: Conversation,
): void {
  if (forkedFrom !== null || bootstrappedAt !== null) return;
  const entry = source.entry(session);
  if (entry.kind !== "found" || entry.forkedFrom === undefined) return;
  const { agentId } = session;
  const parent = stores.conversations.find({ agentId, sessionKey: entry.forkedFrom });
  if (parent) stores.conversations.recordForkSource(id, parent.id);
}

async function drainCurrent(
  deps: SyncDependencies,
  session: SessionRef,
  opened: OpenSession,
  budget: Budget,
): Promise<SyncReport> {
  const target = { session, ...opened };
  const { kind } = await planAlignment(deps, target, budget);
  if (kind === "partial") return { outcome: kind, added: 0 };
  if (kind !== "current") return { outcome: kind, added: 0, reason: NOT_READ };
  const visible = new VisibleDrain(deps, target, budget);
  const read = await visible.run();
  if (read.kind === "missing" && isDeleted(deps, session, opened.segment)) {
    const hide = () => deps.stores.conversations.hide(session, isoNow(deps.now));
    await retryWhileBusy(hide, budget.busyMs);
    return DELETED;
  }
  const resets: DrainOutcome =
    read.kind === "current"
      ? await new ResetDrain(deps, session, opened.segment, budget).run()
      : { kind: read.kind };
  const isThrough = read.kind === "current" && resets.kind !== "partial";
  await retryWhileBusy(() => finish(deps, opened, visible.unreported, isThrough), budget.busyMs);
  const outcome = resets.kind === "partial" ? "partial" : read.kind;
  const report = { outcome, added: visible.added };
  return read.reason === undefined ? report : { ...report, reason: read.reason };
}

/** Reports what no page did, and publishes the view anew if anything but its end has changed. */
function finish(
  { stores, keeper, now }: SyncDependencies,
  { conversation, segment }: OpenSession,
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
    if (isNew) inherit(stores, conversation, segment, at);
    const isShown = conversations.isCurrent(conversation.id, segment.sessionId);
    if (isShown && views.state(conversation.id).isStale)
      keeper.rebuild(conversation.id, segment.id, at);
    conversations.markBootstrapped(conversation.id, at);
  });
}

/** A fork whose branch was just read for the first time takes over its parent's nodes. */
function inherit(stores: Stores, { id }: Conversation, segment: Segment, at: string): void {
  const parent = stores.conversations.get(id)?.forkedFrom;
  if (parent === undefined || parent === null) return;
  const copied = copyParentsNodes(stores, { child: id, parent, segment: segment.id }, at);
  if (copied > 0) stores.views.markStale(id);
}
