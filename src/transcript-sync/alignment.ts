// The one place that compares content: rows of release 0.1.x, which have no entry ids, are matched
// with the transcript once, in order, by role and normalized text. What finds no partner stays as a
// searchable archive. Pure.

import { plainText } from "../message-codec.js";
import type { AgentMessage } from "../types.js";

/** What makes two messages the same for the alignment. */
export function alignmentKey(message: AgentMessage): string {
  return `${message.role}\n${plainText(message).replace(/\s+/g, " ").trim()}`;
}

/** Stretches with more pairs to compare than this have nothing in common worth the time. */
const MOST_PAIRS = 4_000_000;

/**
 * Pairs of indexes, increasing on both sides, at which the lists hold the same key. Keys that stand
 * once on each side anchor the match; between two anchors the longest common run of keys decides. So
 * an "ok" that is missing on one side can not pull everything behind it to the next "ok".
 */
export function align(left: readonly string[], right: readonly string[]): [number, number][] {
  const pairs: [number, number][] = [];
  let from: [number, number] = [0, 0];
  for (const anchor of [...anchors(left, right), [left.length, right.length] as [number, number]]) {
    pairs.push(...alignStretch(left, right, from, anchor));
    if (anchor[0] < left.length) pairs.push(anchor);
    from = [anchor[0] + 1, anchor[1] + 1];
  }
  return pairs;
}

/** The longest increasing series of pairs of keys that stand once on each side. */
function anchors(left: readonly string[], right: readonly string[]): [number, number][] {
  const rightIndex = uniqueIndexes(right);
  const candidates: [number, number][] = [];
  for (const [key, index] of uniqueIndexes(left)) {
    const partner = rightIndex.get(key);
    if (partner !== undefined) candidates.push([index, partner]);
  }
  candidates.sort(([a], [b]) => a - b);
  return longestIncreasing(candidates);
}

function uniqueIndexes(keys: readonly string[]): Map<string, number> {
  const indexes = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [index, key] of keys.entries()) {
    if (indexes.has(key)) repeated.add(key);
    indexes.set(key, index);
  }
  for (const key of repeated) indexes.delete(key);
  return indexes;
}

function longestIncreasing(pairs: readonly [number, number][]): [number, number][] {
  /** Per length, the pair that ends the best series of it. */
  const ends: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [index, pair] of pairs.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const end = pairs[ends[middle] as number] as [number, number];
      if (end[1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? ends[low - 1] : undefined;
    ends[low] = index;
  }
  const series: [number, number][] = [];
  for (let at = ends.at(-1); at !== undefined; at = before[at]) {
    series.push(pairs[at] as [number, number]);
  }
  return series.toReversed();
}

/** The longest common subsequence of what lies between two anchors. */
function alignStretch(
  left: readonly string[],
  right: readonly string[],
  [leftFrom, rightFrom]: readonly [number, number],
  [leftTo, rightTo]: readonly [number, number],
): [number, number][] {
  const rows = leftTo - leftFrom;
  const columns = rightTo - rightFrom;
  if (rows <= 0 || columns <= 0 || rows * columns > MOST_PAIRS) return [];
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] as number;
  const same = (row: number, column: number): boolean =>
    left[leftFrom + row] === right[rightFrom + column];
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      lengths[row * width + column] = same(row, column)
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let row = 0, column = 0; row < rows && column < columns;) {
    if (same(row, column)) {
      pairs.push([leftFrom + row, rightFrom + column]);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return pairs;
}
