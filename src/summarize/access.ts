// Whether a model may be asked now: the operator's daily budget and a circuit breaker, both worked out
// from the recorded attempts, so that they survive a restart.

import type { LcmConfig } from "../db/config.js";
import type { AttemptOutcome, AttemptStore, RecentAttempt, Spend } from "../store/attempt-store.js";
import { isoAt, type TimeFormat } from "../time-format.js";

export type ModelAccess =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: string; readonly until: string };

export type SpendLimits = Pick<LcmConfig, "summaryTokensPerDay" | "summaryCostPerDay">;

/** So many failures in a row open the breaker; each further one doubles the pause. */
const FAILURES = 5;
/** A refusal by the host's policy is not a matter of luck. */
const REFUSALS = 1;
const PAUSE_MS = 30_000;
const MOST_PAUSE_MS = 30 * 60_000;
const LOOKED_AT = 32;
const FAILED: ReadonlySet<AttemptOutcome> = new Set(["error", "timeout", "refused", "empty"]);

export function modelAccess(
  attempts: AttemptStore,
  limits: SpendLimits,
  time: TimeFormat,
  now: string,
): ModelAccess {
  const dayStart = time.dayStart(now);
  const budget = withinBudget(attempts.spendBetween(dayStart, now), limits);
  if (budget !== undefined) {
    return { allowed: false, reason: budget, until: nextDay(dayStart, time) };
  }
  return breaker(attempts.recent(LOOKED_AT), now);
}

/** Undefined, or the sentence that says which limit is reached. */
function withinBudget(spend: Spend, limits: SpendLimits): string | undefined {
  const { summaryTokensPerDay: tokens, summaryCostPerDay: cost } = limits;
  if (tokens > 0 && spend.inputTokens + spend.outputTokens >= tokens) {
    return `today's summaries have used ${(spend.inputTokens + spend.outputTokens).toLocaleString("en-US")} of ${tokens.toLocaleString("en-US")} tokens (summaryTokensPerDay)`;
  }
  if (cost > 0 && (spend.costUsd ?? 0) >= cost) {
    return `today's summaries have cost $${(spend.costUsd ?? 0).toFixed(2)} of $${cost.toFixed(2)} (summaryCostPerDay)`;
  }
  return undefined;
}

function nextDay(dayStart: string, time: TimeFormat): string {
  // No day has more than 25 hours, so this lies in the next one, wherever the clocks change.
  return time.dayStart(isoAt(Date.parse(dayStart) + 30 * 3_600_000));
}

/** `recent` is newest first. Pure. */
export function breaker(recent: readonly RecentAttempt[], now: string): ModelAccess {
  const ended = recent.filter(({ outcome }) => outcome !== "aborted" && outcome !== "stale");
  const streak = ended.findIndex(({ outcome }) => !isFailure(outcome));
  const failures = streak < 0 ? ended.length : streak;
  const last = ended[0];
  const isRefused = last?.outcome === "refused";
  const enough = isRefused ? REFUSALS : FAILURES;
  if (failures < enough || !last) return { allowed: true };
  const pause = Math.min(MOST_PAUSE_MS, PAUSE_MS * 2 ** (failures - enough));
  const until = isoAt(Date.parse(last.at) + pause);
  // A clock that was put back must not keep the breaker open until it catches up.
  if (until <= now || last.at > now) return { allowed: true };
  // The reason goes on inside a sentence.
  const detail = (last.detail ?? last.outcome).replace(/\.$/, "");
  const reason = isRefused ? detail : `the last ${failures} calls of the model failed (${detail})`;
  return { allowed: false, reason, until };
}

function isFailure(outcome: AttemptOutcome): boolean {
  return FAILED.has(outcome);
}
