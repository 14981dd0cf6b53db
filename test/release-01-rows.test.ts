// Rows of release 0.1.x stand for what that release made of a message: one of four roles and a text.
// Whatever the message was, its row meets its entry, and the summaries over it stay in the view.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentMessage } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { createRelease01, type Release01Message } from "./support/release-01.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
  viewEntries,
} from "./support/workspace.js";

const KEY = "agent:main:web1";
const AT = Date.parse("2026-02-17T07:37:00Z");

type Row = Omit<Release01Message, "createdAt">;

/** Entries of a transcript, each with the row that release 0.1.x made of it. */
async function takeOver(met: readonly (readonly [AgentMessage, Row])[]) {
  const host = new FakeHost();
  for (const [message] of met) host.append(KEY, message);
  const databasePath = join(temporaryDirectory(), "lcm.db");
  const rows = met.map(([, row]) => ({ ...row, createdAt: "2026-02-17 07:37:00" }));
  createRelease01(databasePath, host.ref(KEY).sessionId, rows);
  const lcm = openWithHost(host, { databasePath });
  await lcm.createEngine().bootstrap(host.ref(KEY));
  const conversation = lcm.stores.conversations.find(host.ref(KEY))!.id;
  const view = lcm.stores.views.newest(conversation, 100);
  return { host, lcm, view };
}

async function expectMet(met: readonly (readonly [AgentMessage, Row])[]): Promise<void> {
  const { host, lcm, view } = await takeOver(met);
  expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  expect(countMessages(lcm)).toBe(met.length);
  expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
  expect(view).toEqual([expect.objectContaining({ summaryId: "sum_cccccccccccccccc" })]);
}

const command = {
  role: "bashExecution",
  command: "ls",
  output: "a b",
  exitCode: 0,
  timestamp: AT,
};
const note = { role: "custom", customType: "x", content: "a note", timestamp: AT };
const [call, result] = toolLoop("c1", "exit 0", AT) as [AgentMessage, AgentMessage];

describe("a row of release 0.1.x that meets its entry", () => {
  it("is a command, kept with what that release noted of it", async () => {
    const noted = { source: "bash-exec", command: "ls" };
    const row = { role: "assistant", originalRole: "bashExecution", note: noted } as const;
    await expectMet([
      [userMessage("look", AT), { role: "user", text: "look" }],
      [command, { ...row, text: "$ ls\na b" }],
    ]);
  });

  it("is any message of an import, which kept no parts", async () => {
    await expectMet([
      [userMessage("fix it", AT), { role: "user", text: "fix it" }],
      [
        {
          ...assistantMessage("", AT),
          content: [
            { type: "thinking", thinking: "hm", thinkingSignature: "s" },
            { type: "text", text: "one" },
            { type: "text", text: "two" },
          ],
        },
        { role: "assistant", text: "one\ntwo" },
      ],
      [call, { role: "assistant", text: "" }],
      [result, { role: "tool", text: "exit 0" }],
      [command, { role: "assistant", text: "$ ls\na b" }],
      [note, { role: "assistant", text: "a note" }],
      [assistantMessage("done", AT), { role: "assistant", text: "done" }],
    ]);
  });

  it("is of a shape that no list of blocks can hold", async () => {
    const content = { type: "odd", value: 1 };
    const raw = { role: "assistant", details: "bare" };
    await expectMet([
      [
        { role: "assistant", content, timestamp: AT },
        {
          role: "assistant",
          text: JSON.stringify(content),
          note: { source: "non-array-content", raw: content },
        },
      ],
      [raw, { role: "assistant", text: "", note: { source: "unknown-message-shape", raw } }],
    ]);
  });

  it("never goes to a model: the summaries over it and its neighbors stay whole", async () => {
    const met = [
      [userMessage("one", AT), { role: "user", text: "one" }],
      [
        { ...note, excludeFromContext: true },
        { role: "assistant", text: "a note" },
      ],
      [userMessage("two", AT), { role: "user", text: "two" }],
      [assistantMessage("three", AT), { role: "assistant", text: "three" }],
    ] as const;
    await expectMet(met);
  });
});
