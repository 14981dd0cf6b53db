// Tool calls and their results in an assembled list: each call is followed by its results, each result
// has a call, and an assistant message says something. Providers refuse anything else. Pure, and the
// same for the same list, so that a prompt's beginning does not change.

import { blocksOf } from "./message-codec.js";
import type { AgentMessage } from "./types.js";

/** Returns the list itself when there is nothing to repair. */
export function repairToolPairs(messages: readonly AgentMessage[]): readonly AgentMessage[] {
  const results = assignResults(messages);
  const repaired = messages.flatMap((message, index) => {
    // Results come back in behind their calls; one without a call has nothing to stand behind.
    if (message.role === "toolResult" || isEmptyReply(message)) return [];
    return [message, ...resultsOf(message, results.get(index) ?? [])];
  });
  const isSame =
    repaired.length === messages.length && repaired.every((one, index) => one === messages[index]);
  return isSame ? messages : repaired;
}

/**
 * The first result of each call, by the index of the message that made it. Ids may be used again: a
 * result answers the last call before it, so that nothing that comes later changes an earlier answer.
 */
function assignResults(messages: readonly AgentMessage[]): Map<number, AgentMessage[]> {
  const results = new Map<number, AgentMessage[]>();
  const open = new Map<unknown, number>();
  for (const [index, message] of messages.entries()) {
    for (const { id } of callsOf(message)) open.set(id, index);
    const { toolCallId } = message;
    const caller = message.role === "toolResult" ? open.get(toolCallId) : undefined;
    if (caller === undefined) continue;
    open.delete(toolCallId);
    results.set(caller, [...(results.get(caller) ?? []), message]);
  }
  return results;
}

/** In the order they came in, and then a note for each call that got none. */
function resultsOf(message: AgentMessage, results: readonly AgentMessage[]): AgentMessage[] {
  const answered = new Set(results.map(({ toolCallId }) => toolCallId));
  const missing = callsOf(message).filter(({ id }) => !answered.has(id));
  return [...results, ...missing.map((call) => missingResult(call, message))];
}

interface Call {
  readonly id: string;
  readonly name: string;
}

/** Each id once. */
function callsOf(message: AgentMessage): Call[] {
  if (message.role !== "assistant") return [];
  const calls = blocksOf(message)
    .filter((block) => block["type"] === "toolCall" && typeof block["id"] === "string")
    .map((block) => ({ id: String(block["id"]), name: String(block["name"] ?? "unknown") }));
  return [...new Map(calls.map((call) => [call.id, call])).values()];
}

/** A reply that was cut off before it said anything. Thinking alone is nothing said. */
function isEmptyReply(message: AgentMessage): boolean {
  if (message.role !== "assistant") return false;
  return blocksOf(message).every(
    (block) =>
      block["type"] === "thinking" ||
      (block["type"] === "text" && String(block["text"] ?? "").trim() === ""),
  );
}

function missingResult({ id, name }: Call, { timestamp }: AgentMessage): AgentMessage {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: name,
    content: [{ type: "text", text: "No result: the call was cut off before it ended." }],
    isError: true,
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}
