// What of a message can be searched: texts, the names of tools with their arguments, and results. Never
// images, thinking or signatures, and nothing of our own tools: a question and what it brought back say
// again what stands elsewhere, in the very words that the next search looks for. Pure.
//
// Every line is one string (or number) of the message's JSON as it is, and lines are joined by line ends
// alone: so what is found within a line of this text stands in the stored body too, which the prefilter
// of regular expressions relies on.

import type { AgentMessage } from "../types.js";

const OUR_TOOLS = "lcm_";

export function searchTextOf(message: AgentMessage): string {
  const { content, toolName } = message;
  if (isOurs(toolName)) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((block: unknown) => blockLines(block)).join("\n");
}

/** The search text of a stored body. */
export function searchTextOfBody(body: string): string {
  const message: unknown = JSON.parse(body);
  return isRecord(message) ? searchTextOf(message as AgentMessage) : "";
}

function blockLines(block: unknown): string[] {
  if (typeof block === "string") return [block];
  if (!isRecord(block)) return [];
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? [block["text"]] : [];
    case "toolCall":
    case "toolUse":
    case "tool_use":
      return isOurs(block["name"])
        ? []
        : [...leaves(block["name"]), ...leaves(block["arguments"] ?? block["input"])];
    case "toolResult":
    case "tool_result":
      return contentLines(block["content"]);
    default:
      return [];
  }
}

function isOurs(toolName: unknown): boolean {
  return typeof toolName === "string" && toolName.startsWith(OUR_TOOLS);
}

function contentLines(content: unknown): string[] {
  return Array.isArray(content) ? content.flatMap(blockLines) : leaves(content);
}

/** The keys and values of whatever a tool was given, in order. */
function leaves(value: unknown): string[] {
  switch (typeof value) {
    case "string":
      return isData(value) ? [] : [value];
    case "number":
    case "boolean":
      return [String(value)];
    default:
      if (Array.isArray(value)) return value.flatMap(leaves);
      return isRecord(value)
        ? Object.entries(value).flatMap(([key, inner]) => [key, ...leaves(inner)])
        : [];
  }
}

const DATA_URI = /^data:[\w.+/-]*;base64,/;

function isData(text: string): boolean {
  return DATA_URI.test(text.slice(0, 100));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
