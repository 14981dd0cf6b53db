// Which messages of a run go into the next leaf: the oldest, up to the chunk, cut between turns where
// that leaves a fair chunk and between tool pairs where it does not. Pure.

import type { MessageItem } from "./view-items.js";

/** A message that may go into a leaf, with what it costs and whether the list may be cut before it. */
export interface RawMessage {
  readonly item: MessageItem;
  readonly least: number;
  readonly isCut: boolean;
}

export interface ChunkLimits {
  readonly chunkTokens: number;
  /** Fewer messages than this wait for more, unless the chunk is full. */
  readonly minFanout: number;
}

/** The least part of a chunk that a cut must leave, between two turns and inside one. */
const FAIR_SHARE = { turn: 1 / 2, pair: 1 / 4 };
/** Fewer tokens than this can not shrink by being wrapped into a summary. */
const LEAST_TOKENS = 100;

export function pickChunk(
  run: readonly RawMessage[],
  { chunkTokens, minFanout }: ChunkLimits,
): readonly RawMessage[] | undefined {
  const end = chunkEnd(run, chunkTokens);
  const chunk = run.slice(0, end);
  const tokens = chunk.reduce((sum, { least }) => sum + least, 0);
  const isFull = end < run.length || tokens >= chunkTokens;
  if (tokens < LEAST_TOKENS) return undefined;
  return isFull || chunk.length >= minFanout ? chunk : undefined;
}

/** Behind a pair that is larger than a chunk by itself, the chunk ends at the next cut. */
function chunkEnd(run: readonly RawMessage[], chunkTokens: number): number {
  let tokens = 0;
  let lastPair = 0;
  let lastTurn = 0;
  for (const [index, { item, least, isCut }] of run.entries()) {
    if (isCut && tokens >= chunkTokens * FAIR_SHARE.pair) lastPair = index;
    if (isCut && item.startsTurn && tokens >= chunkTokens * FAIR_SHARE.turn) lastTurn = index;
    tokens += least;
    if (tokens > chunkTokens && lastPair > 0) return lastTurn || lastPair;
  }
  return run.length;
}
