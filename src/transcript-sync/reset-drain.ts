// Reads the raw log from where we stand to its end, looking for resets that kept the session id.
// Resets are known by their event id, so reading a stretch again costs time and changes nothing.

import { retryWhileBusy } from "../db/connection.js";
import type { Segment } from "../store/conversation-store.js";
import type { RawPage, SessionRef } from "../types.js";
import { moveRawCursor } from "./cursor.js";
import { eventId, findResets } from "./resets.js";
import {
  MAX_PAGE_BYTES,
  PAGE_BYTES,
  type SyncDependencies,
  type SyncLimits,
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
    private readonly limits: SyncLimits,
  ) {
    this.#cursor = segment.rawCursor ?? undefined;
    this.#lastEntry = segment.rawLastEntry;
    this.#lastEvent = segment.rawLastEvent;
  }

  async run(): Promise<void> {
    for (;;) {
      const page = await this.#read();
      if (page.kind === "missing" || page.kind === "unavailable") return;
      if (page.kind === "reset") {
        this.#restarts += 1;
        if (this.#restarts > MAX_RESTARTS) return;
        this.#afterRotation(page.cursor);
      } else if (page.events.length === 0 && page.requiredBytes !== undefined) {
        if (page.requiredBytes > MAX_PAGE_BYTES) return;
        this.#maxBytes = page.requiredBytes;
      } else if (this.#isElsewhere(page)) {
        this.#startOver(this.#fallback);
      } else {
        await retryWhileBusy(() => this.#apply(page), this.limits.busyMs);
        if (!page.hasMore) return;
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
    if (page.events.length === 0 && page.cursor === this.segment.rawCursor) return;
    const { stores } = this.deps;
    const { lastEntry, lastEvent } = stores.db.transaction(() => {
      const walked = findResets(page.events, this.#lastEntry, (id) =>
        stores.messages.knowsEntry(this.segment.conversationId, id),
      );
      const place = { lastEntry: walked.lastEntry, lastEvent: walked.lastEvent ?? this.#lastEvent };
      stores.conversations.saveRawCursor(this.segment.id, { cursor: page.cursor, ...place });
      for (const boundary of walked.boundaries) {
        if (!stores.views.addBoundary(this.segment.id, boundary)) continue;
        stores.views.markStale(this.segment.conversationId);
      }
      return place;
    });
    this.#lastEntry = lastEntry;
    this.#lastEvent = lastEvent;
    this.#cursor = page.cursor;
    this.#fallback = undefined;
    this.#maxBytes = PAGE_BYTES;
  }
}
