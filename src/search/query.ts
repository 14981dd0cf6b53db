// What a full-text query asks for: "quoted phrases", prefix*, words, dates, and who said it. Pure. What
// is sent to the index is built from letters and digits alone, so no input is a syntax error.

import { calendarWord, dateWords, humpsOf, indexForm, isMonth, isUnspaced } from "./index-text.js";
import { isoAt } from "../time-format.js";
import { STOP_WORDS } from "./stop-words.js";

export interface Term {
  /** An expression of the index's query language. */
  readonly match: string;
  /** As typed, to be marked in what is found. */
  readonly words: readonly string[];
}

export interface Query {
  /** Every hit has to match all of these. */
  readonly required: readonly Term[];
  /** Each is looked up by itself; a hit need not match any one of them. */
  readonly terms: readonly Term[];
  /** The role that the question names. */
  readonly speaker: string | undefined;
  /** True for a question in words: its answer may stand beside the words it asks with. */
  readonly isSentence: boolean;
}

/** More than a question needs; what follows is not looked at. */
const LONGEST = 4_000;
const MOST_TERMS = 24;
const SENTENCE_TERMS = 3;
const QUESTION =
  /[?？]\s*$|^\s*(?:who|whom|whose|what|when|where|which|why|how|did|do|does|is|are|was|were|has|have|had|can|could|should)\s/i;
/** A longer run without spaces is several words. */
const LONGEST_UNSPACED_WORD = 4;

/** Undefined when there is nothing to look for. `today` (ISO) tells what "yesterday" is. */
export function parseQuery(pattern: string, today: string): Query | undefined {
  const text = pattern.slice(0, LONGEST).replaceAll("\0", " ").replace(/[“”„]/g, '"');
  const { phrases, rest } = takePhrases(text);
  const { role, rest: unspoken } = takeSpeaker(rest);
  const dates = takeDates(unspoken, today);
  const words = wordsOf(dates.rest);
  const telling = words.filter((word) => !STOP_WORDS.has(plain(word)));
  const nothingElse = telling.length + dates.terms.length + phrases.length === 0;
  const chosen = nothingElse ? wordsOf(rest) : telling;
  const terms = distinct([...dates.terms, ...chosen.flatMap(termsOf)]).slice(0, MOST_TERMS);
  const required = distinct(phrases.flatMap(phraseTerm)).slice(0, MOST_TERMS);
  if (terms.length + required.length === 0) return undefined;
  const isQuestion = terms.length >= SENTENCE_TERMS || QUESTION.test(text);
  return { required, terms, speaker: role, isSentence: isQuestion && required.length === 0 };
}

function takePhrases(text: string): { phrases: string[]; rest: string } {
  const phrases: string[] = [];
  const rest = text.replace(/"([^"]*)"/g, (_, phrase: string) => {
    phrases.push(phrase);
    return " ";
  });
  return { phrases, rest: rest.replaceAll('"', " ") };
}

const SAYING =
  "(?:say|said|says|ask|asked|asks|tell|told|mention|mentioned|write|wrote|answer|answered|reply|replied|suggest|suggested|want|wanted|request|requested)";
const SPEAKERS: readonly (readonly [role: string, pattern: RegExp])[] = [
  ["user", speaker("(?:the )?user|i")],
  ["assistant", speaker("(?:the )?(?:assistant|agent|model)|you")],
  ["toolResult", /\b(?:the )?tools? (?:results?|outputs?|said|says|returned|printed)\b|\btool\b/i],
];

function speaker(who: string): RegExp {
  return new RegExp(
    `\\b(?:${who}) ${SAYING}\\b|\\b(?:did|has|have|had) (?:${who}) ${SAYING}\\b`,
    "i",
  );
}

function takeSpeaker(text: string): { role: string | undefined; rest: string } {
  const found = SPEAKERS.find(([, pattern]) => pattern.test(text));
  if (!found) return { role: undefined, rest: text };
  return { role: found[0], rest: text.replace(found[1], " ") };
}

const DAY = "(?<day>\\d{1,2})(?:st|nd|rd|th)?";
const MONTH = "(?<month>[a-z]{3,9})\\.?";
const YEAR = "(?<year>(?:19|20)\\d\\d)";
const DATES: readonly RegExp[] = [
  new RegExp(`\\b${MONTH} ${DAY}(?![\\d:])(?:,? ${YEAR}\\b)?`, "gi"),
  new RegExp(`\\b${DAY} (?:of )?${MONTH}(?:,? ${YEAR}\\b)?`, "gi"),
  new RegExp(`\\b${MONTH},? ${YEAR}\\b`, "gi"),
];
const ISO_DATE = /\b\d{4}-\d{2}-\d{2}\b/g;
const RELATIVE_DAY = /\b(?:today|yesterday)\b/gi;
const DAY_MS = 86_400_000;

