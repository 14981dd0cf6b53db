// Reads the raw log from where we stand to its end, looking for resets that kept the session id.
// Resets are known by their event id, so reading a stretch again costs time and changes nothing.

import { retryWhileBusy } from "../db/connection.js";
import type { Segment } from "../store/conversation-store.js";
import type { RawPage, SessionRef } from "../types.js";
import { moveRawCursor, rawCursorBehind } from "./cursor.js";
import { eventId, findResets } from "./resets.js";
import {
  type Budget,
  type DrainOutcome,
  MAX_PAGE_BYTES,
  PAGE_BYTES,
  type SyncDependencies,
} from "./sync-types.js";

type EventsPage = Extract<RawPage, { kind: "page" }>;

const PAGE_EVENTS = 1_000;
/** A log that is rotated again and again while it is read is left for the next turn. */
const MAX_RESTARTS = 5;

export class ResetDrain {
  #cursor: string | undefined;
  #lastEntry: string | null;
  #lastEvent: string | null;
  #maxBytes = PAGE_BYTES;
  #restarts = 0;
  /** Set while a moved cursor has not yet proved to stand at our own place. */
  #fallback: string | undefined;

  constructor(
    private readonly deps: SyncDependencies,
    private readonly session: SessionRef,
    private readonly segment: Segment,
    private readonly budget: Budget,
  ) {
    this.#cursor = segment.rawCursor ?? undefined;
    this.#lastEntry = segment.rawLastEntry;
    this.#lastEvent = segment.rawLastEvent;
  }

  async run(): Promise<DrainOutcome> {
    for (;;) {
      const page = await this.#read();
      if (page.kind === "missing" || page.kind === "unavailable") return page;
      if (page.kind === "reset") {
        this.#restarts += 1;
        if (this.#restarts > MAX_RESTARTS) {
          return { kind: "unavailable", reason: "the log keeps rotating" };
        }
        this.#afterRotation(page.cursor);
      } else if (page.events.length === 0 && page.requiredBytes !== undefined) {
        if (page.requiredBytes <= MAX_PAGE_BYTES) {
          this.#maxBytes = page.requiredBytes;
        } else {
          const behind = rawCursorBehind(page.cursor);
          if (behind === undefined) return { kind: "unavailable", reason: "an event is too large" };
          // No reset is that large, and a message of that size is not stored either.
          this.#cursor = behind;
        }
      } else if (this.#isElsewhere(page)) {
        this.#startOver(this.#fallback);
      } else {
        const stuck = page.hasMore && page.cursor === this.#cursor;
        await retryWhileBusy(() => this.#apply(page), this.budget.busyMs);
        if (!page.hasMore) return { kind: "current" };
        if (stuck) return { kind: "unavailable", reason: "the log's cursor does not move" };
        if (this.budget.isSpent()) return { kind: "partial" };
      }
    }
  }

  #read(): Promise<RawPage> {
    return this.deps.source.raw(this.session, {
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
      maxItems: PAGE_EVENTS,
      maxBytes: this.#maxBytes,
    });
  }

  #afterRotation(fresh: string): void {
    const moved =
      this.#restarts > 1 || this.#cursor === undefined
        ? undefined
        : moveRawCursor(fresh, this.#cursor);
    if (moved === undefined) return this.#startOver(fresh);
    this.#cursor = moved;
    this.#fallback = fresh;
  }

  #startOver(fresh: string | undefined): void {
    this.#cursor = fresh;
    this.#fallback = undefined;
    this.#lastEntry = null;
  }

  #isElsewhere(page: EventsPage): boolean {
    if (this.#fallback === undefined) return false;
    const first = page.events[0];
    return !first || eventId(first) !== this.#lastEvent;
  }

  #apply(page: EventsPage): void {
    if (page.events.length > 0 || page.cursor !== this.segment.rawCursor) this.#store(page);
    this.#cursor = page.cursor;
    this.#fallback = undefined;
    this.#maxBytes = PAGE_BYTES;
  }

  #store(page: EventsPage): void {
    const { stores } = this.deps;
    const { id, conversationId } = this.segment;
    const { lastEntry, lastEvent } = stores.db.transaction(() => {
      const walk = findResets(page.events, this.#lastEntry, (event) =>
        stores.messages.knowsEntry(conversationId, event)
          ? event
          : stores.boundaries.entryBefore(id, event),
      );
      const place = { lastEntry: walk.lastEntry, lastEvent: walk.lastEvent ?? this.#lastEvent };
      stores.conversations.saveRawCursor(id, { cursor: page.cursor, ...place });
      const added = walk.boundaries.filter((boundary) => stores.boundaries.add(id, boundary));
      if (added.length > 0) stores.views.markStale(conversationId);
      return place;
    });
    this.#lastEntry = lastEntry;
    this.#lastEvent = lastEvent;
  }
}
