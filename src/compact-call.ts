// The host's `compact()`. `/compact` may ask a model; a budget that is too small or an overflow needs
// space now, and gets it from the database alone.

import { type CompactionContext, emergency, publish } from "./compaction/index.js";
import { ratioFor } from "./current-policy.js";
import { type CompactCall, tokenCount } from "./host-calls.js";
import { newHolder } from "./lease-holder.js";
import type { Stores } from "./store/index.js";
import { isoAt } from "./time-format.js";
import type { ConversationId } from "./types.js";
import type { ViewPolicy } from "./view-policy.js";
import { compactionContext, visit, type WorkDependencies } from "./work.js";

export interface CompactAnswer {
  readonly ok: boolean;
  readonly compacted: boolean;
  readonly reason?: string;
  readonly result?: {
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    readonly details?: unknown;
  };
}

/**
 * The host reads reasons: only an answer that says "nothing to compact" or "below threshold" lets it go
 * on with a turn that wanted space; any other refusal ends the turn.
 */
export const NOTHING_STORED: CompactAnswer = {
  ok: true,
  compacted: false,
  reason: "nothing to compact: nothing of this session is stored yet",
};

/** What came of it, as the end of a sentence. */
export function inWords({ reason, result }: CompactAnswer): string {
  if (!result) return reason ?? "nothing was done";
  return `${result.tokensBefore} tokens became ${result.tokensAfter}`;
}

/** The host gives up on a compaction after three minutes. */
const MANUAL_MS = 150_000;
/** What an overflow aims for: so much of the threshold, and less with every further try. */
const OVERFLOW_SHARE = 0.5;
/** What `/compact` aims for when the model takes too long: so much of the view or of the threshold. */
const CUT_SHORT_SHARE = 0.5;
const NEXT_TRY_SHARE = 0.6;

/** A call of the model that is still under way after `withinMs` is cut off. */
export async function compactByHand(
  deps: WorkDependencies,
  conversationId: ConversationId,
  call: CompactCall,
  withinMs = MANUAL_MS,
): Promise<CompactAnswer> {
  const { stores } = deps;
  const { customInstructions: instructions, abortSignal } = call;
  noteSmallerWindow(stores, conversationId, call);
  const context = compactionContext(deps, conversationId, instructions);
  if (!context) return NOTHING_STORED;
  const before = stores.views.state(conversationId).tokens;
  const outcome = await visit(deps, {
    conversationId,
    mode: "forced",
    signal: AbortSignal.any([AbortSignal.timeout(withinMs), ...(abortSignal ? [abortSignal] : [])]),
    forMs: withinMs,
    instructions,
    holder: newHolder(),
  });
  const isCutShort = outcome.kind === "stopped";
  if (isCutShort) {
    emergency(context, Math.floor(CUT_SHORT_SHARE * Math.min(before, context.policy.threshold)));
  } else {
    publish(stores, conversationId, context, isoAt(deps.now()));
  }
  const left = isCutShort ? "the rest is done in the background" : undefined;
  return answer(deps, conversationId, before, left);
}

export function compactNow(
  deps: Pick<WorkDependencies, "stores" | "config" | "now">,
  conversationId: ConversationId,
  call: CompactCall,
): CompactAnswer & { readonly target?: number } {
  noteSmallerWindow(deps.stores, conversationId, call);
  const context = compactionContext(deps, conversationId);
  if (!context) return NOTHING_STORED;
  const before = deps.stores.views.state(conversationId).tokens;
  const target = targetFor(deps, conversationId, call, context.policy, before);
  if (before <= target) return { ok: true, compacted: false, reason: "below threshold" };
  // A budget that is exceeded is no emergency yet: what is prepared may do until the background has
  // made more, which is better than anything written without a model.
  const isPatient = call.runtimeContext?.trigger !== "overflow";
  if (isPatient && publishEnough(context)) return answer(deps, conversationId, before, undefined);
  emergency(context, target);
  // Whatever could not be made shorter is folded when the turn goes on.
  return { ...answer(deps, conversationId, before, undefined, target), target };
}

/**
 * After a switch to a smaller model the host demands space before the first turn that tells its budget:
 * until then what the last turn had is taken to shrink with the window.
 */
function noteSmallerWindow(
  { db, conversations }: Stores,
  conversationId: ConversationId,
  { tokenBudget }: CompactCall,
): void {
  const window = tokenCount(tokenBudget);
  const { contextWindow, budgetBase } = conversations.turnFacts(conversationId);
  if (window === undefined || contextWindow === null || budgetBase === null) return;
  if (window >= contextWindow) return;
  const facts = {
    contextWindow: window,
    budgetBase: Math.max(1, Math.floor((budgetBase * window) / contextWindow)),
  };
  db.transaction(() => conversations.recordTurnFacts(conversationId, facts), "relaxed");
}

/** Publishes what is prepared. True when that leaves a turn its room. */
function publishEnough(context: CompactionContext): boolean {
  const { stores, conversationId, policy, now } = context;
  const { changed, tokensAfter } = publish(stores, conversationId, context, isoAt(now()));
  return changed && tokensAfter <= policy.nearlyFull;
}

/** In our tokens. */
function targetFor(
  { stores }: Pick<WorkDependencies, "stores">,
  conversationId: ConversationId,
  call: CompactCall,
  { threshold, base }: ViewPolicy,
  view: number,
): number {
  const { trigger, attempt } = call.runtimeContext ?? {};
  if (trigger !== "overflow") return threshold;
  const ratio = ratioFor(stores, stores.conversations.turnFacts(conversationId).model);
  const [used, window] = [tokenCount(call.currentTokenCount), tokenCount(call.tokenBudget)];
  const excess =
    used === undefined || window === undefined ? 0 : Math.max(0, used - window) / ratio;
  const tries = (tokenCount(attempt) ?? 1) - 1;
  const room = Math.min(threshold * OVERFLOW_SHARE, view - excess - base / 10);
  return Math.max(1, Math.floor(room * NEXT_TRY_SHARE ** tries));
}

/** Honest numbers, in the model's tokens. `cap`: what the next view is folded to at the latest. */
function answer(
  { stores }: Pick<WorkDependencies, "stores">,
  conversationId: ConversationId,
  before: number,
  note: string | undefined,
  cap = Number.POSITIVE_INFINITY,
): CompactAnswer {
  const after = Math.min(stores.views.state(conversationId).tokens, cap);
  const reason = note === undefined ? {} : { reason: note };
  if (after >= before) {
    return {
      ok: true,
      compacted: false,
      reason: note ?? "nothing to compact: the view is as short as it can be",
    };
  }
  const ratio = ratioFor(stores, stores.conversations.turnFacts(conversationId).model);
  const [tokensBefore, tokensAfter] = [before, after].map((tokens) => Math.round(tokens * ratio));
  return {
    ok: true,
    compacted: true,
    ...reason,
    result: { tokensBefore: tokensBefore as number, tokensAfter: tokensAfter as number },
  };
}
