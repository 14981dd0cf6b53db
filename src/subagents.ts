// Sub-agents that the host starts for a session: whose child each is, and the grant through which it
// reads its parent's conversation. Synchronous; each change is one transaction.

import type { LcmConfig } from "./db/config.js";
import { issueGrant, revokeGrantsOf, validGrant } from "./expansion-auth.js";
import { classifySession } from "./session-policy.js";
import type { Stores } from "./store/index.js";
import { isoAt } from "./time-format.js";
import type { SessionRef } from "./types.js";

export interface Spawn {
  readonly parent: SessionRef;
  readonly child: SessionRef;
  readonly contextMode: string | null;
}

/** A sub-agent at work may ask more than once. */
const EXPANSIONS = 25;
/** Longer than a sub-agent works; its end revokes the grant. */
const TTL_MS = 24 * 3_600_000;

/** Returns what undoes it. */
export function recordSpawn(
  stores: Stores,
  { parent, child, contextMode }: Spawn,
  config: LcmConfig,
  now: number,
): () => void {
  const { db, events, grants, conversations } = stores;
  const keeps = (session: SessionRef): boolean =>
    classifySession(session.sessionKey, config) === "kept";
  const grant = db.transaction(() => {
    if (keeps(parent) && keeps(child)) {
      const link = { child: child.sessionKey, parent: parent.sessionKey };
      events.linkSubagent({ ...link, contextMode }, isoAt(now));
    }
    const own = conversations.find(parent);
    const held = validGrant(stores, parent.sessionKey, now);
    return issueGrant(
      stores,
      {
        sessionKey: child.sessionKey,
        conversations: [...new Set([...(own ? [own.id] : []), ...(held?.conversations ?? [])])],
        own: own ? [own.id] : [],
        parent: held,
        tokenCap: config.maxExpandTokens * EXPANSIONS,
        ttlMs: TTL_MS,
      },
      now,
    );
  });
  return () =>
    db.transaction(() => {
      events.unlinkSubagent(child.sessionKey);
      if (grant) grants.revoke(grant.id, isoAt(now));
    });
}

export function recordSubagentEnd(
  stores: Stores,
  sessionKey: string,
  reason: string,
  now: number,
): void {
  stores.db.transaction(() => {
    stores.events.endSubagent(sessionKey, reason, isoAt(now));
    revokeGrantsOf(stores, sessionKey, now);
  });
}
