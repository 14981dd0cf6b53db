// Tool calls and their results in an assembled list: each call is followed by its results, each result
// has a call, and an assistant message says something. Providers refuse anything else. Pure, and the
// same for the same list, so that a prompt's beginning does not change.

import { blocksOf } from "./message-codec.js";
import type { AgentMessage } from "./types.js";

/** Returns the list itself when there is nothing to repair. */
export function repairToolPairs(messages: readonly AgentMessage[]): readonly AgentMessage[] {
  const results = collectResults(messages);
  const repaired: AgentMessage[] = [];
  const answered = new Set<string>();
  for (const message of messages) {
    // Results come back in behind their calls; one without a call has nothing to stand behind.
    if (message.role === "toolResult") continue;
    if (isEmptyReply(message)) continue;
    repaired.push(message);
    for (const call of callsOf(message)) {
      if (answered.has(call.id)) continue;
      answered.add(call.id);
      repaired.push(results.get(call.id) ?? missingResult(call, message));
    }
  }
  const isSame =
    repaired.length === messages.length && repaired.every((one, index) => one === messages[index]);
  return isSame ? messages : repaired;
}

function collectResults(messages: readonly AgentMessage[]): Map<string, AgentMessage> {
  const results = new Map<string, AgentMessage>();
  const calls = new Set<string>();
  for (const message of messages) {
    for (const { id } of callsOf(message)) calls.add(id);
    const id = message["toolCallId"];
    if (message.role !== "toolResult" || typeof id !== "string") continue;
    if (calls.has(id) && !results.has(id)) results.set(id, message);
  }
  return results;
}

interface Call {
  readonly id: string;
  readonly name: string;
}

function callsOf(message: AgentMessage): Call[] {
  if (message.role !== "assistant") return [];
  return blocksOf(message)
    .filter((block) => block["type"] === "toolCall" && typeof block["id"] === "string")
    .map((block) => ({ id: String(block["id"]), name: String(block["name"] ?? "unknown") }));
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
