// What the recall tools share: their shape, how parameters are read, how answers and refusals are given.
// No tool ever throws: what is wrong is said in a sentence that tells what to send instead.

import { Type, type TObject } from "@sinclair/typebox";
import { errorText, InputError } from "../errors.js";
import type { RecallDependencies } from "../recall-dependencies.js";

export interface ToolResult {
  readonly content: { readonly type: "text"; readonly text: string }[];
  readonly details: unknown;
}

export interface Tool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: TObject;
  execute(callId: string, params: unknown, signal?: AbortSignal): Promise<ToolResult>;
}

export function answer(text: string, details: unknown): ToolResult {
  return { content: [{ type: "text", text }], details };
}

export function refusal(reason: string): ToolResult {
  return answer(reason, { error: reason });
}

const ABORTED =
  "This call was stopped before it had an answer. Nothing is lost; send it again if you still need it.";

/** Runs a tool so that nothing is thrown out of it. */
export async function guarded(
  { log }: Pick<RecallDependencies, "log">,
  tool: string,
  work: () => Promise<ToolResult>,
  signal?: AbortSignal,
): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InputError) return refusal(error.message);
    if (signal?.aborted && error === signal.reason) return refusal(ABORTED);
    const reason = errorText(error);
    log.error(`${tool} could not answer: ${reason}`);
    return refusal(
      `The memory can not be read now: ${reason}. Nothing is lost; go on without it and try again later.`,
    );
  }
}

export function oneOf<const Choices extends readonly string[]>(
  choices: Choices,
  fallback: Choices[number],
  description: string,
) {
  return Type.Optional(
    Type.Unsafe<Choices[number]>({ type: "string", enum: choices, default: fallback, description }),
  );
}
