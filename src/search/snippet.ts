// The text around what matched, on one line. Pure.

import type { Snippet } from "./types.js";

type Span = readonly [from: number, to: number];

const WIDTH = 240;
/** What of a match is shown. */
const LONGEST_MARK = 160;
const LEAD = 60;
const MOST_OCCURRENCES = 200;

/** Around the place where most of the words stand together. */
export function snippetOfWords(text: string, words: readonly string[]): Snippet {
  const folded = fold(text);
  const spans = words.flatMap((word, index) =>
    occurrences(folded, text, fold(word)).map((span) => ({ span, index })),
  );
  spans.sort((one, other) => one.span[0] - other.span[0]);
  const start = bestStart(spans);
  return cut(
    text,
    start,
    spans.map(({ span }) => span),
  );
}

export function snippetOfMatch(text: string, from: number, to: number): Snippet {
  return cut(text, from, [[from, Math.min(to, from + LONGEST_MARK)]]);
}

function bestStart(spans: readonly { span: Span; index: number }[]): number {
  let best = { start: 0, count: 0 };
  for (const [at, { span }] of spans.entries()) {
    const seen = new Set<number>();
    for (const other of spans.slice(at, at + 40)) {
      if (other.span[1] > span[0] + WIDTH - LEAD) break;
      seen.add(other.index);
    }
    if (seen.size > best.count) best = { start: span[0], count: seen.size };
  }
  return best.start;
}

function cut(text: string, around: number, spans: readonly Span[]): Snippet {
  const from = startNear(text, Math.max(0, around - LEAD), around);
  const to = Math.min(text.length, from + WIDTH);
  const shown = spans.filter((span) => span[0] >= from && span[1] <= Math.max(to, from + WIDTH));
  return oneLine(text, from, endNear(text, to), merged(shown));
}

/** Does not begin within a word or a character. */
function startNear(text: string, from: number, around: number): number {
  if (from === 0) return 0;
  const space = text.slice(from, around).search(/\s/);
  if (space !== -1) return from + space + 1;
  return isLowSurrogate(text, from) ? from - 1 : from;
}

function endNear(text: string, to: number): number {
  return isLowSurrogate(text, to) ? to + 1 : to;
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}

function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last && span[0] <= last[1]) {
      result[result.length - 1] = [last[0], Math.max(last[1], span[1])];
    } else {
      result.push(span);
    }
  }
  return result;
}

/** Runs of white space become one space, and the marks move with the text. */
function oneLine(text: string, from: number, to: number, spans: readonly Span[]): Snippet {
  const places = new Map<number, number>();
  let line = from > 0 ? "…" : "";
  for (let at = from; at < to; at += 1) {
    const character = text[at] as string;
    const isSpace = /\s/.test(character);
    if (isSpace && (line === "" || line.endsWith(" "))) {
      places.set(at, line.length);
      continue;
    }
    places.set(at, line.length);
    line += isSpace ? " " : character;
  }
  places.set(to, line.length);
  const marks = spans.map(
    ([start, end]) =>
      [places.get(start) ?? 0, places.get(Math.min(end, to)) ?? line.length] as const,
  );
  return { text: to < text.length ? `${line}…` : line, marks };
}

/** Where a word or a form of it stands: at the beginning of a word or of a part of an identifier. */
function occurrences(folded: string, text: string, word: string): Span[] {
  const isBeginning = word.endsWith("*");
  const root = isBeginning ? word.slice(0, -1) : rootOf(word);
  const spans: Span[] = [];
  if (root === "") return spans;
  for (let at = folded.indexOf(root); at !== -1; at = folded.indexOf(root, at + root.length)) {
    if (!isWordStart(text, at)) continue;
    const end = wordEnd(folded, text, at, root);
    if (isBeginning || root === word || rootOf(folded.slice(at, end)) === root)
      spans.push([at, end]);
    if (spans.length >= MOST_OCCURRENCES) break;
  }
  return spans;
}

const UNSPACED = /[\u2e80-\ud7ff\uf900-\ufaff]/;

function isWordStart(text: string, at: number): boolean {
  const before = text[at - 1];
  if (before === undefined || !/[\p{L}\p{N}]/u.test(before)) return true;
  return UNSPACED.test(text[at] as string) || /[A-Z]/.test(text[at] as string);
}

function wordEnd(folded: string, text: string, at: number, root: string): number {
  let end = at + root.length;
  if (UNSPACED.test(text[at] as string)) return end;
  while (
    end < text.length &&
    /[\p{Ll}\p{N}]/u.test(folded[end] as string) &&
    !/[A-Z]/.test(text[end] as string)
  ) {
    end += 1;
  }
  return end;
}

/** What the forms of an English word have in common, roughly. */
function rootOf(word: string): string {
  if (!/^[a-z]{4,}$/.test(word)) return word;
  const root = word
    .replace(/(?:ations?|ings?|edly|ies|ied|ers?|ed|es|ly|s|e|y)$/, "")
    .replace(/([b-df-hj-np-tv-z])\1$/, "$1");
  return root.length >= 3 ? root : word;
}

/** Lower case without accents, character by character, so that places stay the same. */
function fold(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the whole of ASCII
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  return Array.from({ length: text.length }, (_, at) => foldOne(text[at] as string)).join("");
}

function foldOne(character: string): string {
  const folded = character.normalize("NFD").toLowerCase()[0] ?? character;
  return folded;
}
