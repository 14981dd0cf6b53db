// Finds the rows of release 0.1.x, which have no entry ids, in the transcript: once, in order, by keys.
// What finds no partner stays as a searchable archive. Pure.

type Pair = [left: number, right: number];

/** Where nothing else tells, this many differences are looked over at once. */
const MOST_EDITS = 1_000;

/**
 * Pairs of indexes, increasing on both sides, at which the lists hold the same key. Keys that stand
 * once on each side anchor the match; between two anchors the longest common run of keys decides. So
 * an "ok" that is missing on one side can not pull everything behind it to the next "ok".
 */
export function align(left: readonly string[], right: readonly string[]): Pair[] {
  const ours = shared(left, right);
  const theirs = shared(right, left);
  return alignShared(ours.keys, theirs.keys).map(([a, b]) => [
    ours.indexes[a] as number,
    theirs.indexes[b] as number,
  ]);
}

interface Shared {
  readonly keys: readonly string[];
  /** Where each of them stands in its list. */
  readonly indexes: readonly number[];
}

/** The keys of a list that the other holds too: no other one finds a partner. */
function shared(list: readonly string[], other: readonly string[]): Shared {
  const known = new Set(other);
  const indexes = [...list.keys()].filter((index) => known.has(list[index] as string));
  return { keys: indexes.map((index) => list[index] as string), indexes };
}

function alignShared(left: readonly string[], right: readonly string[]): Pair[] {
  const pairs: Pair[] = [];
  let from: Pair = [0, 0];
  const end: Pair = [left.length, right.length];
  for (const anchor of [...anchors(left, right), end]) {
    for (const pair of alignStretch(left, right, from, anchor)) pairs.push(pair);
    if (anchor !== end) pairs.push(anchor);
    from = [anchor[0] + 1, anchor[1] + 1];
  }
  return pairs;
}

/** The longest increasing series of pairs of keys that stand once on each side. */
function anchors(left: readonly string[], right: readonly string[]): Pair[] {
  const rightIndex = uniqueIndexes(right);
  const candidates: Pair[] = [];
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

function longestIncreasing(pairs: readonly Pair[]): Pair[] {
  /** Per length, the pair that ends the best series of it. */
  const ends: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [index, pair] of pairs.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const end = pairs[ends[middle] as number] as Pair;
      if (end[1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? ends[low - 1] : undefined;
    ends[low] = index;
  }
  const series: Pair[] = [];
  for (let at = ends.at(-1); at !== undefined; at = before[at]) {
    series.push(pairs[at] as Pair);
  }
  return series.toReversed();
}

/**
 * The longest common subsequence of what lies between two anchors, piece by piece where the lists
 * differ too much: each piece takes as much of both as so many differences reach. So the work grows
 * with the lengths, never with their product.
 */
function alignStretch(
  left: readonly string[],
  right: readonly string[],
  [leftFrom, rightFrom]: Pair,
  [leftTo, rightTo]: Pair,
): Pair[] {
  const pairs: Pair[] = [];
  // The beginning first: a branch keeps it, so that of equal keys the first are the likelier ones.
  while (leftFrom < leftTo && rightFrom < rightTo && left[leftFrom] === right[rightFrom]) {
    pairs.push([leftFrom, rightFrom]);
    leftFrom += 1;
    rightFrom += 1;
  }
  const tail: Pair[] = [];
  while (leftTo > leftFrom && rightTo > rightFrom && left[leftTo - 1] === right[rightTo - 1]) {
    leftTo -= 1;
    rightTo -= 1;
    tail.push([leftTo, rightTo]);
  }
  while (leftFrom < leftTo && rightFrom < rightTo) {
    const piece = alignPiece(left.slice(leftFrom, leftTo), right.slice(rightFrom, rightTo));
    for (const [a, b] of piece.pairs) pairs.push([leftFrom + a, rightFrom + b]);
    leftFrom += piece.end[0];
    rightFrom += piece.end[1];
  }
  return [...pairs, ...tail.toReversed()];
}

interface Piece {
  readonly pairs: Pair[];
  /** What of both lists the pairs account for. */
  readonly end: Pair;
}

/** What of the left list each diagonal (left minus right) has behind it, -1 where nothing leads. */
type Round = Int32Array;

/**
 * Myers' greedy search: round by round, one more key is left out, on either side, and each diagonal
 * goes as far as the lists are equal there. Ends with both lists, or after the most edits.
 */
function alignPiece(left: readonly string[], right: readonly string[]): Piece {
  const rounds: Round[] = [];
  for (;;) {
    const round = nextRound(left, right, rounds);
    rounds.push(round);
    const edits = rounds.length - 1;
    const diagonal = farthest(round, edits);
    const a = round[diagonal + edits] as number;
    const end: Pair = [a, a - diagonal];
    const isWhole = end[0] === left.length && end[1] === right.length;
    if (isWhole || edits === MOST_EDITS) return { pairs: traceBack(rounds, end), end };
  }
}

function nextRound(
  left: readonly string[],
  right: readonly string[],
  rounds: readonly Round[],
): Round {
  const edits = rounds.length;
  const round = new Int32Array(2 * edits + 1).fill(-1);
  for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
    let a = startOf(rounds, edits, diagonal, [left.length, right.length]);
    if (a < 0) continue;
    while (a < left.length && a - diagonal < right.length && left[a] === right[a - diagonal]) {
      a += 1;
    }
    round[diagonal + edits] = a;
  }
  return round;
}

/** Where a round enters a diagonal: from the better neighbor, behind a key of the right or the left. */
function startOf(
  rounds: readonly Round[],
  edits: number,
  diagonal: number,
  [leftLength, rightLength]: Pair,
): number {
  const before = rounds[edits - 1];
  if (!before) return 0;
  const overRight = before[diagonal + edits] ?? -1;
  const overLeft = before[diagonal + edits - 2] ?? -1;
  return Math.max(
    overRight - diagonal <= rightLength ? overRight : -1,
    overLeft >= 0 && overLeft < leftLength ? overLeft + 1 : -1,
  );
}

/** The diagonal that got farthest through both lists. */
function farthest(round: Round, edits: number): number {
  let best = 0;
  let most = -1;
  for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
    const a = round[diagonal + edits] as number;
    if (a < 0 || 2 * a - diagonal <= most) continue;
    most = 2 * a - diagonal;
    best = diagonal;
  }
  return best;
}

/** The equal keys on the way to the end of a search. */
function traceBack(rounds: readonly Round[], [leftEnd, rightEnd]: Pair): Pair[] {
  const pairs: Pair[] = [];
  let a = leftEnd;
  let diagonal = leftEnd - rightEnd;
  for (let edits = rounds.length - 1; edits >= 0; edits -= 1) {
    const start = startOf(rounds, edits, diagonal, [leftEnd, rightEnd]);
    while (a > start) {
      a -= 1;
      pairs.push([a, a - diagonal]);
    }
    const overLeft = rounds[edits - 1]?.[diagonal + edits - 2] ?? -1;
    const isOverLeft = overLeft >= 0 && overLeft + 1 === start;
    if (isOverLeft) a -= 1;
    diagonal += isOverLeft ? -1 : 1;
  }
  return pairs.toReversed();
}
