// Reads the raw log for resets that kept the session id.

import { retryWhileBusy } from "../db/connection.js";
import type { Segment } from "../store/conversation-store.js";
import type { RawPage, SessionRef } from "../types.js";
import { moveCursor } from "./cursor.js";
import { MAX_PAGE_BYTES, type SyncDependencies } from "./index.js";
import { findResets } from "./resets.js";

const PAGE_EVENTS = 1_000;
const PAGE_BYTES = 4 * 1024 * 1024;
const BUSY_DEADLINE_MS = 10_000;

/** True when a reset was found that was not known. */
export async function drainResets(deps: SyncDependencies, session: SessionRef, segment: Segment): Promise<boolean> {
  let cursor = segment.rawCursor ?? undefined;
  let lastEntry = segment.rawLastEntry;
  let maxBytes = PAGE_BYTES;
  let found = false;
  let triedMoving = false;
  for (;;) {
    const page: RawPage = await deps.source.raw(session, {
      ...(cursor === undefined ? {} : { cursor }),
      maxItems: PAGE_EVENTS,
      maxBytes,
    });
    if (page.kind === "missing" || page.kind === "unavailable") return found;
    if (page.kind === "reset") {
      // Resets are known by their event id, so reading again from the start only costs time.
      const moved = cursor === undefined || triedMoving ? undefined : moveCursor(page.cursor, cursor);
      if (triedMoving && moved === undefined && cursor === page.cursor) return found;
      triedMoving = true;
      cursor = moved ?? page.cursor;
      continue;
    }
    if (page.events.length === 0 && page.requiredBytes !== undefined) {
      if (page.requiredBytes > MAX_PAGE_BYTES) return found;
      maxBytes = page.requiredBytes;
      continue;
    }
    const from = lastEntry;
    const result = await retryWhileBusy(() => applyRaw(deps, segment, page, from), BUSY_DEADLINE_MS);
    found ||= result.found;
    lastEntry = result.lastEntry;
    cursor = page.cursor;
    maxBytes = PAGE_BYTES;
    if (!page.hasMore) return found;
  }
}

function applyRaw(
  { stores }: SyncDependencies,
  segment: Segment,
  page: Extract<RawPage, { kind: "page" }>,
  lastEntry: string | null,
): { found: boolean; lastEntry: string | null } {
  return stores.db.transaction(() => {
    const walk = findResets(page.events, lastEntry, (entryId) => {
      const id = stores.messages.idByEntry(segment.conversationId, entryId);
      return id === undefined ? undefined : stores.messages.positionOf(segment.id, id);
    });
    const added = walk.boundaries.filter((boundary) => stores.views.addBoundary(segment.id, boundary));
    stores.conversations.saveRawCursor(segment.id, page.cursor, walk.lastEntry);
    return { found: added.length > 0, lastEntry: walk.lastEntry };
  });
}
