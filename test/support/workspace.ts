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
export function storedBranch(lcm: Lcm, session: SessionRef) {
  const conversation = lcm.stores.conversations.find(session);
  const segment = conversation && lcm.stores.conversations.segment(conversation.id, session.sessionId);
  return segment ? lcm.stores.messages.branch(segment.id).map(({ entryId, message }) => ({ entryId, message })) : [];
}

export function countMessages(lcm: Lcm): number {
  return lcm.stores.status.database().messages;
}
