// What the view of a conversation is made of, what it still waits for, and what summaries cost.

import { renderStyle } from "./assembler/render-summary.js";
import { isPrepared } from "./compaction/frontier.js";
import { loadState } from "./compaction/load-state.js";
import { rawRuns } from "./compaction/plan.js";
import { isMessage, totalTokens } from "./compaction/view-items.js";
import { currentPolicy } from "./current-policy.js";
import type { LcmConfig } from "./db/config.js";
import type { Spend } from "./store/attempt-store.js";
import type { Stores } from "./store/index.js";
import type { ModelAccess } from "./summarize/access.js";
import { isoAt } from "./time-format.js";
import type { Clock, ConversationId } from "./types.js";
import { currentAccess } from "./work.js";

export interface Part {
  readonly count: number;
  readonly tokens: number;
}

export interface ContextStatus {
  /** What the model leaves for history, in our tokens. */
  readonly budget: number;
  /** The view is compacted beyond this. */
  readonly threshold: number;
  /** Of the whole view, folded or not. */
  readonly tokens: number;
  readonly version: number;
  /** False while the model gets OpenClaw's own messages. */
  readonly isShown: boolean;
  readonly tail: Part;
  /** Messages outside the tail that are shown in full. */
  readonly raw: Part;
  readonly stubs: Part;
  readonly references: Part;
  readonly summaries: readonly (Part & { readonly depth: number })[];
  /** The stretch that does not fit and is shown as a pointer, if any. */
  readonly folded: Part | null;
  /** Nodes that are made and wait to be published. */
  readonly prepared: number;
  readonly debt: Debt;
}

/** Messages outside the tail that no summary covers yet, and what covering them would take. */
export interface Debt extends Part {
  readonly calls: number;
  /** Null while the host has told no price. */
  readonly costUsd: number | null;
}

export interface SummaryStatus {
  readonly today: Spend;
  readonly limits: { readonly tokens: number; readonly costUsd: number };
  readonly access: ModelAccess;
}

/** Null while no turn has told a budget. */
export function contextStatus(
  stores: Stores,
  config: LcmConfig,
  conversationId: ConversationId,
): ContextStatus | null {
  const policy = currentPolicy(stores, config, conversationId);
  if (!policy) return null;
  const { views, attempts } = stores;
  const state = loadState(stores, conversationId, { policy, style: renderStyle(config) });
  const { version, tokens, isShown } = views.state(conversationId);
  const rows = views.breakdown(conversationId);
  const messages = (form: string): Part =>
    rows.find((row) => row.depth === null && row.form === form) ?? { count: 0, tokens: 0 };
  const full = messages("full");
  const tail = part(state.tail);
  const fullTail = part(state.tail.filter((item) => isMessage(item) && item.form === "full"));
  const raw = rawRuns(state).flat();
  const debtTokens = raw.reduce((sum, { item }) => sum + item.tokens, 0);
  const price = attempts.pricePerToken();
  return {
    budget: policy.base,
    threshold: policy.threshold,
    tokens,
    version,
    isShown,
    tail,
    raw: { count: full.count - fullTail.count, tokens: full.tokens - fullTail.tokens },
    stubs: pick(messages("stub")),
    references: pick(messages("reference")),
    summaries: rows.flatMap(({ depth, count, tokens: sum }) =>
      depth === null ? [] : [{ depth, count, tokens: sum }],
    ),
    folded: foldedPart(stores, conversationId),
    prepared: state.elements.filter((one) => isPrepared(one, state.outside)).length,
    debt: {
      count: raw.length,
      tokens: debtTokens,
      calls: Math.ceil(debtTokens / policy.chunkTokens),
      costUsd: price === null ? null : price * debtTokens,
    },
  };
}

export function summaryStatus(stores: Stores, config: LcmConfig, now: Clock): SummaryStatus {
  const at = isoAt(now());
  const { time } = renderStyle(config);
  return {
    today: stores.attempts.spendBetween(time.dayStart(at), at),
    limits: { tokens: config.summaryTokensPerDay, costUsd: config.summaryCostPerDay },
    // Whoever asks for a status can not ask a model; the gateway's worker can.
    access: currentAccess({ stores, config, model: async () => ({ text: "" }), now }),
  };
}

function part(items: readonly { readonly tokens: number }[]): Part {
  return { count: items.length, tokens: totalTokens(items) };
}

function pick({ count, tokens }: Part): Part {
  return { count, tokens };
}

function foldedPart({ views }: Stores, conversationId: ConversationId): Part | null {
  const fold = views.fold(conversationId);
  if (!fold) return null;
  const facts = views.foldFacts(conversationId, fold.fromOrdinal, fold.throughOrdinal);
  return { count: facts.messages + facts.summaries, tokens: facts.tokens };
}
