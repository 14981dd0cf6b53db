// Patterns that backtrack without end, over many messages that make them do so.

import { expect } from "vitest";
import type { MessageId } from "../../src/types.js";
import { hitsOf, REGEX, Talk } from "./search.js";

export const RUN_AWAY = ["(a+)+$", "(.*a){12}$"];

const EVIL = `${"lorem ipsum dolor a ".repeat(25)}${"a".repeat(30)}!`;
const MATCHING = `${EVIL} ${"xa".repeat(12)}`;
/** Counted from the newest message. */
const PLANTED = [1, 500, 900];

/**
 * Searches so many messages with matches planted among the newest thousand: the first answer holds
 * them, and its cursor leads through all the others.
 */
export async function searchRunAway(
  pattern: string,
  count: number,
): Promise<{ tookMs: number; lagMs: number; pages: number }> {
  const talk = new Talk();
  const texts = Array.from({ length: count }, (_, index) => `${index}: ${EVIL}`);
  for (const at of PLANTED) texts[count - at] = MATCHING;
  const ids = talk.addAll(texts);
  const wanted = PLANTED.map((at) => ids[count - at] as MessageId);
  const lag = watchLag();
  const started = performance.now();
  const answer = await talk.ask(pattern, { ...REGEX, limit: 200 });
  const tookMs = performance.now() - started;
  const lagMs = lag.end();
  expect(hitsOf(answer).map(({ id }) => id)).toEqual(wanted);
  const rest = await pagesFrom(talk, pattern, answer.kind === "found" ? answer.cursor : undefined);
  expect(rest.found).toEqual([]);
  return { tookMs, lagMs, pages: rest.pages + 1 };
}

async function pagesFrom(
  talk: Talk,
  pattern: string,
  from: string | undefined,
): Promise<{ found: unknown[]; pages: number }> {
  const found: unknown[] = [];
  let pages = 0;
  for (let cursor = from; cursor !== undefined; pages += 1) {
    const answer = await talk.ask(pattern, { ...REGEX, limit: 200, cursor });
    found.push(...hitsOf(answer).map(({ id }) => id));
    cursor = answer.kind === "found" ? answer.cursor : undefined;
  }
  return { found, pages };
}

/** How late a timer of this thread came at the worst, in milliseconds. */
function watchLag(): { end(): number } {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 10);
    last = now;
  }, 10);
  return {
    end: () => {
      clearInterval(timer);
      return worst;
    },
  };
}
