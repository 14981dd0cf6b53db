// A regular expression ready to be looked for. Pure.

import { RE2JS } from "re2js";
import { errorText } from "../errors.js";
import { mayRunAway, parseRegex, requiredTexts } from "./regex-syntax.js";

export interface Pattern {
  /** The first match; an empty one counts. */
  find(text: string): readonly [from: number, to: number] | undefined;
  /** Texts without which there is no match. */
  readonly required: readonly string[];
  readonly ignoresCase: boolean;
}

export type Compiled =
  | { readonly kind: "pattern"; readonly pattern: Pattern }
  | { readonly kind: "refused"; readonly reason: string };

const SHORTEST_LITERAL = 3;
/** A deeply nested one would overflow the stack of whoever reads it. */
const LONGEST_PATTERN = 2_000;

/** A leading `(?i)` makes it find either case, as other engines have it. */
export function compilePattern(source: string): Compiled {
  if (source.length > LONGEST_PATTERN) return { kind: "refused", reason: tooLong(source) };
  const flag = /^\(\?i\)/.exec(source)?.[0] ?? "";
  const pattern = source.slice(flag.length);
  const ignoresCase = flag !== "";
  const native = compileNative(pattern, ignoresCase);
  if (typeof native === "string") return { kind: "refused", reason: invalid(source, native) };
  const options = parseRegex(pattern);
  const required = requiredTexts(options).flatMap((text) => literalsIn(text, ignoresCase));
  const linear = mayRunAway(options) ? compileLinear(pattern, ignoresCase) : undefined;
  const find = linear ?? ((text: string) => findNative(native, text));
  return { kind: "pattern", pattern: { find, required, ignoresCase } };
}

function tooLong(source: string): string {
  return `A regular expression may have ${LONGEST_PATTERN} characters and this one has ${source.length}: shorten it, or use mode "full_text" for plain words.`;
}

function invalid(source: string, reason: string): string {
  return `${JSON.stringify(source.slice(0, 120))} is not a regular expression (${reason}): escape signs that stand for themselves with a backslash, or use mode "full_text" for plain words.`;
}

/** What is wrong, when it can not be compiled. */
function compileNative(pattern: string, ignoresCase: boolean): RegExp | string {
  try {
    return new RegExp(pattern, ignoresCase ? "i" : "");
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return errorText(error).replace(/^Invalid regular expression: (?:\/.*\/\w*: )?/s, "");
  }
}

function findNative(pattern: RegExp, text: string): readonly [number, number] | undefined {
  const match = pattern.exec(text);
  return match ? [match.index, match.index + match[0].length] : undefined;
}

/** In linear time; undefined for what only a backtracking matcher can do (references, look-around). */
function compileLinear(pattern: string, ignoresCase: boolean): Pattern["find"] | undefined {
  const flags = ignoresCase ? RE2JS.CASE_INSENSITIVE : 0;
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern), flags);
    return (text) => {
      if (!compiled.test(text)) return undefined;
      const matcher = compiled.matcher(text);
      return matcher.find() ? [matcher.start(), matcher.end()] : undefined;
    };
  } catch (error) {
    // It throws classes of its own; whatever it can not compile is left to the other matcher.
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/**
 * The parts of a text that a stored body holds as they are: lines are joined when a message is read, and
 * only ASCII letters have one lower case everywhere.
 */
function literalsIn(text: string, ignoresCase: boolean): string[] {
  const parts = ignoresCase
    ? text.toLowerCase().split(/[^ -~]+/)
    : text.split(/[\n\ud800-\udfff]+/);
  return parts.filter((part) => part.length >= SHORTEST_LITERAL);
}

/** A literal as it stands in JSON. */
export function asStored(literal: string): string {
  return JSON.stringify(literal).slice(1, -1);
}
