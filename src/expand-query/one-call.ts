// One bounded call of a model over excerpts, recorded before it is made, so that the daily budget
// counts it.

import { callModel } from "../model-call.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import type { Excerpt } from "../retrieval/expand-text.js";
import { modelAccess } from "../summarize/access.js";
import type { AttemptEnd } from "../store/attempt-store.js";
import type { Stores } from "../store/index.js";
import { isoAt, timeFormat } from "../time-format.js";
import { estimateTokens } from "../tokens.js";
import type { ConversationId } from "../types.js";
import { patiently } from "./patiently.js";
import { modelTask, type Question } from "./task.js";

export interface OneCall extends Question {
  readonly conversationId: ConversationId;
  readonly excerpts: readonly Excerpt[];
  readonly signal: AbortSignal;
  /** Milliseconds that are left for it. */
  readonly left: number;
}

export type OneCallResult =
  | { readonly kind: "answered"; readonly reply: string }
  | { readonly kind: "failed"; readonly reason: string };

const MOST_MS = 60_000;
const PROMPT_VERSION = "recall-1";

export async function askOnce(
  deps: RecallDependencies,
  stores: Stores,
  call: OneCall,
): Promise<OneCallResult> {
  const model = deps.model?.();
  if (!model) return failed("no model can be asked");
  if (call.excerpts.length === 0) return failed("there is nothing to ask it about");
  const { attempts } = stores;
  const config = deps.config();
  const now = (): string => isoAt(deps.now());
  const access = modelAccess(attempts, config, timeFormat(config.timezone), now());
  if (!access.allowed) return failed(access.reason);
  const prompt = modelTask(call, call.excerpts);
  const attempt = await patiently(() => attempts.begin(attemptOf(call, prompt), now()));
  const end = (how: AttemptEnd) => patiently(() => attempts.end(attempt, how, now()));
  const request = {
    prompt,
    purpose: "recall" as const,
    // Room for models that think first.
    maxTokens: call.maxTokens * 2 + 1_024,
    temperature: 0.1,
    model: "",
  };
  const reply = await callModel(model, request, call.signal, Math.min(MOST_MS, call.left));
  if (reply.kind === "failed") {
    await end({ outcome: reply.outcome, detail: reply.detail });
    return failed(reply.detail);
  }
  const { text, ...told } = reply.answer;
  const isEmpty = text.trim() === "";
  const outputTokens = told.outputTokens ?? estimateTokens(text);
  await end({ ...told, outputTokens, outcome: isEmpty ? "empty" : "accepted" });
  return isEmpty ? failed("its answer was empty") : { kind: "answered", reply: text };
}

function attemptOf({ conversationId }: OneCall, prompt: string) {
  return {
    conversationId,
    heals: null,
    requestedModel: "",
    promptVersion: PROMPT_VERSION,
    level: "normal" as const,
    inputTokens: estimateTokens(prompt),
  };
}

function failed(reason: string): OneCallResult {
  return { kind: "failed", reason };
}
