// Conversations with questions about them, the same for the same seed: episodes over many sessions, with
// talk of other things between and inside them.

import type { AgentMessage } from "../../src/types.js";
import { assistantMessage, toolLoop, userMessage } from "../../test/support/messages.js";
import {
  ASIDES,
  CHATTER,
  type EpisodeKind,
  EPISODES,
  MENTIONS,
  type Subject,
  THINGS,
} from "./episodes.js";

export interface Question {
  readonly sentence: string;
  readonly keywords: string;
  /** The place of the message that answers it, among all messages. */
  readonly answer: number;
}

export interface Generated {
  readonly messages: readonly AgentMessage[];
  /** Where each session begins, among all messages: the host gives each a session id of its own. */
  readonly starts: readonly number[];
  readonly questions: readonly Question[];
}

export interface Shape {
  readonly seed: number;
  readonly sessions: number;
}

const START = Date.UTC(2025, 8, 1, 7);
const DAY_MS = 86_400_000;
const MOST_SHARED = 0.3;
const THINGS_OF_A_KIND = 8;
/** The share of what is said within an episode that is not about it. */
const OFF_TOPIC = 0.3;
/** The shares of answers that name what they are about, and of those that follow a question. */
const NAMED = 0.5;
const ASKED = 0.7;
/** The share of questions that know the month. */
const DATED = 0.2;
/** The share of small talk that names something without telling anything. */
const MENTIONED = 0.12;

export function generate({ seed, sessions }: Shape): Generated {
  const random = randomFrom(seed);
  const messages: AgentMessage[] = [];
  const questions: Question[] = [];
  const starts: number[] = [];
  const things = drawThings(random);
  const pairs = shuffled(
    EPISODES.flatMap((kind) => things[kind.about].map((thing) => ({ thing, kind }))),
    random,
  );
  const names = Object.values(things).flat();
  for (let session = 0; session < sessions; session += 1) {
    starts.push(messages.length);
    let at = START + session * 1.6 * DAY_MS + random() * 10 * 3_600_000;
    const tick = (): number => (at += 20_000 + Math.floor(random() * 240_000));
    const episodes = Math.floor(random() * 3);
    for (let index = 0; index < episodes; index += 1) {
      smallTalk(messages, names, random, tick);
      const pair = pairs.pop();
      if (pair) questions.push(...episode(messages, pair, random, tick));
    }
    smallTalk(messages, names, random, tick);
  }
  return { messages, starts, questions };
}

function drawThings(random: () => number): Record<Subject, string[]> {
  const draw = (subject: Subject): string[] =>
    shuffled(THINGS[subject], random).slice(0, THINGS_OF_A_KIND);
  return { project: draw("project"), place: draw("place"), person: draw("person") };
}

function smallTalk(
  messages: AgentMessage[],
  names: readonly string[],
  random: () => number,
  tick: () => number,
): void {
  const turns = 1 + Math.floor(random() * 4);
  for (let turn = 0; turn < turns; turn += 1) {
    const [user, assistant] = pick(random() < MENTIONED ? MENTIONS : CHATTER, random);
    messages.push(userMessage(user.replaceAll("{x}", pick(names, random)), tick()));
    if (random() < 0.25) messages.push(...toolLoop(`call-${messages.length}`, log(random), tick()));
    messages.push(assistantMessage(assistant, tick()));
  }
}

function episode(
  messages: AgentMessage[],
  { thing, kind }: { thing: string; kind: EpisodeKind },
  random: () => number,
  tick: () => number,
): Question[] {
  const fill = (text: string, value = "", detail = ""): string =>
    text.replaceAll("{x}", thing).replaceAll("{v}", value).replaceAll("{w}", detail);
  messages.push(userMessage(fill(pick(kind.openers, random)), tick()));
  for (let turn = 1 + Math.floor(random() * 3); turn > 0; turn -= 1) {
    const [user, assistant] = pick(random() < OFF_TOPIC ? ASIDES : kind.talk, random);
    messages.push(assistantMessage(fill(assistant), tick()), userMessage(fill(user), tick()));
  }
  if (random() < 0.4) messages.push(...toolLoop(`call-${messages.length}`, log(random), tick()));
  const told = fill(
    pick(kind.answers, random),
    pick(kind.values, random),
    pick(kind.details, random),
  );
  const answer = random() < NAMED ? fill(pick(NAMING, random)).replace("{a}", () => told) : told;
  const isAsked = random() < ASKED;
  if (isAsked) messages.push(assistantMessage(pick(kind.asks, random), tick()));
  messages.push(userMessage(answer, tick()));
  const place = messages.length - 1;
  messages.push(assistantMessage(pick(REPLIES, random), tick()));
  const question = fill(pick(kind.questions, random));
  const sentence = random() < DATED ? question.replace("?", ` in ${monthOf(tick())}?`) : question;
  if (shared(sentence, answer) > MOST_SHARED) return [];
  return [{ sentence, keywords: fill(kind.keywords), answer: place }];
}

function monthOf(at: number): string {
  const format = { month: "long", year: "numeric", timeZone: "UTC" } as const;
  return new Intl.DateTimeFormat("en-US", format).format(at);
}

/** The share of a question's words that stand in its answer too. */
function shared(question: string, answer: string): number {
  const words = wordsOf(question);
  const known = new Set(wordsOf(answer));
  return words.filter((word) => known.has(word)).length / words.length;
}

export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function log(random: () => number): string {
  const lines = Array.from({ length: 4 + Math.floor(random() * 20) }, () => {
    const thing = random() < 0.1 ? pick(THINGS.project, random) : pick(COMPONENTS, random);
    return `${pick(["INFO", "WARN", "DEBUG"], random)} ${thing}: ${pick(LOG_LINES, random)} (${Math.floor(random() * 9000)} ms)`;
  });
  return lines.join("\n");
}

const NAMING = ["{a} So much for {x}.", "As for {x}: {a}", "{x}: {a}", "News of {x}. {a}"];
const REPLIES = ["Noted.", "Understood, I keep that in mind.", "Good, done."];
const COMPONENTS = ["worker-1", "worker-2", "db", "http", "scheduler", "kernel", "dns"];
const LOG_LINES = [
  "request served",
  "cache miss",
  "retrying after timeout",
  "connection closed by peer",
  "heartbeat ok",
  "listening on port",
  "reloaded settings",
  "certificate valid",
  "queue drained",
];

function pick<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)] as T;
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
