// Joins our view with the host's own list when we could not read the transcript to its end: everything
// we have up to the last message that both lists hold, then what the host has behind it. Pure.

import type { AgentMessage } from "../types.js";

/** Undefined when the lists have no message in common. */
export function spliceHost(
  ours: readonly AgentMessage[],
  hosts: readonly AgentMessage[],
): AgentMessage[] | undefined {
  const places = new Map<string, number>();
  for (const [index, message] of hosts.entries()) {
    const key = identity(message);
    if (key !== undefined) places.set(key, index);
  }
  for (let index = ours.length - 1; index >= 0; index -= 1) {
    const key = identity(ours[index] as AgentMessage);
    const place = key === undefined ? undefined : places.get(key);
    if (place !== undefined) return [...ours.slice(0, index + 1), ...hosts.slice(place + 1)];
  }
  return undefined;
}

/** The host's own marks, the surest first. Text is never compared. */
function identity(message: AgentMessage): string | undefined {
  const { role, idempotencyKey, responseId, toolCallId, timestamp } = message;
  for (const mark of [idempotencyKey, responseId, toolCallId]) {
    if (typeof mark === "string" && mark !== "") return `${role} ${mark}`;
  }
  return typeof timestamp === "number" ? `${role} ${timestamp}` : undefined;
}
