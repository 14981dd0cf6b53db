// What a summary is made from, as text: messages with their roles and times, or finer summaries with
// their ranges. Pure.

import { blocksOf } from "../message-codec.js";
import type { SourceMessage } from "../store/message-store.js";
import type { Summary } from "../store/summary-store.js";
import type { TimeFormat } from "../time-format.js";
import { estimateTokens } from "../tokens.js";
import type { AgentMessage } from "../types.js";

/** One message or finer summary, ready to be read. */
export interface Piece {
  /** `user`, `exec result`, `sum_…` */
  readonly label: string;
  readonly when: string;
  readonly text: string;
}

/** Text above this many tokens is quoted from both ends when space is short. */
const LONG_TOKENS = 800;
const LEAST_QUOTE_TOKENS = 60;
const ARGUMENT_TOKENS = 300;

export function messagePieces(
  messages: readonly SourceMessage[],
  time: TimeFormat,
  mostTokens: number,
): Piece[] {
  const quote = quoteTokens(messages, mostTokens);
  return messages.map(({ message, createdAt }) => ({
    label: labelOf(message),
    when: time.timestamp(createdAt),
    text: readable(message, quote),
  }));
}

/** How many tokens of each long text fit when everything short is taken whole. */
function quoteTokens(messages: readonly SourceMessage[], mostTokens: number): number {
  const long = messages.filter(({ tokens }) => tokens > LONG_TOKENS);
  const short = messages.reduce((sum, { tokens }) => sum + Math.min(tokens, LONG_TOKENS), 0);
  const whole = messages.reduce((sum, { tokens }) => sum + tokens, 0);
  if (long.length === 0 || whole <= mostTokens) return Number.POSITIVE_INFINITY;
  const room = (mostTokens - (short - long.length * LONG_TOKENS)) / long.length;
  return Math.max(LEAST_QUOTE_TOKENS, Math.floor(room));
}

export function summaryPieces(summaries: readonly Summary[], time: TimeFormat): Piece[] {
  return summaries.map(({ id, earliestAt, latestAt, content }) => ({
    label: id,
    when: time.range(earliestAt, latestAt),
    text: content,
  }));
}

/** Messages carry role and time, summaries their range. */
export function sourceText(pieces: readonly Piece[]): string {
  return pieces
    .map(({ label, when, text }) => `[${when}] ${label}${text === "" ? "" : `\n${text}`}`)
    .join("\n\n");
}

function labelOf(message: AgentMessage): string {
  if (message.role !== "toolResult") return message.role;
  const name = typeof message["toolName"] === "string" ? message["toolName"] : "tool";
  return message["isError"] === true ? `${name} error` : `${name} result`;
}

/** Thinking is left out: it is not part of what was said or done. */
function readable(message: AgentMessage, quote: number): string {
  return blocksOf(message)
    .map((block) => readableBlock(block, quote))
    .filter((text) => text !== "")
    .join("\n")
    .trim();
}

function readableBlock(block: Record<string, unknown>, quote: number): string {
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? bothEnds(block["text"], quote) : "";
    case "thinking":
      return "";
    case "toolCall":
      return `calls ${String(block["name"])} ${bothEnds(JSON.stringify(block["arguments"] ?? {}), ARGUMENT_TOKENS)}`;
    case "image":
      return `[image ${String(block["mimeType"] ?? "")}]`;
    default:
      return `[${String(block["type"] ?? "unknown")}]`;
  }
}

/** The text, or its first and last part when it has more than so many tokens. */
export function bothEnds(text: string, mostTokens: number): string {
  if (text.length <= mostTokens) return text;
  const tokens = estimateTokens(text);
  if (tokens <= mostTokens) return text;
  // As many characters to a token as this text has: a script of its own has far fewer than English.
  const characters = (text.length * mostTokens) / tokens;
  const head = text.slice(0, Math.floor(characters * 0.6)).toWellFormed();
  const tail = text.slice(text.length - Math.floor(characters * 0.4)).toWellFormed();
  const left = text.length - head.length - tail.length;
  return `${head}\n[… ${left.toLocaleString("en-US")} characters left out …]\n${tail}`;
}
