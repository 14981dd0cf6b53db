// Works on one conversation: makes the nodes that are due, publishes them when it is time, and mends
// marked ones. Every change is a transaction of its own, so it can be stopped and taken up anywhere.

import type { Summary } from "../store/summary-store.js";
import { pause } from "../summarize/index.js";
import { isoAt } from "../time-format.js";
import type { SummaryId } from "../types.js";
import type { ViewPolicy } from "../view-policy.js";
import { isPrepared } from "./frontier.js";
import { heal, nodesToHeal } from "./heal.js";
import { type LoadedState, loadState } from "./load-state.js";
import { type CompactionContext, makeNode, makeNodeNow, type ModelContext } from "./make-node.js";
import { type Mode, needsSpace, nextStep, publishedTokens, type Step } from "./plan.js";
import { publish, type PublishResult } from "./publish.js";

export type { CompactionContext, ModelContext } from "./make-node.js";
export { publish } from "./publish.js";

export interface Limits {
  /** Asked before every model call: false when the lease was lost or the time is up. */
  readonly mayGoOn: () => boolean;
  /** From then on no provider has the conversation's prompt in its cache. */
  readonly idleAt: string;
}

export type WorkOutcome =
  | { readonly kind: "done" }
  /** Told to stop, or out of time; there may be more to do. */
  | { readonly kind: "stopped" }
  /** There is more to do then: a model may be asked again, or the conversation is idle. */
  | { readonly kind: "waiting"; readonly until: string };

/** A fold hides what is published under it, so it need not be saved up for one publish. */
const PUBLISH_UNDER_FOLD = 4;
/** A publish frees at least this part of the threshold, but where the budget is nearly full. */
const WORTHWHILE = 0.2;
/** Marked nodes that could not be healed are tried again this much later, or after the next turn. */
const HEALING_PAUSE_MS = 60_000;
/** Deterministic nodes that one emergency makes; the rest is folded when the view is assembled. */
const MOST_EMERGENCY_NODES = 16;

export async function workOn(
  context: CompactionContext,
  asking: ModelContext,
  mode: WorkMode,
  limits: Limits,
): Promise<WorkOutcome> {
  const visit: Visit = { hopeless: new Set(), aside: new Set() };
  for (let calls = 0; ; calls += 1) {
    if (calls > 0) await pause(asking.timing.gapMs, asking.signal);
    if (asking.signal.aborted || !limits.mayGoOn()) return { kind: "stopped" };
    const work = nextWork(context, asking, mode, limits, visit);
    if (work.kind === "done" || work.kind === "waiting") return work;
    const isStopped =
      work.kind === "node"
        ? await tryNode(context, asking, work, visit)
        : await tryHealing(context, asking, work.node, visit);
    if (isStopped) return { kind: "stopped" };
  }
}

type WorkMode = Exclude<Mode, { kind: "emergency" }>;

/** What a visit has learned. */
interface Visit {
  readonly hopeless: Set<unknown>;
  /** Marked nodes that the model has just failed at: they wait for another visit. */
  readonly aside: Set<SummaryId>;
}

async function tryNode(
  context: CompactionContext,
  asking: ModelContext,
  { state, step }: Extract<Work, { kind: "node" }>,
  visit: Visit,
): Promise<boolean> {
  const outcome = await makeNode(context, asking, state, step);
  // Whatever kept it from being made, the same step again would end the same.
  if (outcome.kind !== "made") for (const ref of refsOf(step)) visit.hopeless.add(ref);
  else if (outcome.level === "deterministic") visit.aside.add(outcome.id);
  return outcome.kind === "aborted";
}

async function tryHealing(
  context: CompactionContext,
  asking: ModelContext,
  node: Summary,
  visit: Visit,
): Promise<boolean> {
  const outcome = await heal(context, asking, node);
  if (outcome === "failed") visit.aside.add(node.id);
  return outcome === "aborted";
}

type Work =
  | { readonly kind: "node"; readonly state: LoadedState; readonly step: Step }
  | { readonly kind: "heal"; readonly node: Summary }
  | Exclude<WorkOutcome, { kind: "stopped" }>;

