// Whether an answer may become a summary. Pure; wrong verdicts cost a model call or a bad memory, so
// every rule asks for clear evidence.

import { FOOTER } from "../prompts/index.js";
import type { AttemptOutcome } from "../store/attempt-store.js";
import { estimateTokens } from "../tokens.js";
import { isOwnName, lastPart, mentions } from "./identifiers.js";

export interface QualityInput {
  readonly prompt: string;
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
/** Lines shorter than this stand in a prompt and an answer by chance. */
const TELLING_LINE = 40;

export function judge(answer: string, input: QualityInput): Verdict {
  if (answer.length > MOST_CHARACTERS) return no("too long", `${answer.length} characters`);
  const content = withoutThinking(answer).trim();
  if (!hasWords(content)) return no("empty", "the answer says nothing");
  if (isEcho(content, input)) return no("echo", "the answer repeats the prompt");
  const body = bodyBeforeFooter(content);
  if (body === undefined) return no("no footer", `the answer has no line "${FOOTER} …"`);
  if (!hasWords(body)) return no("empty", "the answer says nothing but its footer");
  if (REFUSAL.test(body)) return no("empty", "the answer is a refusal");
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

function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

/** Some models think aloud before they answer, and some servers eat the tag that begins it. */
function withoutThinking(answer: string): string {
  return answer
    .replace(/^(?:\s*<(think|thinking|reasoning)>[\s\S]*?(?:<\/\1>|$))+/i, "")
    .replace(/^[\s\S]*\n[ \t]*<\/think(?:ing)?>[ \t]*(?:\n|$)/i, "");
}

/** However it is decorated, and wherever its words are broken into lines. */
const FOOTER_LABEL = new RegExp(
  `^[^\\p{L}\\p{N}\\n]*${FOOTER.slice(0, -1).replaceAll(" ", "\\s+")}[\\s*_]*[:：]`,
  "gimu",
);

/** Undefined without a footer that names something. */
function bodyBeforeFooter(content: string): string | undefined {
  const label = [...content.matchAll(FOOTER_LABEL)].at(-1);
  if (!label) return undefined;
  const list = content.slice(label.index + label[0].length);
  const isLast = list.split("\n").length <= FOOTER_LINES;
  return isLast && hasWords(list) ? content.slice(0, label.index) : undefined;
}

/** An answer about the asking. One that begins "I can not reproduce it" may be the agent's report. */
const REFUSAL = new RegExp(
  [
    String.raw`^\W*(?:(?:i['’]m |i am )?(?:very )?sorry|i apologi[sz]e|unfortunately)?[^\p{L}]*(?:but )?`,
    String.raw`(?:as an ai\b[^.\n]{0,60})?`,
    String.raw`i(?: can(?:no|['’])t| can not| won['’]t|(?: am|['’]m) (?:unable|not able) to)`,
    String.raw` (?:help|assist|comply|summari[sz]e|process this|(?:create|write|provide|give) (?:a|this|that|the) summary)\b`,
  ].join(""),
  "iu",
);

/** The prompt's tags, or two of its sentences, which no summary holds unless its source does. */
function isEcho(content: string, { prompt, source }: QualityInput): boolean {
  const talk = source.toLowerCase();
  const tags = content.toLowerCase().match(PROMPT_TAGS) ?? [];
  if (tags.some((tag) => !talk.includes(tag))) return true;
  const repeated = prompt
    // A fact of the last summary that still holds may be said again in the same words.
    .replace(/<previous_context>[\s\S]*?<\/previous_context>/, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= TELLING_LINE && content.includes(line));
  return repeated.filter((line) => !source.includes(line)).length >= 2;
}

const PROMPT_TAGS =
  /<\/?(?:conversation_segment|conversation_to_condense|previous_context|operator_instructions)\b/g;

/** Identifiers that the source keeps coming back to, when too few of them survive. */
function lostIdentifiers(content: string, { source, depth }: QualityInput): string[] {
  const asked = mentions(source)
    .filter(([name, count]) => count >= REPEATED && !isOwnName(name))
    .slice(0, MOST_ASKED)
    .map(([name]) => name);
  const text = content.toLowerCase();
  const lost = asked.filter((name) => !text.includes(lastPart(name).toLowerCase()));
  return asked.length - lost.length < leastKept(asked.length, depth) ? lost : [];
}

/** The higher the node, the more its prompt allows to be dropped. */
function leastKept(asked: number, depth: number): number {
  if (depth <= 1) return Math.ceil(asked / 3);
  return depth === 2 && asked >= 3 ? 1 : 0;
}
