// What a walk gives, as text within a limit of tokens and characters. Where the limit is reached the
// cut is marked with the item behind which the walk can go on. Pure.

import { bothEnds } from "../summarize/source-text.js";
import type { TimeFormat } from "../time-format.js";
import { estimateTokens } from "../tokens.js";
import type { ExpandedItem } from "./expand.js";
import { messageText, speaker } from "./message-text.js";

export interface Excerpt {
  readonly ref: string;
  readonly text: string;
  readonly tokens: number;
}

export interface ExcerptStyle {
  /** Whole bodies of messages; else one line for each. */
  readonly includeMessages: boolean;
  readonly time: TimeFormat;
}

export interface Room {
  readonly tokens: number;
  readonly characters: number;
}

export interface Cutting {
  readonly excerpts: readonly Excerpt[];
  readonly tokens: number;
  /** True when items were left. */
  readonly isCut: boolean;
}

/** An item that is longer than what is left is quoted from both ends if this much is left for it. */
const LEAST_QUOTE_TOKENS = 120;
const PREVIEW_CHARACTERS = 100;

export function excerptOf(item: ExpandedItem, style: ExcerptStyle): Excerpt {
  const text = item.kind === "summary" ? summaryExcerpt(item, style) : messageExcerpt(item, style);
  return { ref: item.ref, text, tokens: estimateTokens(text) };
}

/** Takes items while they fit. The first that does not ends it, quoted if it would fit nowhere. */
export function fill(items: Iterable<ExpandedItem>, room: Room, style: ExcerptStyle): Cutting {
  const excerpts: Excerpt[] = [];
  let tokens = 0;
  let characters = 0;
  for (const item of items) {
    const whole = excerptOf(item, style);
    const left = { tokens: room.tokens - tokens, characters: room.characters - characters };
    const excerpt = fits(whole, left) ? whole : quoted(whole, left, room);
    if (!excerpt) return { excerpts, tokens, isCut: true };
    excerpts.push(excerpt);
    tokens += excerpt.tokens;
    characters += excerpt.text.length + 2;
  }
  return { excerpts, tokens, isCut: false };
}

function fits({ tokens, text }: Excerpt, left: Room): boolean {
  return tokens <= left.tokens && text.length + 2 <= left.characters;
}

/** Undefined for what would fit whole into a room of its own. */
function quoted(whole: Excerpt, left: Room, room: Room): Excerpt | undefined {
  if (fits(whole, room)) return undefined;
  const note = `\n[shortened: lcm_describe(id: "${whole.ref}") shows it whole]`;
  let most = Math.min(left.tokens, Math.floor(left.characters / 4)) - 60;
  while (most >= LEAST_QUOTE_TOKENS) {
    const text = `${bothEnds(whole.text, most)}${note}`;
    const excerpt = { ref: whole.ref, text, tokens: estimateTokens(text) };
    if (fits(excerpt, left)) return excerpt;
    most = Math.floor(most * 0.8);
  }
  return undefined;
}

function summaryExcerpt(
  { ref, summary }: Extract<ExpandedItem, { kind: "summary" }>,
  { time }: ExcerptStyle,
): string {
  const kind = summary.depth === 0 ? "leaf" : `condensed, depth ${summary.depth}`;
  return `[${ref}] ${kind}, ${time.range(summary.earliestAt, summary.latestAt)}\n${summary.content}`;
}

function messageExcerpt(
  { ref, leaf, message, isWhole = false }: Extract<ExpandedItem, { kind: "message" }>,
  { includeMessages, time }: ExcerptStyle,
): string {
  const heading = `[${ref}] ${speaker(message.message)}, ${time.timestamp(message.createdAt)}${leaf === undefined ? "" : `, under ${leaf}`}`;
  const text = messageText(message.message);
  if (includeMessages || isWhole) return `${heading}\n${text}`;
  const line = text.replace(/\s+/g, " ").trim();
  const more = line.length > PREVIEW_CHARACTERS ? "…" : "";
  return `${heading}, ${message.tokens} tokens: ${line.slice(0, PREVIEW_CHARACTERS).toWellFormed()}${more}`;
}
