// The last level: a summary that no model wrote. It quotes what a reader needs most (first and last
// lines, names, numbers, where the rest is) instead of cutting blindly. Pure.

import { FOOTER } from "../prompts/index.js";
import { estimateTokens } from "../tokens.js";
import { identifiers } from "./identifiers.js";
import type { Piece } from "./source-text.js";

export interface DeterministicInput {
  readonly pieces: readonly Piece[];
  /** What it stands for, for people and tools: `msg_12 to msg_40`. */
  readonly covers: string;
  /** The result has fewer tokens than this, or there is none. */
  readonly below: number;
}

/** Lengths of a quoted line to try, the fullest first. */
const LINE_LENGTHS = [240, 160, 100, 60, 30];
/** How many pieces at each end are quoted when not all fit. */
const KEPT_AT_ENDS = [40, 20, 10, 5, 2, 1];
const MOST_NAMES = [24, 12, 6, 0];

/** Undefined when the source is too short to be said in fewer tokens. */
export function deterministicSummary(input: DeterministicInput): string | undefined {
  for (const candidate of candidates(input)) {
    if (estimateTokens(candidate) < input.below) return candidate;
  }
  return undefined;
}

function* candidates({ pieces, covers }: DeterministicInput): Generator<string> {
  const text = pieces.map((piece) => piece.text).join("\n");
  const names = identifiers(text).map(([name]) => name);
  const numbers = notableNumbers(text);
  const head = `[Written without a model; quotes ${covers}.]`;
  const footer = `${FOOTER} everything in ${covers}, which is quoted here only in part`;
  const compose = (lines: readonly string[], count: number): string =>
    [
      head,
      ...lines,
      ...list("Names", names, count),
      ...list("Numbers", numbers, count),
      footer,
    ].join("\n");
  for (const length of LINE_LENGTHS) {
    for (const count of MOST_NAMES.slice(0, 2)) yield compose(quoteAll(pieces, length), count);
  }
  for (const kept of KEPT_AT_ENDS) {
    for (const count of MOST_NAMES) yield compose(quoteEnds(pieces, kept), count);
  }
  yield compose([], 0);
  yield `${head}\n${FOOTER} ${covers}`;
}

function quoteAll(pieces: readonly Piece[], length: number): string[] {
  return pieces.map((piece) => quote(piece, length)).filter((line) => line !== "");
}

function quoteEnds(pieces: readonly Piece[], kept: number): string[] {
  if (pieces.length <= 2 * kept) return quoteAll(pieces, 60);
  const between = pieces.length - 2 * kept;
  return [
    ...quoteAll(pieces.slice(0, kept), 60),
    `[… ${between} more …]`,
    ...quoteAll(pieces.slice(-kept), 60),
  ];
}

/** The first line, and the last where it is another. */
function quote({ label, when, text }: Piece, length: number): string {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith(FOOTER));
  const [first, last] = [lines[0], lines.at(-1)];
  if (first === undefined || last === undefined) return "";
  const ends =
    lines.length > 1 ? `${cut(first, length)} … ${cut(last, length)}` : cut(first, length);
  return `${when} ${label}: ${ends}`;
}

function cut(line: string, length: number): string {
  return line.length <= length ? line : `${line.slice(0, length).toWellFormed()}…`;
}

/** Numbers that carry a currency, a unit, a decimal or a version; bounded, as data has no end of digits. */
const NOTABLE_NUMBER = new RegExp(
  [
    String.raw`[$€£] ?\d[\d,.]{0,20}`,
    String.raw`\b\d[\d,]{0,20}(?:\.\d{1,9})? ?(?:%|(?:ms|s|min|h|[KMGT]i?B|px|tokens?|requests?|users?|lines?)\b)`,
    String.raw`\bv?\d{1,20}(?:\.\d{1,20}){1,5}\b`,
  ].join("|"),
  "g",
);

function notableNumbers(text: string): string[] {
  const found = text.match(NOTABLE_NUMBER) ?? [];
  return [...new Set(found.map((number) => number.replace(/[.,]+$/, "")))];
}

function list(title: string, items: readonly string[], count: number): string[] {
  const kept = items.slice(0, count);
  return kept.length > 0 ? [`${title}: ${kept.join(", ")}`] : [];
}
