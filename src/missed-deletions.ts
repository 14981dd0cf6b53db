// Sessions that the host deleted without our hearing of it: the plugin was disabled, or the store could
// not be written. They are told from sessions that merely can not be read by two answers of the host,
// never by one alone.

import { retryWhileBusy } from "./db/connection.js";
import type { Conversation, Segment } from "./store/conversation-store.js";
import type { Stores } from "./store/index.js";
import type { SessionRef, TranscriptSource } from "./types.js";

interface DeletionDependencies {
  readonly stores: Stores;
  readonly source: TranscriptSource;
}

/** Small, because only the kind of the answer counts. */
const GLANCE = { maxItems: 1, maxBytes: 1024 };

/**
 * A transcript that we have read before is missing. The session was deleted if the host does not know
 * its key any more either.
 */
export function isDeleted(
  { source }: DeletionDependencies,
  session: SessionRef,
  { visibleCursor }: Segment,
): boolean {
  return visibleCursor !== null && source.entry(session).kind === "gone";
}

/**
 * Hides the conversation of a key under which the host has made another session since, when the
 * transcript that was current before is missing. A rewind or a reset keeps both the key's age and the
 * old transcript.
 */
export async function hideReplaced(
  { stores, source }: DeletionDependencies,
  session: SessionRef,
  { sessionId, updatedAt }: Conversation,
  busyMs: number,
): Promise<void> {
  const entry = source.entry(session);
  if (!sessionId || entry.kind !== "found" || entry.createdAt === undefined) return;
  if (entry.createdAt <= Date.parse(updatedAt)) return;
  const before = { ...session, sessionId };
  const { kind } = await source.visible(before, GLANCE);
  if (kind !== "missing") return;
  const hiddenAt = new Date(entry.createdAt).toISOString();
  await retryWhileBusy(() => stores.conversations.hide(before, hiddenAt), busyMs);
}
