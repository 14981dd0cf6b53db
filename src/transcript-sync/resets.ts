// Finds the resets in the raw log: the only trace of a reset that kept the session id. Pure.

import type { Boundary } from "../store/boundary-store.js";
import type { RawEvent } from "../types.js";

interface Walk {
  readonly boundaries: Boundary[];
  /** The last message event so far, for a reset that opens the next page. */
  readonly lastEntry: string | null;
  readonly lastEvent: string | null;
}

/**
 * Walks a page of the log. `lastEntry` is the last message event before it; `entryOf` tells the message
 * entry that an event of an earlier page is or stands behind, as far as it is known. A reset before
 * the first message bounds nothing.
 */
export function findResets(
  events: readonly RawEvent[],
  lastEntry: string | null,
  entryOf: (id: string) => string | undefined,
): Walk {
  /** The message event that each event of this page is, or stands behind. */
  const behind = new Map<string, string | null>();
  const boundaries: Boundary[] = [];
  let last = lastEntry;
  let lastEvent: string | null = null;
  const resolve = (id: unknown): string | null => {
    if (typeof id !== "string") return null;
    return behind.has(id) ? (behind.get(id) ?? null) : (entryOf(id) ?? last);
  };
  for (const { event } of events) {
    if (!isEvent(event)) continue;
    const entry = event.type === "message" ? event.id : resolve(branchPoint(event));
    behind.set(event.id, entry);
    if (event.type === "message") last = event.id;
    if (event.type === "reset" && entry !== null) boundaries.push(toBoundary(event, entry));
    lastEvent = event.id;
  }
  return { boundaries, lastEntry: last, lastEvent };
}

/** What an event stands behind: its parent, or where a `leaf` event moves the branch to. */
function branchPoint(event: LogEvent): unknown {
  return event.type === "leaf" ? event.targetId : event.parentId;
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
  readonly targetId?: unknown;
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
