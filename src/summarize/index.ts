// Makes one summary: asks a model, once more with a tighter prompt, and at last writes it without one.
// It always ends, and every call it makes is recorded before it is made.

import { setTimeout as sleep } from "node:timers/promises";
import { callModel, whenAborted } from "../model-call.js";
import { fillPrompt, type PromptSet } from "../prompts/index.js";
import type { AttemptEnd, NewAttempt } from "../store/attempt-store.js";
import type { SummaryLevel } from "../store/summary-store.js";
import { estimateTokens } from "../tokens.js";
import type { Model, ModelAnswer } from "../types.js";
import { deterministicSummary } from "./deterministic.js";
import { judge, type Verdict } from "./quality.js";
import { type Piece, sourceText } from "./source-text.js";

export interface SummaryTask {
  /** Of the summary to be made. */
  readonly depth: number;
  readonly pieces: readonly Piece[];
  /** What it stands for, in ids. */
  readonly covers: string;
  readonly timeRange: string;
  readonly previousContext: string | undefined;
  readonly instructions: string | undefined;
  readonly targets: Targets;
  /** A summary of this many tokens or more would save nothing. */
  readonly below: number;
}

export interface Targets {
  readonly normal: number;
  readonly aggressive: number;
}

export interface CallTiming {
  /** How long a call may take. */
  readonly callMs: number;
  /** Between two calls: a call in flight keeps the host from reloading plugins. */
  readonly gapMs: number;
}

export const CALL_TIMING: CallTiming = { callMs: 60_000, gapMs: 250 };

export interface SummarizeDependencies {
  readonly model: Model | undefined;
  /** Asked before every call: false once the budget is spent, the breaker open or the time up. */
  readonly mayCall: () => boolean;
  readonly prompts: PromptSet;
  /** Empty for the host's own choice. */
  readonly requestedModel: string;
  readonly signal: AbortSignal;
  readonly timing: CallTiming;
  readonly begin: (attempt: Pick<NewAttempt, "level" | "inputTokens">) => number;
  readonly end: (attempt: number, end: AttemptEnd) => void;
}

export type SummaryResult =
  | {
      readonly kind: "written";
      readonly content: string;
      readonly tokens: number;
      readonly level: SummaryLevel;
      readonly model: string | null;
      /** The call that wrote it. */
      readonly attempt: number | null;
    }
  | { readonly kind: "aborted" }
  /** The source is too short to be said in less. */
  | { readonly kind: "hopeless" };

export async function summarize(
  task: SummaryTask,
  deps: SummarizeDependencies,
): Promise<SummaryResult> {
  const source = sourceText(task.pieces);
  let called = false;
  for (const level of ["normal", "aggressive"] as const) {
    if (!deps.model || !deps.mayCall()) break;
    if (called) await pause(deps.timing.gapMs, deps.signal);
    if (deps.signal.aborted) return { kind: "aborted" };
    called = true;
    const result = await attemptLevel(task, source, level, deps.model, deps);
    if (result === "refused") break;
    if (result !== "rejected") return result;
  }
  return withoutModel(task);
}

/** Ends early when it is to stop; the caller looks at the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await Promise.race([sleep(ms), whenAborted(signal)]);
}

export function withoutModel(task: SummaryTask): SummaryResult {
  const { pieces, covers, targets } = task;
  const below = Math.min(task.below, Math.ceil(targets.normal * 1.25));
  const content = deterministicSummary({ pieces, covers, below });
  if (content === undefined) return { kind: "hopeless" };
  const tokens = estimateTokens(content);
  return { kind: "written", content, tokens, level: "deterministic", model: null, attempt: null };
}

async function attemptLevel(
  task: SummaryTask,
  source: string,
  level: "normal" | "aggressive",
  model: Model,
  deps: SummarizeDependencies,
): Promise<SummaryResult | "rejected" | "refused"> {
  const targetTokens = task.targets[level];
  const prompt = fillPrompt(deps.prompts.forDepth(task.depth), {
    isAggressive: level === "aggressive",
    targetTokens,
    timeRange: task.timeRange,
    source,
    previousContext: task.previousContext,
    instructions: task.instructions,
  });
  const attempt = deps.begin({ level, inputTokens: estimateTokens(prompt) });
  const request = {
    prompt,
    // Room for an answer that runs over its target, and for models that think first.
    maxTokens: targetTokens * 4 + 1_024,
    temperature: level === "normal" ? 0.2 : 0.1,
    model: deps.requestedModel,
  };
  const reply = await callModel(model, request, deps.signal, deps.timing.callMs);
  if (reply.kind === "failed") {
    deps.end(attempt, { outcome: reply.outcome, detail: reply.detail });
    if (reply.outcome === "aborted") return { kind: "aborted" };
    return reply.outcome === "refused" ? "refused" : "rejected";
  }
  const { answer } = reply;
  const sourceTokens = Math.min(estimateTokens(source), task.below);
  const verdict = judge(answer.text, {
    prompt,
    source,
    sourceTokens,
    targetTokens,
    depth: task.depth,
  });
  deps.end(attempt, ending(verdict, answer));
  if (!verdict.ok) return "rejected";
  const { content, tokens } = verdict;
  return { kind: "written", content, tokens, level, model: answer.model ?? null, attempt };
}

function ending(
  verdict: Verdict,
  { model, inputTokens, outputTokens, costUsd, text }: ModelAnswer,
): AttemptEnd {
  const told = { model, inputTokens, outputTokens: outputTokens ?? estimateTokens(text), costUsd };
  return verdict.ok
    ? { ...told, outcome: "accepted" }
    : { ...told, outcome: verdict.outcome, detail: verdict.detail };
}
