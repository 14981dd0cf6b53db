// Release 0.1.x knew session ids and no keys. What it kept is mostly claimed by its session id; after a
// rewind or a reset under a newer host, only the host can tell which key the id belongs to.

import { retryWhileBusy } from "./db/connection.js";
import type { Stores } from "./store/index.js";
import type { SessionRef, TranscriptSource } from "./types.js";

/** More than the sessions anyone goes on with. The rest stays a searchable archive. */
const MOST_ASKED = 50;

/**
 * Gives old conversations to their keys before a key that is new to us gets a conversation of its own.
 * A key takes the newest; that release began one with every reset, and the older ones stay as they are.
 */
export async function adoptRelease01(
  { stores, source }: { readonly stores: Stores; readonly source: TranscriptSource },
  { agentId, sessionId: current }: SessionRef,
  now: string,
  busyMs: number,
): Promise<void> {
  const { conversations } = stores;
  for (const { id, sessionId } of conversations.unadopted(MOST_ASKED)) {
    // Claimed by its session id when it is opened.
    if (sessionId === current) continue;
    const sessionKey = await source.keyOf({ agentId, sessionId });
    if (sessionKey === undefined || conversations.find({ agentId, sessionKey })) continue;
    const adopt = (): void => {
      conversations.adopt(id, { agentId, sessionKey }, now);
      // The first segment is the first to be read: what the rows came from tells the most about them.
      conversations.segmentOrCreate(id, sessionId, now);
    };
    await retryWhileBusy(() => stores.db.transaction(adopt), busyMs);
  }
}
