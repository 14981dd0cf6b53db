// Finds the resets in the raw log: the only trace of a reset that kept the session id. Pure.

import type { Boundary } from "../store/view-store.js";
import type { RawEvent } from "../types.js";

interface Walk {
  readonly boundaries: Boundary[];
  /** The last message event so far, for a reset that opens the next page. */
  readonly lastEntry: string | null;
  readonly lastEvent: string | null;
}

/**
 * Walks a page of the log. `lastEntry` is the last message event before it; `isEntry` tells the
 * message events of earlier pages from the others. A reset before the first message bounds nothing.
 */
export function findResets(
  events: readonly RawEvent[],
  lastEntry: string | null,
  isEntry: (id: string) => boolean,
): Walk {
  /** The message event that each event of this page is, or stands below. */
  const entryAbove = new Map<string, string | null>();
  const boundaries: Boundary[] = [];
  let last = lastEntry;
  let lastEvent: string | null = null;
  const resolveParent = ({ parentId }: LogEvent): string | null => {
    if (typeof parentId !== "string") return null;
    if (entryAbove.has(parentId)) return entryAbove.get(parentId) ?? null;
    return isEntry(parentId) ? parentId : last;
  };
  for (const { event } of events) {
    if (!isEvent(event)) continue;
    const above = event.type === "message" ? event.id : resolveParent(event);
    entryAbove.set(event.id, above);
    if (event.type === "message") last = event.id;
    if (event.type === "reset" && above !== null) boundaries.push(toBoundary(event, above));
    lastEvent = event.id;
  }
  return { boundaries, lastEntry: last, lastEvent };
}

function toBoundary(event: LogEvent, afterEntry: string): Boundary {
  return {
    eventId: event.id,
    reason: typeof event.reason === "string" ? event.reason : "reset",
    afterEntry,
    firstKeptEntry: typeof event.firstKeptEntryId === "string" ? event.firstKeptEntryId : null,
    createdAt: typeof event.timestamp === "string" ? event.timestamp : new Date(0).toISOString(),
  };
}

interface LogEvent {
  readonly type: string;
  readonly id: string;
  readonly parentId?: unknown;
  readonly timestamp?: unknown;
  readonly reason?: unknown;
  readonly firstKeptEntryId?: unknown;
}

function isEvent(value: unknown): value is LogEvent {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    "id" in value &&
    typeof value.type === "string" &&
    typeof value.id === "string"
  );
}

/** The id of a raw event, for comparing the log's place with the one we know. */
export function eventId({ event }: RawEvent): string | undefined {
  return isEvent(event) ? event.id : undefined;
}
