// Reads the sessions of a key that are not current any more to their ends. What no commit delivered
// before a rewind, a switch or a reset stands only there; the host keeps them readable.

import { retryWhileBusy } from "../db/connection.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { LeftSegment } from "../store/left-segment-store.js";
import type { SessionRef } from "../types.js";
import type { FilledEntry } from "./apply-page.js";
import { recordGaps } from "./gaps.js";
import { planAlignment } from "./plan-alignment.js";
import { type Budget, isoNow, type SyncDependencies, type SyncReport } from "./sync-types.js";
import { type DrainTarget, VisibleDrain } from "./visible-drain.js";

/** `current` when none is left but what can not be read now; the next sync tries that again. */
export async function drainLeft(
  deps: SyncDependencies,
  session: SessionRef,
  conversation: Conversation,
  budget: Budget,
): Promise<SyncReport> {
  const { left } = deps.stores;
  let added = 0;
  let segment = left.next(conversation.id, 0);
  while (segment) {
    const drained = await drainOne(deps, session, conversation, segment, budget);
    added += drained.added;
    if (drained.outcome === "partial") return { outcome: "partial", added };
    segment = left.next(conversation.id, segment.id);
    if (segment && budget.isSpent()) return { outcome: "partial", added };
  }
  return { outcome: "current", added };
}

async function drainOne(
  deps: SyncDependencies,
  { agentId, sessionKey }: SessionRef,
  conversation: Conversation,
  left: LeftSegment,
  budget: Budget,
): Promise<SyncReport> {
  const { sessionId } = left;
  const session = { agentId, sessionKey, sessionId };
  const segment = deps.stores.conversations.segment(conversation.id, sessionId) as Segment;
  const { outcome, added, unreported } = await read(
    deps,
    { session, conversation, segment },
    budget,
  );
  const finish = (): void => {
    const isThrough = outcome === "current" || outcome === "missing";
    if (unreported.length === 0 && !isThrough) return;
    deps.stores.db.transaction(() => {
      recordGaps(deps.stores, conversation, segment, unreported, isoNow(deps.now));
      if (isThrough) deps.stores.left.settle(left);
    });
  };
  await retryWhileBusy(finish, budget.busyMs);
  return { outcome, added };
}

async function read(
  deps: SyncDependencies,
  target: DrainTarget,
  budget: Budget,
): Promise<SyncReport & { readonly unreported: readonly FilledEntry[] }> {
  const plan = await planAlignment(deps, target, budget);
  if (plan.kind !== "current") return { outcome: plan.kind, added: 0, unreported: [] };
  const visible = new VisibleDrain(deps, target, budget);
  const { kind } = await visible.run();
  return { outcome: kind, added: visible.added, unreported: visible.unreported };
}
