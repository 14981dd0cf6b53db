import type { ModelMessage } from "./model-types.js";

// The host decorates what the user wrote: a date prefix, a `Runtime:` tail on one
// user message and a trailing user message of its own. Scripts care about none of it.
const INTERNAL_CONTEXT = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";
const DATE_PREFIX = /^\[[A-Z][a-z]{2} \d{4}-\d{2}-\d{2} \d{2}:\d{2}(?::\d{2})? [^\]]+\] /;
const RUNTIME_TAIL = /\n*(?:## Runtime\n)?Runtime: agent=[\s\S]*$/;

export function stripHostText(text: string): string {
  const internal = text.indexOf(INTERNAL_CONTEXT);
  const own = internal >= 0 ? text.slice(0, internal) : text;
  return own.replace(RUNTIME_TAIL, "").trim().replace(DATE_PREFIX, "").trim();
}

export interface LastUser {
  readonly text: string;
  readonly toolResultsSince: number;
}

export function lastUser(messages: readonly ModelMessage[]): LastUser {
  let toolResultsSince = 0;
  for (const message of messages.toReversed()) {
    if (message.role === "tool") toolResultsSince += 1;
    if (message.role !== "user") continue;
    const text = stripHostText(message.text);
    if (text !== "") return { text, toolResultsSince };
  }
  return { text: "", toolResultsSince };
}

/** `session=…` of the `Runtime:` line, wherever the host has put that line. */
export function runtimeSessionKey(texts: Iterable<string>): string | undefined {
  for (const text of texts) {
    const match = /^Runtime: agent=.*?\bsession=(\S+)/m.exec(text);
    if (match?.[1] !== undefined) return match[1].replace(/[|,]$/, "");
  }
  return undefined;
}