/** Publishes what it is time for, and tells what a model is to be asked next. */
function nextWork(
  context: CompactionContext,
  asking: ModelContext,
  mode: WorkMode,
  limits: Limits,
  { hopeless, aside }: Visit,
): Work {
  const access = asking.access();
  let state = load(context, hopeless);
  let step = nextStep(state, context.policy, mode);
  if (isTimeToPublish(context, state, mode, limits, { hasMore: step !== undefined, access })) {
    publishNow(context);
    state = load(context, hopeless);
    step = nextStep(state, context.policy, mode);
  }
  const isNeeded = mode.kind === "forced" || needsSpace(state, context.policy);
  if (step && (access.allowed || isNeeded)) return { kind: "node", state, step };
  const marked = nodesToHeal(context, asking.requestedModel);
  const node = marked.find(({ id }) => !aside.has(id));
  if (node && access.allowed) return { kind: "heal", node };
  if ((marked.length > 0 || step) && !access.allowed) {
    return { kind: "waiting", until: access.until };
  }
  if (marked.length > 0) return { kind: "waiting", until: isoAt(context.now() + HEALING_PAUSE_MS) };
  const isSavedUp = canPublish(state) && isAboveHalf(state, context.policy);
  const isIdle = limits.idleAt <= isoAt(context.now());
  return isSavedUp && !isIdle ? { kind: "waiting", until: limits.idleAt } : { kind: "done" };
}

function isTimeToPublish(
  { stores, conversationId, policy, now }: CompactionContext,
  state: LoadedState,
  mode: Mode,
  { idleAt }: Limits,
  { hasMore, access }: { hasMore: boolean; access: { allowed: boolean } },
): boolean {
  if (mode.kind === "forced") return !hasMore && canPublish(state);
  if (needsSpace(state, policy)) {
    // A sweep publishes once, at its end; without a model the view is helped first.
    if (!hasMore || !access.allowed) return isWorthwhile(state, policy);
    return (
      stores.views.fold(conversationId) !== undefined &&
      state.elements.filter((one) => isPrepared(one, state.outside)).length >= PUBLISH_UNDER_FOLD
    );
  }
  const isIdle = idleAt <= isoAt(now());
  return isIdle && !hasMore && canPublish(state) && isAboveHalf(state, policy);
}

/**
 * Every publish breaks a provider's prompt cache, so one that frees little waits for more while the
 * budget has room beyond the threshold.
 */
function isWorthwhile(state: LoadedState, { threshold, nearlyFull }: ViewPolicy): boolean {
  const saved = state.viewTokens - publishedTokens(state);
  return saved >= WORTHWHILE * threshold || (saved > 0 && state.viewTokens > nearlyFull);
}

/** Something shorter or better than what is shown is ready. */
function canPublish(state: LoadedState): boolean {
  return publishedTokens(state) < state.viewTokens || state.graph.successors.size > 0;
}

function isAboveHalf({ viewTokens }: LoadedState, { threshold }: ViewPolicy): boolean {
  return viewTokens > threshold / 2;
}

/** Frees space with no model and without waiting: what is prepared, stubs, then the last level. */
export function emergency(context: CompactionContext, target: number): PublishResult {
  const tokensBefore = context.stores.views.state(context.conversationId).tokens;
  const hopeless = new Set<unknown>();
  for (let made = 0; made < MOST_EMERGENCY_NODES;) {
    const state = load(context, hopeless);
    const step = nextStep(state, context.policy, { kind: "emergency", target });
    if (!step) break;
    const outcome = makeNodeNow(context, state, step);
    if (outcome.kind === "made") made += 1;
    else for (const ref of refsOf(step)) hopeless.add(ref);
  }
  return { ...publishNow(context), tokensBefore };
}

function load(context: CompactionContext, hopeless: ReadonlySet<unknown>): LoadedState {
  return loadState(context.stores, context.conversationId, { ...context, hopeless });
}

function publishNow(context: CompactionContext): PublishResult {
  const { stores, conversationId, now } = context;
  return publish(stores, conversationId, context, isoAt(now()));
}

function refsOf(step: Step): readonly unknown[] {
  return step.kind === "leaf" ? step.messages.map(({ messageId }) => messageId) : step.sources;
}
