// One call of a model under a time limit. It always ends, and says how.

import { errorText, LcmError } from "./errors.js";
import type { Model, ModelAnswer, ModelRequest } from "./types.js";

export type Reply =
  | { readonly kind: "answered"; readonly answer: ModelAnswer }
  | {
      readonly kind: "failed";
      /** `refused`: asking again would be refused again. */
      readonly outcome: "aborted" | "timeout" | "error" | "refused";
      readonly detail: string;
    };

export async function callModel(
  model: Model,
  request: Omit<ModelRequest, "signal">,
  signal: AbortSignal,
  limitMs: number,
): Promise<Reply> {
  const deadline = AbortSignal.timeout(limitMs);
  const either = AbortSignal.any([signal, deadline]);
  try {
    const answer = await Promise.race([model({ ...request, signal: either }), whenAborted(either)]);
    // A call that was aborted may resolve all the same, with nothing in it.
    if (answer && !either.aborted) {
      if (typeof answer.text === "string") return { kind: "answered", answer };
      throw new TypeError("the model's answer is not text");
    }
  } catch (error) {
    if (!either.aborted) {
      const isRefused = error instanceof LcmError && error.code === "MODEL_REFUSED";
      const outcome = isRefused ? "refused" : "error";
      return { kind: "failed", outcome, detail: errorText(error) };
    }
  }
  return signal.aborted
    ? { kind: "failed", outcome: "aborted", detail: "stopped" }
    : { kind: "failed", outcome: "timeout", detail: `no answer in ${limitMs / 1000} s` };
}

/** A model that ignores its signal is not waited for. */
export function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
