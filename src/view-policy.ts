// What a token budget means for the view: when to compact, how much to keep verbatim, how much goes
// into one summary. Pure.

import type { LcmConfig } from "./db/config.js";

export interface ViewPolicy {
  /** Tokens the host leaves for history. */
  readonly base: number;
  /** The view is compacted beyond this. */
  readonly threshold: number;
  /** Beyond this it is urgent: a turn's own messages would not fit beside the view. */
  readonly nearlyFull: number;
  /** The fresh tail holds at most this many messages, and at most this many tokens. */
  readonly tailCount: number;
  readonly tailTokens: number;
  /** A single message above this is shown as a reference. */
  readonly itemTokens: number;
  /** Raw messages that go into one leaf. */
  readonly chunkTokens: number;
  /** Summaries that go into one condensed node. */
  readonly condenseTokens: number;
  readonly leafMinFanout: number;
  readonly condensedMinFanout: number;
  readonly condensedMinFanoutHard: number;
  readonly incrementalMaxDepth: number;
}

/** Stands for a budget while no turn has told one. */
export const DEFAULT_BASE = 128_000;

const NEARLY_FULL = 0.85;

export function viewPolicy(config: LcmConfig, base: number): ViewPolicy {
  const threshold = Math.floor(config.contextThreshold * base);
  return {
    base,
    threshold,
    nearlyFull: Math.max(threshold, Math.floor(NEARLY_FULL * base)),
    tailCount: config.freshTailCount,
    tailTokens: Math.floor(threshold / 2),
    itemTokens: Math.floor(base / 4),
    chunkTokens: Math.min(config.leafChunkTokens, Math.floor(base / 4)),
    condenseTokens: Math.min(config.leafChunkTokens, Math.floor(base / 2)),
    leafMinFanout: config.leafMinFanout,
    condensedMinFanout: config.condensedMinFanout,
    condensedMinFanoutHard: config.condensedMinFanoutHard,
    incrementalMaxDepth: config.incrementalMaxDepth,
  };
}

export interface TurnBudget {
  /** What the host offers for history, the turn's own prompt already taken off. */
  readonly tokenBudget: number;
  readonly promptTokens: number;
  /** The model's window, when known. */
  readonly window: number | null;
}

/**
 * The budget that later turns can count on: with this turn's prompt added back, and never below a
 * quarter of the window, because one large paste makes the host offer a single token.
 */
export function budgetBase({ tokenBudget, promptTokens, window }: TurnBudget): number {
  const offered = Math.max(1, Math.floor(tokenBudget) + promptTokens);
  return window === null ? offered : Math.min(window, Math.max(offered, Math.floor(window / 4)));
}

const LEAST_RATIO = 0.7;
const MOST_RATIO = 1.6;
/** Below this much evidence a model's counts say more about the moment than about the model. */
const ENOUGH_TOKENS = 2_000;

/** How many of the model's tokens one of our estimated tokens is. */
export function calibrationRatio(
  counts: { readonly estimated: number; readonly actual: number } | undefined,
): number {
  if (!counts || counts.estimated < ENOUGH_TOKENS) return 1;
  return Math.min(MOST_RATIO, Math.max(LEAST_RATIO, counts.actual / counts.estimated));
}
