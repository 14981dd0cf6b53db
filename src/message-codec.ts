// Host message <-> stored form. Pure.
//
// The stored body is the message's JSON, whole: unknown roles, blocks and fields come back as they
// came. Everything else in `EncodedMessage` is derived from it for ordering, counting and lookup.

import { LcmError } from "./errors.js";
import { searchTextOf } from "./search/search-text.js";
import { estimateTokens, IMAGE_TOKENS } from "./tokens.js";
import type { AgentMessage } from "./types.js";

export interface EncodedPart {
  readonly type: string;
  readonly toolCallId: string | null;
  readonly toolName: string | null;
  readonly tokens: number;
}

export interface EncodedMessage {
  readonly role: string;
  readonly body: string;
  /** False for rows the host keeps in the transcript but never sends to a model. */
  readonly inContext: boolean;
  /** True for what a user sent, but for words typed into a running turn. */
  readonly startsTurn: boolean;
  readonly tokens: number;
  /** UTC ISO-8601 with milliseconds. */
  readonly createdAt: string;
  readonly parts: readonly EncodedPart[];
  /** What a search looks at. */
  readonly searchText: string;
}

/** Tokens a provider spends on a message's frame, beside its content. */
const FRAME_TOKENS = 4;
const CHARACTERS_PER_TOKEN = 4;

/** Models of the host's own rows: a note injected by an operator, a copy of a delivered reply. */
const TRANSCRIPT_ONLY_MODELS = new Set(["gateway-injected", "delivery-mirror"]);

/** `receivedAt` (ISO) stands in for the time of a message that carries none. */
export function encodeMessage(message: unknown, receivedAt: string): EncodedMessage {
  if (!isAgentMessage(message)) {
    throw new LcmError(
      "BAD_MESSAGE",
      `A message must be an object with a "role" string; got ${preview(message)}.`,
    );
  }
  const parts = blocksOf(message).map((block) => encodePart(block, message));
  return {
    role: message.role,
    body: toJson(message),
    inContext: isInContext(message),
    startsTurn: message.role === "user" && !isSteered(message),
    tokens: parts.reduce((sum, part) => sum + part.tokens, FRAME_TOKENS),
    createdAt: messageTime(message) ?? receivedAt,
    parts,
    searchText: searchTextOf(message),
  };
}

/** As `encodeMessage`, but takes whatever a transcript holds: nothing in it is left out. */
export function encodeAny(value: unknown, receivedAt: string): EncodedMessage {
  if (isAgentMessage(value)) return encodeMessage(value, receivedAt);
  const body = toJson(value ?? null);
  return {
    role: "unknown",
    body,
    inContext: false,
    startsTurn: false,
    tokens: estimateTokens(body),
    createdAt: receivedAt,
    parts: [],
    searchText: "",
  };
}

/** The tokens of a user message that says this and nothing else. */
export function userMessageTokens(text: string): number {
  return FRAME_TOKENS + estimateTokens(text);
}

/**
 * A rough count of a message's tokens, from lengths alone: it is made for every message of the context
 * at every model call. A message that can not be read counts for nothing.
 */
export function roughTokens(message: unknown): number {
  if (!isAgentMessage(message)) return 0;
  try {
    return blocksOf(message).reduce((sum, block) => sum + roughBlock(block), FRAME_TOKENS);
  } catch (error) {
    if (error instanceof LcmError) return 0;
    throw error;
  }
}

export function decodeMessage(body: string): AgentMessage {
  return JSON.parse(body) as AgentMessage;
}

export function isAgentMessage(value: unknown): value is AgentMessage {
  return isRecord(value) && typeof value["role"] === "string" && value["role"] !== "";
}

/** True for a reply row that no model wrote: slash-command replies, injected notes, mirrors. */
export function isTranscriptOnly(message: AgentMessage): boolean {
  if (message.role !== "assistant") return false;
  if (message["provider"] === "openclaw" && TRANSCRIPT_ONLY_MODELS.has(String(message["model"]))) {
    return true;
  }
  // Old mirror rows have lost their provider and model, and kept only the host's mark.
  return isRecord(message["openclawDeliveryMirror"]);
}

/** The host's run that wrote a row, where it says so. */
export function runOf(message: AgentMessage): string | undefined {
  const envelope = message["__openclaw"];
  const runId = isRecord(envelope) ? envelope["runId"] : undefined;
  return typeof runId === "string" ? runId : undefined;
}

/** True for what the user typed into a turn that was running: it goes on with that turn. */
export function isSteered(message: AgentMessage): boolean {
  const envelope = message["__openclaw"];
  return isRecord(envelope) && typeof envelope["steerTargetRunId"] === "string";
}

/** True for the user row with which the host starts a heartbeat turn. */
export function isHeartbeatPrompt(message: AgentMessage): boolean {
  const provenance = message["provenance"];
  return (
    message.role === "user" && isRecord(provenance) && provenance["sourceTool"] === "heartbeat"
  );
}

/** The text a reader would see: text blocks only, joined by line ends. */
export function plainText(message: AgentMessage): string {
  return blocksOf(message)
    .map((block) =>
      block["type"] === "text" && typeof block["text"] === "string" ? block["text"] : undefined,
    )
    .filter((text) => text !== undefined)
    .join("\n");
}

function isInContext(message: AgentMessage): boolean {
  return message["excludeFromContext"] !== true && !isTranscriptOnly(message);
}

function messageTime(message: AgentMessage): string | undefined {
  const { timestamp } = message;
  if (typeof timestamp !== "number" && typeof timestamp !== "string") return undefined;
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** The blocks of a message; a plain string is one block of text. */
export function blocksOf(message: AgentMessage): Record<string, unknown>[] {
  const { content } = message;
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (Array.isArray(content)) {
    return content.map((block: unknown) =>
      isRecord(block) ? block : typeof block === "string" ? { type: "text", text: block } : {},
    );
  }
  return [];
}

function encodePart(block: Record<string, unknown>, message: AgentMessage): EncodedPart {
  return {
    type: typeof block["type"] === "string" ? block["type"] : "unknown",
    toolCallId: firstString(
      block["toolCallId"],
      block["type"] === "toolCall" ? block["id"] : message["toolCallId"],
    ),
    toolName: firstString(block["name"], message["toolName"]),
    tokens: blockTokens(block),
  };
}

function roughBlock(block: Record<string, unknown>): number {
  if (block["type"] === "image") return IMAGE_TOKENS;
  const text = block["text"] ?? block["thinking"];
  const length = typeof text === "string" ? text.length : toJson(block).length;
  return Math.ceil(length / CHARACTERS_PER_TOKEN);
}

function blockTokens(block: Record<string, unknown>): number {
  if (block["type"] === "image") return IMAGE_TOKENS;
  const texts = [block["text"], block["thinking"]].filter((text) => typeof text === "string");
  if (texts.length > 0) return texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  return estimateTokens(toJson(block));
}

function firstString(...candidates: unknown[]): string | null {
  return candidates.find((candidate) => typeof candidate === "string") ?? null;
}

function toJson(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw new LcmError(
      "BAD_MESSAGE",
      `A message could not be written as JSON: ${(error as Error).message}.`,
      { cause: error },
    );
  }
  if (json !== undefined) return json;
  throw new LcmError("BAD_MESSAGE", "A message could not be written as JSON: it has no JSON form.");
}

function preview(value: unknown): string {
  if (isRecord(value))
    return `an object with the keys ${Object.keys(value).slice(0, 5).join(", ") || "(none)"}`;
  return Array.isArray(value) ? "an array" : `${typeof value} ${String(value).slice(0, 40)}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
