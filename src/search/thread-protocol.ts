// What the main thread and the search thread say to each other.

import type { RegexPlace } from "./cursor.js";
import type { Hit, SearchAnswer, SearchRequest } from "./types.js";

export interface Job {
  readonly id: number;
  readonly databasePath: string;
  readonly request: SearchRequest;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly endsAt: number;
  /** Where a search by regular expression goes on; read when the thread had to be ended. */
  readonly place: SharedArrayBuffer;
}

export type Reply =
  | { readonly id: number; readonly kind: "hit"; readonly hit: Hit }
  | { readonly id: number; readonly kind: "answer"; readonly answer: SearchAnswer }
  | { readonly id: number; readonly kind: "failed"; readonly reason: string };

const CELLS = 3;

export function createPlace(): SharedArrayBuffer {
  return new SharedArrayBuffer(CELLS * Float64Array.BYTES_PER_ELEMENT);
}

export function writePlace(buffer: SharedArrayBuffer, place: RegexPlace, examined: number): void {
  const cells = new Float64Array(buffer);
  cells[0] = place.belowMessage;
  cells[1] = place.belowDocument;
  cells[2] = examined;
}

/** Undefined when nothing was begun. */
export function readPlace(
  buffer: SharedArrayBuffer,
): { place: RegexPlace; examined: number } | undefined {
  const [belowMessage = 0, belowDocument = 0, examined = 0] = new Float64Array(buffer);
  if (belowMessage === 0 && belowDocument === 0) return undefined;
  return { place: { kind: "regex", belowMessage, belowDocument }, examined };
}

export const TIME_UP =
  "The two seconds of one search were over before everything was looked at: go on with the cursor, or narrow the search with since, before or a more telling pattern.";