/** Dates are asked for as the words under which a day is indexed, and as they were typed. */
function takeDates(text: string, today: string): { terms: Term[]; rest: string } {
  const terms: Term[] = [];
  const take = (typed: string, words: string | undefined): string => {
    if (words === undefined) return typed;
    terms.push(dateTerm(typed, words));
    return " ";
  };
  const rest = text
    .replace(ISO_DATE, (typed) => take(typed, wordsOfDay(typed)))
    .replace(RELATIVE_DAY, (typed) => {
      const back = typed.toLowerCase() === "today" ? 0 : DAY_MS;
      return take(typed, wordsOfDay(isoAt(Date.parse(today) - back)));
    });
  const named = (left: string, pattern: RegExp): string =>
    left.replace(pattern, (typed: string, ...found: unknown[]) =>
      take(typed, wordsOfDate(found.at(-1) as Record<string, string | undefined>)),
    );
  return { terms, rest: DATES.reduce(named, rest) };
}

function dateTerm(typed: string, words: string): Term {
  const [first, second] = words.split(" ");
  const ways = [...new Set([typed, `${second} ${first}`])].map(quoted).join(" OR ");
  return {
    match: `({dates} : ${quoted(words)} OR {text} : (${ways}))`,
    words: wordsOf(typed).filter((word) => !STOP_WORDS.has(plain(word))),
  };
}

function wordsOfDay(iso: string): string | undefined {
  const words = dateWords(iso).split(" ").slice(0, 3).join(" ");
  return words === "" ? undefined : words;
}

function wordsOfDate(date: Record<string, string | undefined>): string | undefined {
  const month = calendarWord(date["month"] ?? "");
  if (month === undefined || !isMonth(month)) return undefined;
  const day = date["day"] && String(Number(date["day"]));
  return [day, month, date["year"]].filter((word) => word !== undefined).join(" ");
}

/** Words are parted by spaces and by punctuation that is part of no path or identifier. */
function wordsOf(text: string): string[] {
  return text
    .replace(/['’](?:s|re|ve|ll|d|m|t)\b/gi, "")
    .split(/[\s,;:!?()[\]{}<>|=`'"’“”„。、，？！；：（）「」…]+/u)
    .map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}*]+$/gu, ""))
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

function termsOf(word: string): Term[] {
  if (word.endsWith("*")) return prefixTerm(word.replace(/\*+$/, ""));
  if (isUnspaced(word)) return unspacedTerms(word);
  const calendar = calendarWord(word);
  if (calendar !== undefined && (calendar === word.toLowerCase() || isMonth(calendar))) {
    const ways = [...new Set([word, calendar])].map(quoted).join(" OR ");
    return [{ match: `{text dates} : (${ways})`, words: [word, calendar] }];
  }
  if (/^(?:19|20)\d\d$/.test(word))
    return [{ match: `{text dates} : ${quoted(word)}`, words: [word] }];
  const humps = humpsOf(word);
  const match = humps.length > 0 ? `(${quoted(word)} OR ${quoted(humps.join(" "))})` : quoted(word);
  return [{ match: `{text} : ${match}`, words: [word] }];
}

function prefixTerm(word: string): Term[] {
  if (!/[\p{L}\p{N}]/u.test(word)) return [];
  return [{ match: `{text} : ${quoted(word)} *`, words: [`${word}*`] }];
}

/** One character stands at the beginning of a pair; a long run is a sentence of several words. */
function unspacedTerms(word: string): Term[] {
  const characters = [...word];
  if (characters.length === 1) return prefixTerm(word);
  const form = indexForm(word).trim();
  const pairs = form.split(/\s+/);
  if (characters.length <= LONGEST_UNSPACED_WORD) {
    return [{ match: `{text} : ${quoted(form)}`, words: [word] }];
  }
  return pairs.map((pair) => ({ match: `{text} : ${quoted(pair)}`, words: [pair] }));
}

/** A phrase of one word is that word, whichever way it is part of an identifier. */
function phraseTerm(phrase: string): Term[] {
  const words = wordsOf(phrase);
  if (words.length === 0) return [];
  if (words.length === 1) return oneWord(words[0] as string);
  return [{ match: `{text} : ${quoted(indexForm(phrase))}`, words }];
}

function oneWord(word: string): Term[] {
  if (!isUnspaced(word)) return termsOf(word);
  if ([...word].length === 1) return prefixTerm(word);
  return [{ match: `{text} : ${quoted(indexForm(word))}`, words: [word] }];
}

function quoted(words: string): string {
  return `"${words.replaceAll('"', " ").replaceAll("\0", " ").trim()}"`;
}

function distinct(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [term.match, term])).values()];
}
