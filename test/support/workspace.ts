// A temporary directory per test, and an opened product in it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Lcm, openLcm, type OpenLcmOptions } from "../../src/lcm.js";
import type { Stores } from "../../src/store/index.js";
import type { ConversationId, MessageId, SessionRef, SummaryId } from "../../src/types.js";
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

/** The entry ids of what the conversation's view covers, in order. */
export function viewEntries({ stores }: Pick<Lcm, "stores">, session: SessionRef): string[] {
  const conversation = stores.conversations.find(session);
  if (!conversation) return [];
  return stores.db
    .all<{ entryId: string }>(
      `SELECT m.entry_id AS entryId FROM json_each(?) j JOIN messages m ON m.message_id = j.value
       ORDER BY j.key`,
      JSON.stringify(coveredMessages(stores, conversation.id)),
    )
    .map((row) => row.entryId);
}

/** The messages that a view covers, each as often as it does, in order. */
export function coveredMessages(stores: Stores, conversation: ConversationId): MessageId[] {
  return stores.views
    .newest(conversation, 100_000)
    .flatMap((item) =>
      "messageId" in item ? [item.messageId] : expandNode(stores, item.summaryId),
    );
}

/** A node down to its original messages. */
export function expandNode(stores: Stores, node: SummaryId): MessageId[] {
  const { summaries } = stores;
  const sources = summaries.sourceIds(node);
  return sources.length > 0
    ? sources.flatMap((source) => expandNode(stores, source))
    : summaries.messageIds(node);
}
