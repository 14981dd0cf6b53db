// The last level: a summary that no model wrote. It quotes what a reader needs most (first and last
// lines, names, numbers, where the rest is) instead of cutting blindly. Pure.

import { FOOTER } from "../prompts/index.js";
import { estimateTokens } from "../tokens.js";
import { identifiers, isOwnName } from "./identifiers.js";
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
const HEAD = "[Written without a model;";
const NAMES = "Names";
const NUMBERS = "Numbers";
/** What a finer summary puts before its quotes of still finer ones; a node names its own sources. */
const LABEL_OF_SUMMARY = /^[^:]*(?::\d\d[^:]*)* sum_[0-9a-f]{16}: /;

/** Undefined when the source is too short to be said in fewer tokens. */
export function deterministicSummary(input: DeterministicInput): string | undefined {
  for (const candidate of candidates(input)) {
    if (estimateTokens(candidate) < input.below) return candidate;
  }
  return undefined;
}

function* candidates({ pieces, covers }: DeterministicInput): Generator<string> {
  const names = merged(pieces.map(({ text }) => identifiers(text).map(([name]) => name))).filter(
    (name) => !isOwnName(name),
  );
  const numbers = merged(pieces.map(({ text }) => notableNumbers(text)));
  const said = pieces.map(withoutFrame);
  const head = `${HEAD} quotes ${covers}.]`;
  const footer = `${FOOTER} everything in ${covers}, which is quoted here only in part`;
  const compose = (lines: readonly string[], count: number): string =>
    [head, ...lines, ...list(NAMES, names, count), ...list(NUMBERS, numbers, count), footer].join(
      "\n",
    );
  for (const length of LINE_LENGTHS) {
    for (const count of MOST_NAMES.slice(0, 2)) yield compose(quoteAll(said, length), count);
  }
  for (const kept of KEPT_AT_ENDS) {
    for (const count of MOST_NAMES) yield compose(quoteEnds(said, kept), count);
  }
  yield compose([], 0);
  yield `${head}\n${FOOTER} ${covers}`;
}

/** The lists of all pieces as one: what more of them hold comes first, then what comes first in them. */
function merged(lists: readonly (readonly string[])[]): string[] {
  const places = new Map<string, { count: number; rank: number }>();
  for (const [rank, item] of lists.flatMap((one) => [...one.entries()])) {
    const known = places.get(item);
    places.set(item, {
      count: (known?.count ?? 0) + 1,
      rank: Math.min(known?.rank ?? rank, rank),
    });
  }
  return [...places]
    .toSorted(([, a], [, b]) => b.count - a.count || a.rank - b.rank)
    .map(([item]) => item);
}

/** Of a finer summary that no model wrote, the quotes alone; what it lists goes into our own lists. */
function withoutFrame(piece: Piece): Piece {
  if (!piece.label.startsWith("sum_") || !piece.text.startsWith(HEAD)) return piece;
  const lines = piece.text
    .split("\n")
    .slice(1)
    .filter((line) => ![NAMES, NUMBERS].some((title) => line.startsWith(`${title}: `)))
    .map((line) => line.replace(LABEL_OF_SUMMARY, ""));
  return { ...piece, text: lines.join("\n") };
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
