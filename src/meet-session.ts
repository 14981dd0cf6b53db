// What is asked of the host before a session id is opened that is not the one we know under its key.
// Ordinary turns ask nothing.

import { hideReplaced } from "./missed-deletions.js";
import type { Stores } from "./store/index.js";
import type { SessionRef, TranscriptSource } from "./types.js";

/** `busyMs`: how long to wait for another process's write lock. */
export async function meetSession(
  deps: { readonly stores: Stores; readonly source: TranscriptSource },
  session: SessionRef,
  busyMs: number,
): Promise<void> {
  const conversation = deps.stores.conversations.find(session);
  if (!conversation || conversation.sessionId === session.sessionId) return;
  await hideReplaced(deps, session, conversation, busyMs);
}
