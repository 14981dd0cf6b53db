// What is asked of the host before a session id is opened that is not the one we know under its key.
// Ordinary turns ask nothing.

import { adoptRelease01 } from "./adopt-release-01.js";
import { hideReplaced } from "./missed-deletions.js";
import type { Stores } from "./store/index.js";
import type { Clock, SessionRef, TranscriptSource } from "./types.js";

/** `busyMs`: how long to wait for another process's write lock. */
export async function meetSession(
  deps: { readonly stores: Stores; readonly source: TranscriptSource; readonly now: Clock },
  session: SessionRef,
  busyMs: number,
): Promise<void> {
  const conversation = deps.stores.conversations.find(session);
  if (conversation?.sessionId === session.sessionId) return;
  if (conversation) await hideReplaced(deps, session, conversation, busyMs);
  else await adoptRelease01(deps, session, new Date(deps.now()).toISOString(), busyMs);
}
