// What a turn tells about a model's own token counts: between two calls of one tool loop the prompt
// grew by exactly the messages in between, so the reported totals say what those cost. Pure.

import type { AgentMessage } from "./types.js";

export interface UsageSample {
  /** Provider and model. */
  readonly model: string;
  readonly estimated: number;
  readonly actual: number;
}

/** A smaller growth is mostly rounding. */
const LEAST_TOKENS = 100;

/** `tokens` are our estimates of the messages, in the same order. */
export function usageSample(
  messages: readonly AgentMessage[],
  tokens: readonly number[],
): UsageSample | undefined {
  const calls = messages
    .map((message, index) => ({ index, message, total: promptTokens(message) }))
    .filter(({ total }) => total !== undefined);
  const [first, last] = [calls[0], calls.at(-1)];
  if (!first || !last || first === last || modelOf(first.message) !== modelOf(last.message)) {
    return undefined;
  }
  const estimated = tokens.slice(first.index, last.index).reduce((sum, count) => sum + count, 0);
  const actual = (last.total ?? 0) - (first.total ?? 0);
  if (estimated < LEAST_TOKENS || actual < LEAST_TOKENS) return undefined;
  return { model: modelOf(last.message), estimated, actual };
}

export function modelName(provider: unknown, model: unknown): string {
  return [provider, model].filter((part) => typeof part === "string" && part !== "").join("/");
}

function modelOf(message: AgentMessage): string {
  return modelName(message["provider"], message["model"]);
}

/** Everything the model was given, however much of it came from a cache. */
function promptTokens(message: AgentMessage): number | undefined {
  const { role, usage } = message;
  if (role !== "assistant" || typeof usage !== "object" || usage === null) return undefined;
  const { input, cacheRead, cacheWrite } = usage as Record<string, unknown>;
  const counts = [input, cacheRead, cacheWrite].filter((count) => typeof count === "number");
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total > 0 ? total : undefined;
}
