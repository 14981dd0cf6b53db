// Carries out one step of a plan: has the sources summarized with no transaction open, and stores the
// result as a prepared node if its place is still free.

import type { AttemptStore } from "../store/attempt-store.js";
import type { Sources, SummaryLevel } from "../store/summary-store.js";
import {
  type CallTiming,
  summarize,
  type SummaryResult,
  type SummaryTask,
  withoutModel,
} from "../summarize/index.js";
import type { ModelAccess } from "../summarize/access.js";
import type { PromptSet } from "../prompts/index.js";
import { isoAt } from "../time-format.js";
import type { Clock, ConversationId, Logger, MessageId, Model, SummaryId } from "../types.js";
import { type LoadedState, loadState } from "./load-state.js";
import {
  condensedRequest,
  leafRequest,
  type NodeContext,
  type NodeRequest,
} from "./node-request.js";
import type { Step } from "./plan.js";
import { leastTokens } from "./view-items.js";

export interface CompactionContext extends NodeContext {
  readonly conversationId: ConversationId;
  readonly now: Clock;
  readonly prompts: PromptSet;
}

/** How a model is asked. */
export interface ModelContext {
  readonly model: Model | undefined;
  /** Empty for the host's own choice. */
  readonly requestedModel: string;
  readonly access: () => ModelAccess;
  /** Asked before every call, also before the second one of a step. */
  readonly mayCall: () => boolean;
  readonly timing: CallTiming;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export type NodeOutcome =
  | { readonly kind: "made"; readonly id: SummaryId; readonly level: SummaryLevel }
  | { readonly kind: "aborted" }
  /** Somebody else made a node there meanwhile, or the branch moved. */
  | { readonly kind: "stale" }
  /** Its sources are too short to be said in less. */
  | { readonly kind: "hopeless" };

type Written = Extract<SummaryResult, { kind: "written" }>;

export async function makeNode(
  context: CompactionContext,
  asking: ModelContext,
  state: LoadedState,
  step: Step,
): Promise<NodeOutcome> {
  const request = requestFor(context, state, step);
  const result = await ask(context, asking, request.task, null);
  return result.kind === "written" ? storeNode(context, request, result) : result;
}

/** The same with no model, and without waiting for anything. */
export function makeNodeNow(
  context: CompactionContext,
  state: LoadedState,
  step: Step,
): NodeOutcome {
  const request = requestFor(context, state, step);
  const result = withoutModel(request.task);
  return result.kind === "written" ? storeNode(context, request, result) : result;
}

/** `heals` is the node that the answer is to supersede, if any. */
export function ask(
  { stores, conversationId, prompts, now }: CompactionContext,
  { model, requestedModel, mayCall, timing, signal, log }: ModelContext,
  task: SummaryTask,
  heals: SummaryId | null,
): Promise<SummaryResult> {
  const { db, attempts } = stores;
  const at = (): string => isoAt(now());
  const shared = { conversationId, heals, requestedModel, promptVersion: prompts.version };
  return summarize(task, {
    model,
    requestedModel,
    prompts,
    timing,
    signal,
    mayCall,
    begin: (attempt) =>
      db.transaction(() => attempts.begin({ ...shared, ...attempt }, at()), "relaxed"),
    end: (attempt, end) => {
      if (end.outcome === "refused") sayOnce(log, attempts, end.detail);
      db.transaction(() => attempts.end(attempt, end, at()), "relaxed");
    },
  });
}

/** Only the operator can end it, and it is met again with every call: said where it is the first one. */
function sayOnce(log: Logger, attempts: AttemptStore, refusal = ""): void {
  if (attempts.recent(1)[0]?.detail === refusal) return;
  log.warn(`summaries are written without a model: ${refusal}`);
}

function requestFor(context: CompactionContext, state: LoadedState, step: Step): NodeRequest {
  const { conversationId } = context;
  if (step.kind === "leaf") {
    const ids = step.messages.map(({ messageId }) => messageId);
    const shownTokens = step.messages.reduce((sum, item) => sum + leastTokens(item), 0);
    const place = { conversationId, shownTokens, before: textsBefore(state, ids[0]) };
    return leafRequest(context, place, ids);
  }
  const wanted = new Set<unknown>(step.sources);
  const shownTokens = state.elements
    .filter(({ ref }) => wanted.has(ref))
    .reduce((sum, { tokens }) => sum + tokens, 0);
  const place = { conversationId, shownTokens, before: textsBefore(state, step.sources[0]) };
  return condensedRequest(context, place, step.sources);
}

const NODES_BEFORE = 2;

function textsBefore(state: LoadedState, ref: MessageId | SummaryId | undefined): string[] {
  const at = state.elements.findIndex((element) => element.ref === ref);
  return state.elements
    .slice(0, Math.max(0, at))
    .filter(({ depth }) => depth >= 0)
    .slice(-NODES_BEFORE)
    .map(({ ref: id }) => state.summaries.get(id as SummaryId)?.content)
    .filter((content) => content !== undefined);
}

function storeNode(context: CompactionContext, request: NodeRequest, result: Written): NodeOutcome {
  const { stores, conversationId } = context;
  return stores.db.transaction((): NodeOutcome => {
    const state = loadState(stores, conversationId, context);
    if (!isFree(state, request.sources)) {
      if (result.attempt !== null) stores.attempts.settle(result.attempt, "stale");
      return { kind: "stale" };
    }
    return { kind: "made", id: insertNode(context, request, result), level: result.level };
  });
}

/** Assumes the caller's transaction. */
export function insertNode(
  { stores, prompts, now }: CompactionContext,
  { facts, sources }: NodeRequest,
  { content, tokens, level, model, attempt }: Written,
): SummaryId {
  const summary = { ...facts, content, tokens, level, model, promptVersion: prompts.version };
  const id = stores.summaries.insert(summary, sources, isoAt(now()));
  if (attempt !== null) stores.attempts.settle(attempt, { summaryId: id });
  return id;
}

/** The sources still stand together in the view, and no node covers them yet. */
function isFree({ elements }: LoadedState, sources: Sources): boolean {
  const refs: readonly unknown[] = sources.kind === "leaf" ? sources.messages : sources.summaries;
  const at = elements.findIndex(({ ref }) => ref === refs[0]);
  return at >= 0 && refs.every((ref, offset) => elements[at + offset]?.ref === ref);
}
