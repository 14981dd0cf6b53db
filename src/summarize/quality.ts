// Whether an answer may become a summary. Pure; wrong verdicts cost a model call or a bad memory, so
// every rule asks for clear evidence.

import { FOOTER } from "../prompts/index.js";
import type { AttemptOutcome } from "../store/attempt-store.js";
import { estimateTokens } from "../tokens.js";
import { identifiers, lastPart } from "./identifiers.js";

export interface QualityInput {
  /** The prompt's own words, without what was filled in. */
  readonly instructions: string;
  readonly source: string;
  readonly sourceTokens: number;
  readonly targetTokens: number;
  readonly depth: number;
}

export type Verdict =
  | { readonly ok: true; readonly content: string; readonly tokens: number }
  | { readonly ok: false; readonly outcome: AttemptOutcome; readonly detail: string };

/** An answer of this many times its target did not understand the task. */
const MOST_TIMES_TARGET = 4;
/** Beyond this many characters an answer is not even looked at. */
const MOST_CHARACTERS = 400_000;
/** The footer stands at the end; a list that was broken into lines may follow it. */
const FOOTER_LINES = 12;
const REPEATED = 3;
const MOST_ASKED = 6;
const PROMPT_TAG =
  /<\/?(?:conversation_segment|conversation_to_condense|previous_context|operator_instructions)\b/i;
/** Lines shorter than this stand in a prompt and an answer by chance. */
const TELLING_LINE = 40;

export function judge(answer: string, input: QualityInput): Verdict {
  if (answer.length > MOST_CHARACTERS) return no("too long", `${answer.length} characters`);
  const content = withoutThinking(answer).trim();
  const words = content.replace(footerPattern(), "").replace(/\W+/g, "");
  if (words === "") return no("empty", "the answer says nothing");
  if (isEcho(content, input)) return no("echo", "the answer repeats the prompt");
  if (!hasFooter(content)) return no("no footer", `the answer has no line "${FOOTER} …"`);
  const tokens = estimateTokens(content);
  if (tokens >= input.sourceTokens) {
    return no("not smaller", `${tokens} tokens from ${input.sourceTokens}`);
  }
  if (tokens > MOST_TIMES_TARGET * input.targetTokens) {
    return no("too long", `${tokens} tokens, about ${input.targetTokens} were asked for`);
  }
  const lost = lostIdentifiers(content, input);
  if (lost.length > 0) return no("lost identifiers", lost.join(", "));
  return { ok: true, content, tokens };
}

function no(outcome: AttemptOutcome, detail: string): Verdict {
  return { ok: false, outcome, detail };
}

/** Some models think aloud before they answer. */
function withoutThinking(answer: string): string {
  return answer.replace(/^\s*<(think|thinking|reasoning)>[\s\S]*?(?:<\/\1>|$)/i, "");
}

function footerPattern(): RegExp {
  return new RegExp(`^[\\s>*_#-]*${FOOTER.slice(0, -1)}[\\s*_]*:[\\s*_]*`, "im");
}

function hasFooter(content: string): boolean {
  const end = content.split("\n").slice(-FOOTER_LINES).join("\n");
  const [, after] = end.split(footerPattern());
  return after !== undefined && /\w|\p{L}/u.test(after);
}

/** Its tags, or two of its own sentences: no summary holds those by chance, unless its source does. */
function isEcho(content: string, { instructions, source }: QualityInput): boolean {
  if (PROMPT_TAG.test(content)) return true;
  const telling = instructions
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= TELLING_LINE && !source.includes(line));
  return telling.filter((line) => content.includes(line)).length >= 2;
}

/**
 * Identifiers that the source keeps coming back to, when too few of them survive. The higher the node,
 * the more its prompt allows to be dropped.
 */
function lostIdentifiers(content: string, { source, depth }: QualityInput): string[] {
  const asked = identifiers(source)
    .filter(([, count]) => count >= REPEATED)
    .slice(0, MOST_ASKED)
    .map(([name]) => name);
  const text = content.toLowerCase();
  const lost = asked.filter((name) => !text.includes(lastPart(name).toLowerCase()));
  const needed = depth <= 1 ? Math.ceil(asked.length / 3) : asked.length >= 3 ? 1 : 0;
  return asked.length - lost.length < needed ? lost : [];
}
