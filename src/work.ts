// One visit to a conversation on behalf of the background, of maintenance or of `/compact`: who may go
// there (a lease), with which model, for how long, and when to come again.

import { renderStyle } from "./assembler/render-summary.js";
import {
  type CompactionContext,
  type ModelContext,
  type WorkOutcome,
  workOn,
} from "./compaction/index.js";
import { currentPolicy } from "./current-policy.js";
import type { LcmConfig } from "./db/config.js";
import { hasEnded, newHolder } from "./lease-holder.js";
import { loadPrompts } from "./prompts/index.js";
import type { Stores } from "./store/index.js";
import { type ModelAccess, modelAccess } from "./summarize/access.js";
import type { CallTiming } from "./summarize/index.js";
import { isoAt } from "./time-format.js";
import type { Clock, ConversationId, Logger, Model, SessionRef } from "./types.js";

export interface WorkDependencies {
  readonly stores: Stores;
  readonly config: LcmConfig;
  /** Undefined where no model can be asked. */
  readonly model: Model | undefined;
  readonly now: Clock;
  readonly log: Logger;
  readonly timing: CallTiming;
}

export interface Visit {
  readonly conversationId: ConversationId;
  readonly mode: "background" | "forced";
  readonly signal: AbortSignal;
  /** No step is begun after so many milliseconds. */
  readonly forMs: number;
  /** Somebody waits for its end: when the time is up not even a step's second call is begun. */
  readonly isWaitedFor?: boolean;
  readonly instructions?: string | undefined;
  /** Who works: no two visits of different holders at once. */
  readonly holder: string;
}

export type VisitOutcome = WorkOutcome | { readonly kind: "taken" };

/** Longer than any single step: two calls of a minute, and what comes around them. */
const LEASE_MS = 150_000;
const NO_MODEL_PAUSE_MS = 3_600_000;

export async function visit(deps: WorkDependencies, visiting: Visit): Promise<VisitOutcome> {
  const { stores, config } = deps;
  const { conversationId, holder, mode } = visiting;
  const conversation = stores.conversations.get(conversationId);
  const context = compactionContext(deps, conversationId, visiting.instructions);
  const isOff = mode === "background" && config.autocompactDisabled;
  if (!conversation || conversation.hiddenAt !== null || !context || isOff) return { kind: "done" };
  // The next complete reading of the transcript derives the view anew, and notes that there is work.
  if (stores.views.state(conversationId).isStale) return { kind: "done" };
  if (mode === "forced") stores.work.revokeLease(conversationId);
  if (!takeLease(deps, visiting)) return { kind: "taken" };
  const end = performance.now() + visiting.forMs;
  // A clock that was put back leaves the last turn in the future.
  const lastUse = Math.min(Date.parse(conversation.updatedAt), deps.now());
  const idleAt = isoAt(lastUse + config.promptCacheMinutes * 60_000);
  const hasTime = (): boolean => performance.now() < end;
  const mayGoOn = (): boolean => hasTime() && takeLease(deps, visiting);
  try {
    const asking = modelContext(deps, visiting, hasTime);
    return await workOn(context, asking, { kind: mode }, { mayGoOn, idleAt });
  } finally {
    stores.db.transaction(() => stores.work.release(conversationId, holder), "relaxed");
  }
}

/** Where there is no worker, a turn's maintenance works this long: the next turn waits for it. */
const SLICE_MS = 15_000;

/**
 * A little of what a worker would do. A call that was begun may end, however slow the model is: one
 * that is cut off was paid for, and would be paid for again after the next turn.
 */
export async function workSlice(
  deps: WorkDependencies,
  session: SessionRef,
  abortSignal: AbortSignal = new AbortController().signal,
  forMs = SLICE_MS,
): Promise<void> {
  const conversation = deps.stores.conversations.find(session);
  if (!conversation) return;
  await visit(deps, {
    conversationId: conversation.id,
    mode: "background",
    signal: abortSignal,
    forMs,
    isWaitedFor: true,
    holder: newHolder(),
  });
}

/** Undefined while the conversation has had no turn with a budget. */
export function compactionContext(
  { stores, config, now }: Pick<WorkDependencies, "stores" | "config" | "now">,
  conversationId: ConversationId,
  instructions?: string,
): CompactionContext | undefined {
  const policy = currentPolicy(stores, config, conversationId);
  if (!policy) return undefined;
  const prompts = loadPrompts(config.promptDir);
  return {
    stores,
    config,
    policy,
    style: renderStyle(config),
    instructions,
    conversationId,
    now,
    prompts,
  };
}

function modelContext(
  deps: WorkDependencies,
  { signal, isWaitedFor = false }: Visit,
  hasTime: () => boolean,
): ModelContext {
  const { config, model, timing, log } = deps;
  const access = (): ModelAccess => currentAccess(deps);
  return {
    model,
    requestedModel: requestedModel(config),
    access,
    mayCall: () => access().allowed && (!isWaitedFor || hasTime()),
    timing,
    signal,
    log,
  };
}

/** `provider/model` as the operator asks for it; empty for the host's own choice. */
export function requestedModel({ summaryModel, summaryProvider }: LcmConfig): string {
  if (summaryModel === "" || summaryProvider === "") return summaryModel;
  // A provider may serve models of others, so a name with a slash need not name its provider.
  const isNamed = summaryModel.startsWith(`${summaryProvider}/`);
  return isNamed ? summaryModel : `${summaryProvider}/${summaryModel}`;
}

export function currentAccess({
  stores,
  config,
  model,
  now,
}: Pick<WorkDependencies, "stores" | "config" | "model" | "now">): ModelAccess {
  if (model) {
    return modelAccess(stores.attempts, config, renderStyle(config).time, isoAt(now()));
  }
  const until = isoAt(now() + NO_MODEL_PAUSE_MS);
  return { allowed: false, reason: "no model can be asked from here", until };
}

function takeLease({ stores, now }: WorkDependencies, { conversationId, holder }: Visit): boolean {
  const { db, work } = stores;
  // The clock is read inside, where nobody else writes: what waited for the lock would come with a
  // time from before the lease it finds.
  const take = (): boolean => {
    const other = work.holderOf(conversationId);
    if (other !== undefined && hasEnded(other)) work.revokeLease(conversationId);
    const at = now();
    const [expiresAt, farthest] = [at + LEASE_MS, at + 2 * LEASE_MS].map(isoAt);
    return work.lease(conversationId, holder, {
      now: isoAt(at),
      expiresAt: expiresAt as string,
      farthest: farthest as string,
    });
  };
  return db.transaction(take, "relaxed");
}
