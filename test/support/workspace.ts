// A temporary directory per test, and an opened product in it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Lcm, openLcm, type OpenLcmOptions } from "../../src/lcm.js";
import type { SessionRef } from "../../src/types.js";
import type { FakeHost } from "./fake-host.js";

export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "lcm-test-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function openTestLcm(options: Partial<OpenLcmOptions> = {}): Lcm {
  const lcm = openLcm({ databasePath: join(temporaryDirectory(), "lcm.db"), ...options });
  onTestFinished(() => lcm.close());
  return lcm;
}

/** Opens the product over a scripted host, on the host's clock. */
export function openWithHost(host: FakeHost, options: Partial<OpenLcmOptions> = {}): Lcm {
  return openTestLcm({ transcript: host, now: host.now, ...options });
}

/** The stored branch of a session: entry ids and messages in order. */
export function storedBranch(lcm: Pick<Lcm, "stores">, session: SessionRef) {
  const conversation = lcm.stores.conversations.find(session);
  const segment =
    conversation && lcm.stores.conversations.segment(conversation.id, session.sessionId);
  return segment
    ? lcm.stores.messages.branch(segment.id).map(({ entryId, message }) => ({ entryId, message }))
    : [];
}

export function countMessages(lcm: Lcm): number {
  return lcm.stores.status.database().messages;
}

/** The entry ids of the conversation's view, in order. */
export function viewEntries(lcm: Pick<Lcm, "stores">, session: SessionRef): (string | null)[] {
  const conversation = lcm.stores.conversations.find(session);
  if (!conversation) return [];
  return lcm.stores.db
    .all<{ entryId: string | null }>(
      `SELECT entry_id AS entryId FROM context_items JOIN messages USING (message_id)
       WHERE context_items.conversation_id = ? ORDER BY ordinal`,
      conversation.id,
    )
    .map((row) => row.entryId);
}
