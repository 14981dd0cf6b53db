// The whole of a message as text: what was said, called, answered. Images are named by type and size,
// never spelled out. Pure.

import { blocksOf } from "../message-codec.js";
import type { AgentMessage } from "../types.js";

/** A string field longer than this that looks like encoded bytes is named by its size. */
const LONG_DATA = 256;
const ENCODED = /^(?:data:[^,]{0,100},)?[A-Za-z0-9+/_-]+={0,2}$/;

export function messageText(message: AgentMessage): string {
  const blocks = blocksOf(message).map(blockText);
  if (blocks.length > 0) return blocks.filter((text) => text !== "").join("\n");
  const { role: _role, timestamp: _timestamp, __openclaw: _host, ...rest } = message;
  return Object.keys(rest).length === 0 ? "" : readableJson(rest);
}

/** `user`, `exec result`, `exec error` */
export function speaker(message: AgentMessage): string {
  if (message.role !== "toolResult") return message.role;
  const name = typeof message["toolName"] === "string" ? message["toolName"] : "tool";
  return message["isError"] === true ? `${name} error` : `${name} result`;
}

function blockText(block: Record<string, unknown>): string {
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? block["text"] : "";
    case "thinking":
      return typeof block["thinking"] === "string" && block["thinking"] !== ""
        ? `[thinking] ${block["thinking"]}`
        : "";
    case "toolCall":
      return `[calls ${String(block["name"])}] ${readableJson(block["arguments"] ?? {})}`;
    case "image":
      return imageText(block);
    default:
      return readableJson(block);
  }
}

function imageText(block: Record<string, unknown>): string {
  const type = typeof block["mimeType"] === "string" ? block["mimeType"] : "unknown type";
  const { data } = block;
  return `[image, ${type}${typeof data === "string" ? `, ${bytes(data)}` : ""}]`;
}

function readableJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) => {
    if (typeof field !== "string" || field.length <= LONG_DATA || !ENCODED.test(field))
      return field;
    return `[${bytes(field)} of data]`;
  });
}

/** Of what a base64 text holds. */
function bytes(encoded: string): string {
  const length = encoded.length - (encoded.indexOf(",") + 1);
  return `${Math.floor((length * 3) / 4).toLocaleString("en-US")} bytes`;
}
