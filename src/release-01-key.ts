// By what release 0.1.x knew a message: its role, as one of four, and its text by that release's rule.
// Its rows and the transcript's entries are compared by this and by nothing else. Pure.

import { hash } from "node:crypto";
import { plainText } from "./message-codec.js";
import type { AgentMessage } from "./types.js";

const OWN_ROLES = new Set(["system", "user", "assistant"]);
/** Of a digest's 43 characters: enough that no two texts of a conversation share them. */
const KEY_LENGTH = 20;

/** The key of a row as that release stored it. Spaces do not count. */
export function rowKey(role: string, text: string): string {
  const normalized = `${role}\n${text.replace(/\s+/g, " ").trim()}`;
  return hash("sha256", normalized, "base64url").slice(0, KEY_LENGTH);
}

/** The key of the row that such a message would have become. */
export function messageKey(message: AgentMessage): string {
  return rowKey(foldRole(message.role), storedText(message));
}

function foldRole(role: string): string {
  if (role === "tool" || role === "toolResult") return "tool";
  return OWN_ROLES.has(role) ? role : "assistant";
}

function storedText(message: AgentMessage): string {
  const { content } = message;
  if (typeof content === "string" || Array.isArray(content)) return plainText(message);
  if ("content" in message) return JSON.stringify(content) ?? "";
  return "output" in message ? `$ ${message["command"]}\n${message["output"]}` : "";
}
