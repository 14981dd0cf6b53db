// The match of the rows of release 0.1.x with a transcript: what is paired is equal and in order, and
// lists that are nearly the same are paired nearly whole, however long and however repetitive.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { align } from "../src/transcript-sync/alignment.js";

const keys = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 40 });
const LONG = 20_000;

function expectSound(left: readonly string[], right: readonly string[]): [number, number][] {
  const pairs = align(left, right);
  const broken = pairs.filter(([a, b], index) => {
    const [a0, b0] = pairs[index - 1] ?? [-1, -1];
    return left[a] === undefined || left[a] !== right[b] || a <= a0 || b <= b0;
  });
  expect(broken).toEqual([]);
  return pairs;
}

/** The textbook's longest common subsequence. */
function longestCommon(left: readonly string[], right: readonly string[]): number {
  let row = Array.from({ length: right.length + 1 }, () => 0);
  for (const key of left) {
    const next = [0];
    for (const [index, other] of right.entries()) {
      const skipped = Math.max(next[index] as number, row[index + 1] as number);
      next.push(key === other ? (row[index] as number) + 1 : skipped);
    }
    row = next;
  }
  return row.at(-1) as number;
}

/** Keys that repeat without a pattern, the same ones for the same seed. */
function scrambled(length: number, names: readonly string[], seed: number): string[] {
  let state = seed;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return names[(state >>> 16) % names.length] as string;
  });
}

function alternating(length: number): string[] {
  return Array.from({ length }, (_, index) => (index % 2 === 0 ? "read" : "ok"));
}

describe("an alignment", () => {
  it("pairs equal keys, in the order of both lists", () => {
    fc.assert(fc.property(keys, keys, (left, right) => void expectSound(left, right)));
  });

  it("pairs as many as can be where no key stands alone", () => {
    const doubled = keys.map((list) => [...list, "a", "b", "c", "d", "a", "b", "c", "d"]);
    fc.assert(
      fc.property(doubled, doubled, (left, right) => {
        expect(expectSound(left, right)).toHaveLength(longestCommon(left, right));
      }),
    );
  });

  it("pairs all of two equal lists", () => {
    for (const list of [alternating(LONG), scrambled(LONG, ["a", "b"], 7)]) {
      expect(expectSound(list, list)).toHaveLength(LONG);
    }
  });

  it.each([
    ["alternating", alternating(LONG)],
    ["scrambled", scrambled(LONG, ["a", "b", "c"], 3)],
  ])("pairs all that two lists share that differ in a few places (%s)", (_name, list) => {
    const place = fc.nat({ max: LONG - 1 });
    const places = fc.uniqueArray(place, { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(places, places, (leftOut, putIn) => {
        const left = list.filter((_, index) => !leftOut.includes(index));
        const right = list.flatMap((key, index) => (putIn.includes(index) ? ["b", key] : [key]));
        expect(expectSound(left, right)).toHaveLength(left.length);
      }),
      { numRuns: 5 },
    );
  });

  it("finds most of a repetitive list behind thousands of rows that the other lacks", () => {
    const list = scrambled(LONG, ["a", "b", "c"], 5);
    const right = [...scrambled(5_000, ["a", "b", "c"], 11), ...list];
    expect(expectSound(list, right).length).toBeGreaterThan(0.99 * LONG);
    const middle = [...list.slice(0, 9_000), ...alternating(3_000), ...list.slice(9_000)];
    expect(expectSound(list, middle).length).toBeGreaterThan(0.99 * LONG);
  });

  it("comes to an end with long lists that have little in common", () => {
    const left = scrambled(LONG, ["a", "b"], 1);
    const right = scrambled(LONG, ["b", "a", "c", "d"], 2);
    expect(expectSound(left, right).length).toBeGreaterThan(LONG / 4);
    const [as, bs] = ["a", "b"].map((key) => Array.from({ length: LONG }, () => key));
    expectSound([...as!, ...bs!], [...bs!, ...as!]);
  });
});
