// Which rows a host session is stored under, and which session of a key the view shows. Writes assume
// the caller's transaction.

import type { Conversation, Segment } from "./store/conversation-store.js";
import type { Stores } from "./store/index.js";
import type { ConversationId, SessionRef, TranscriptSource } from "./types.js";

export interface OpenSession {
  readonly conversation: Conversation;
  readonly segment: Segment;
}

interface OpenDependencies {
  readonly stores: Stores;
  readonly source: Pick<TranscriptSource, "entry">;
}

/** A turn of the session begins: from now on the view shows it. */
export function beginSession(
  { stores, source }: OpenDependencies,
  session: SessionRef,
  now: string,
): OpenSession {
  const { conversations } = stores;
  const conversation = conversations.findOrCreate(session, now);
  const segment = conversations.segmentOrCreate(conversation.id, session.sessionId, now);
  if (segment.visibleCursor === null) {
    // The host may have served the session before this one without us.
    const entry = source.entry(session);
    if (entry.kind === "found") leave(stores, conversation.id, entry.previousId, now);
  }
  showSegment(stores, conversation, segment, now);
  return { conversation, segment };
}

/**
 * Work for the session goes on, or comes late: a session that we know leaves the view as it is.
 * Undefined for one that was deleted: its transcript must not bring it back.
 */
export function followSession(
  deps: OpenDependencies,
  session: SessionRef,
  now: string,
): OpenSession | undefined {
  const { conversations, left } = deps.stores;
  const conversation = conversations.find(session);
  const segment = conversation && conversations.segment(conversation.id, session.sessionId);
  if (!segment) {
    return conversations.hiddenOwner(session) ? undefined : beginSession(deps, session, now);
  }
  if (conversation.sessionId === session.sessionId) return beginSession(deps, session, now);
  left.mark(segment.id);
  return { conversation, segment };
}

/** Lets the view show a segment. The one it showed before may hold what was never read. */
export function showSegment(
  stores: Stores,
  { id, sessionId }: Pick<Conversation, "id" | "sessionId">,
  segment: Segment,
  now: string,
): void {
  if (sessionId === segment.sessionId) return;
  stores.conversations.makeCurrent(id, segment.sessionId, now);
  stores.left.unmark(segment.id);
  leave(stores, id, sessionId, now);
  stores.views.markStale(id);
}

/** Remembers to read what a session id holds. It may be one that we never met. */
function leave(
  { conversations, left }: Stores,
  conversation: ConversationId,
  sessionId: string | null | undefined,
  now: string,
): void {
  if (sessionId) left.mark(conversations.segmentOrCreate(conversation, sessionId, now).id);
}
