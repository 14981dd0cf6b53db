// The order of hits. Pure.
//
// A question and its answer rarely share all their words, but they stand close together: so a message
// is worth, for each word asked for, the best that it or a neighbor has. What follows a question counts
// as half of its answer, and the speaker that was asked for is favored.

import type { MessageId, SegmentId } from "../types.js";

/** Where a message stands, and who wrote it. */
export interface RankedPlace {
  readonly id: MessageId;
  readonly segment: SegmentId;
  readonly position: number;
  readonly role: string;
}

export interface RankInput {
  /** For each term, how well the messages match that have it. */
  readonly terms: readonly ReadonlyMap<MessageId, number>[];
  readonly places: readonly RankedPlace[];
  /** Messages that ask something. */
  readonly asking: ReadonlySet<MessageId>;
  readonly speaker: string | undefined;
  /** False where the words stand for themselves: neighbors then only break near ties. */
  readonly isSentence: boolean;
}

export interface Ranked {
  readonly id: MessageId;
  readonly score: number;
}

/** Neighbors so far away still count. */
export const REACH = 8;
/** What was said before tells what a message is about; what comes after may be of something else. */
const FADING_BEFORE = 0.02;
const FADING_AFTER = 1;
const SMOOTHED_SHARE = 0.05;
const SMOOTHED_WIDTH = 3;
const ANSWER_SHARE = 0.5;
const SPEAKER_FAVOR = 1.4;
const NEAR_TIE = 0.05;

/** Best first; what is equally good, the newest first. */
export function rankMessages(input: RankInput): Ranked[] {
  const own = ownScores(input.terms);
  const bySegment = Map.groupBy(input.places, ({ segment }) => segment);
  const scores = new Map<MessageId, number>();
  for (const places of bySegment.values()) {
    for (const [id, score] of segmentScores(places, own, input)) {
      scores.set(id, Math.max(score, scores.get(id) ?? 0));
    }
  }
  return [...scores]
    .map(([id, score]) => ({ id, score }))
    .filter(({ id, score }) => score > 0 && (input.isSentence || own.has(id)))
    .sort((one, other) => other.score - one.score || other.id - one.id);
}

export function ownScores(terms: RankInput["terms"]): Map<MessageId, number> {
  const own = new Map<MessageId, number>();
  for (const term of terms) {
    for (const [id, score] of term) own.set(id, (own.get(id) ?? 0) + score);
  }
  return own;
}

type Neighbor = readonly [distance: number, place: RankedPlace];

function* segmentScores(
  places: readonly RankedPlace[],
  own: ReadonlyMap<MessageId, number>,
  input: RankInput,
): Generator<readonly [MessageId, number]> {
  const sorted = [...places].sort((one, other) => one.position - other.position);
  const around = sorted.map((_, at) => {
    const near = neighbors(sorted, at);
    return pooled(near, input.terms) + SMOOTHED_SHARE * smoothed(near, own);
  });
  for (const [at, place] of sorted.entries()) {
    const mine = own.get(place.id) ?? 0;
    const before = sorted[at - 1];
    const follows = before?.position === place.position - 1 && input.asking.has(before.id);
    const answered = follows ? ANSWER_SHARE * (around[at - 1] ?? 0) : 0;
    const favor = input.speaker === place.role ? SPEAKER_FAVOR : 1;
    const near = around[at] ?? 0;
    yield [place.id, favor * (input.isSentence ? near + answered : mine + NEAR_TIE * near)];
  }
}

function neighbors(sorted: readonly RankedPlace[], at: number): Neighbor[] {
  const here = sorted[at] as RankedPlace;
  const near: Neighbor[] = [];
  for (const step of [-1, 1]) {
    for (let index = step === 1 ? at : at - 1; ; index += step) {
      const place = sorted[index];
      const distance = place ? place.position - here.position : Number.POSITIVE_INFINITY;
      if (!place || Math.abs(distance) > REACH) break;
      near.push([distance, place]);
    }
  }
  return near;
}

function pooled(near: readonly Neighbor[], terms: RankInput["terms"]): number {
  let sum = 0;
  for (const term of terms) {
    let best = 0;
    for (const [distance, { id }] of near) {
      const score = (term.get(id) ?? 0) * nearness(distance);
      if (score > best) best = score;
    }
    sum += best;
  }
  return sum;
}

function nearness(distance: number): number {
  const fading = distance < 0 ? FADING_BEFORE : FADING_AFTER;
  return 1 / (1 + fading * Math.abs(distance));
}

function smoothed(near: readonly Neighbor[], own: ReadonlyMap<MessageId, number>): number {
  return near.reduce(
    (sum, [distance, { id }]) =>
      sum + (own.get(id) ?? 0) * Math.exp(-((distance / SMOOTHED_WIDTH) ** 2)),
    0,
  );
}
