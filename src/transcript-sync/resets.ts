// Finds the resets in the raw log: the only trace of a reset that kept the session id.

import type { Boundary } from "../store/view-store.js";
import type { RawEvent } from "../types.js";

interface Walk {
  readonly boundaries: Boundary[];
  /** The last message event so far, for the reset that opens the next page. */
  readonly lastEntry: string | null;
}

/**
 * `positionOf` tells where a message entry stands on the active branch. A reset whose parent is not on
 * it belongs to a branch that was left, and is none for the view.
 */
export function findResets(
  events: readonly RawEvent[],
  lastEntry: string | null,
  positionOf: (entryId: string) => number | undefined,
): Walk {
  const parents = new Map<string, string | null>();
  const boundaries: Boundary[] = [];
  let last = lastEntry;
  for (const { event } of events) {
    if (!isEvent(event)) continue;
    if (event.type === "message") last = event.id;
    if (event.type === "reset") {
      const position = resetPosition(event, parents, last, positionOf);
      if (position !== undefined) boundaries.push(toBoundary(event, position));
    }
    // Non-message events stand for the message above them.
    if (event.type !== "message") parents.set(event.id, event.parentId ?? last);
  }
  return { boundaries, lastEntry: last };
}

function resetPosition(
  event: LogEvent,
  parents: ReadonlyMap<string, string | null>,
  last: string | null,
  positionOf: (entryId: string) => number | undefined,
): number | undefined {
  let entry = event.parentId ?? last;
  while (entry !== null && parents.has(entry)) entry = parents.get(entry) ?? null;
  if (entry === null) return -1;
  return positionOf(entry) ?? (entry === event.parentId && last !== null ? positionOf(last) : undefined);
}

function toBoundary(event: LogEvent, afterPosition: number): Boundary {
  return {
    eventId: event.id,
    reason: typeof event.reason === "string" ? event.reason : "reset",
    afterPosition,
    firstKeptEntry: typeof event.firstKeptEntryId === "string" ? event.firstKeptEntryId : null,
    createdAt: typeof event.timestamp === "string" ? event.timestamp : new Date(0).toISOString(),
  };
}

interface LogEvent {
  readonly type: string;
  readonly id: string;
  readonly parentId?: string | null;
  readonly timestamp?: unknown;
  readonly reason?: unknown;
  readonly firstKeptEntryId?: unknown;
}

function isEvent(value: unknown): value is LogEvent {
  return (
    typeof value === "object" && value !== null && "type" in value && "id" in value &&
    typeof value.type === "string" && typeof value.id === "string"
  );
}
