// What the user deleted stays deleted: its conversation is kept and hidden, whatever comes late (G9).

import { describe, expect, it } from "vitest";
import type { Lcm } from "../src/lcm.js";
import type { SessionEntry, VisiblePage } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { countMessages, openWithHost, storedBranch } from "./support/workspace.js";

const KEY = "agent:main:web1";

async function play(host: FakeHost, lcm: Lcm, text: string) {
  const at = host.tick();
  const call = host.turn(KEY, [
    userMessage(text, at),
    ...toolLoop(`c${at}`, text, at + 1),
    assistantMessage(`re: ${text}`, at + 9),
  ]);
  await lcm.createEngine().commitTurn(call);
  return call;
}

function viewTexts(lcm: Lcm, host: FakeHost): unknown[] {
  const conversation = lcm.stores.conversations.find(host.ref(KEY));
  const items = lcm.stores.views.newest(conversation!.id, 1_000);
  const ids = new Set(items.flatMap((item) => ("messageId" in item ? [item.messageId] : [])));
  const segment = lcm.stores.conversations.segment(conversation!.id, host.ref(KEY).sessionId);
  return lcm.stores.messages
    .branch(segment!.id)
    .filter((row) => ids.has(row.id) && row.role === "user")
    .map((row) => row.message["content"]);
}

describe("a session deleted in the host", () => {
  it("is hidden and kept, and its key can be used again", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "old");
    await lcm.createEngine().sessionDeleted({ sessionKey: KEY });
    expect(lcm.stores.conversations.find(host.ref(KEY))).toBeUndefined();
    expect(countMessages(lcm)).toBe(4);
    host.newSessionId(KEY);
    await play(host, lcm, "new");
    expect(viewTexts(lcm, host)).toEqual(["new"]);
    expect(lcm.stores.status.database()).toMatchObject({
      conversations: 1,
      hiddenConversations: 1,
    });
  });
});

describe("a session deleted after a pattern began to name it", () => {
  it.each(["ignoreSessionPatterns", "statelessSessionPatterns"] as const)(
    "is hidden as well (%s)",
    async (patterns) => {
      const host = new FakeHost();
      const lcm = openWithHost(host);
      await play(host, lcm, "old");
      const { databasePath } = lcm.config;
      const config = { [patterns]: ["agent:main:**"] };
      const later = openWithHost(host, { databasePath, config });
      await later.createEngine().sessionDeleted({ sessionKey: KEY });
      expect(lcm.stores.conversations.find(host.ref(KEY))).toBeUndefined();
      expect(later.stores.status.database()).toMatchObject({
        conversations: 0,
        hiddenConversations: 1,
      });
    },
  );

  it("leaves nothing of one that was never stored", async () => {
    const lcm = openWithHost(new FakeHost());
    const sessionKey = "agent:main:dashboard:incognito-1";
    await lcm.createEngine().sessionDeleted({ sessionKey });
    expect(lcm.stores.db.all("SELECT * FROM conversations")).toEqual([]);
    expect(lcm.stores.db.all("SELECT * FROM tombstones")).toEqual([]);
  });
});

describe("a turn of a deleted session that arrives late", () => {
  it.each(["before the key is used again", "after the key is used again"])(
    "stays hidden with it, %s",
    async (when) => {
      const host = new FakeHost();
      const lcm = openWithHost(host);
      await play(host, lcm, "old");
      const old = host.ref(KEY);
      const at = host.tick();
      const late = host.turn(KEY, [userMessage("my secret", at), assistantMessage("noted", at)]);
      host.tick();
      await lcm.createEngine().sessionDeleted({ sessionKey: KEY });
      host.newSessionId(KEY);
      if (when.startsWith("after")) await play(host, lcm, "new");
      await lcm.createEngine().commitTurn(late);
      await lcm.createEngine().maintain(old);
      const visible = lcm.stores.db.all(
        `SELECT m.body FROM messages m JOIN conversations c USING (conversation_id)
         WHERE c.hidden_at IS NULL AND m.body LIKE '%my secret%'`,
      );
      expect(visible).toEqual([]);
      expect(
        lcm.stores.db.all("SELECT 1 FROM messages WHERE body LIKE '%my secret%'"),
      ).toHaveLength(1);
    },
  );
});

describe("a session deleted in the host without our hearing of it", () => {
  async function openDeleted() {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "old");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    const old = host.ref(KEY);
    host.tick();
    host.delete(KEY);
    return { host, lcm, old };
  }

  const counts = (lcm: Lcm) => {
    const { conversations, hiddenConversations } = lcm.stores.status.database();
    return { conversations, hiddenConversations };
  };

  it("is hidden when work for it goes on", async () => {
    const { lcm, old } = await openDeleted();
    await lcm.createEngine().maintain(old);
    expect(counts(lcm)).toEqual({ conversations: 0, hiddenConversations: 1 });
  });

  it("is hidden when its key is used again", async () => {
    const { host, lcm } = await openDeleted();
    host.tick();
    await lcm.createEngine().assemble({ ...host.ref(KEY), messages: [] });
    await play(host, lcm, "new");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(counts(lcm)).toEqual({ conversations: 1, hiddenConversations: 1 });
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  const answers: [string, { visible?: VisiblePage; entry?: SessionEntry }][] = [
    ["its transcript is missing, and its key is still there", { visible: { kind: "missing" } }],
    ["its key is unknown, and its transcript is still there", { entry: { kind: "gone" } }],
    [
      "the host can tell nothing",
      { visible: { kind: "unavailable", reason: "rebuilding" }, entry: { kind: "unknown" } },
    ],
  ];

  it.each(answers)("is not one of which %s", async (_name, answer) => {
    const host = new FakeHost();
    let given: typeof answer = {};
    const lcm = openWithHost(host, {
      transcript: host.answering({
        visible: async (session, limits) => given.visible ?? host.visible(session, limits),
        entry: (session) => given.entry ?? host.entry(session),
      }),
    });
    await play(host, lcm, "old");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    given = answer;
    await lcm.createEngine().maintain(host.ref(KEY));
    host.newSessionId(KEY);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(counts(lcm)).toEqual({ conversations: 1, hiddenConversations: 0 });
  });
});

describe("the session id of a deleted session that is used again", () => {
  /** The host keeps the transcript when it is told to, so the old rows are still in it. */
  async function openDeleted() {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "old");
    host.tick();
    await lcm.createEngine().sessionDeleted({ sessionKey: KEY });
    return { host, lcm, deleted: host.activeIds(KEY).length };
  }

  it.each(["commits", "never commits"])(
    "begins a conversation without what was deleted, on a route where the host %s",
    async (route) => {
      const { host, lcm, deleted } = await openDeleted();
      for (const text of ["new", "newer"]) {
        const engine = lcm.createEngine();
        await engine.bootstrap(host.ref(KEY));
        await engine.assemble({ ...host.ref(KEY), messages: [] });
        const at = host.tick();
        const call = host.turn(KEY, [userMessage(text, at), assistantMessage("ok", at)]);
        if (route === "commits") await engine.commitTurn(call);
      }
      await lcm.createEngine().bootstrap(host.ref(KEY));
      const stored = storedBranch(lcm, host.ref(KEY));
      expect(stored).toEqual(host.transcript(KEY).slice(deleted));
      expect(viewTexts(lcm, host)).toEqual(["new", "newer"]);
      const { messages, hiddenConversations } = lcm.stores.status.database();
      expect({ messages, hiddenConversations }).toEqual({ messages: 8, hiddenConversations: 1 });
    },
  );

  it("does not bring the deleted rows into a branch of the new conversation either", async () => {
    const { host, lcm, deleted } = await openDeleted();
    const engine = lcm.createEngine();
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    await play(host, lcm, "new");
    const second = await play(host, lcm, "newer");
    host.rewind(KEY, second.admission.entryId);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY).slice(deleted));
  });

  it("is not brought back by late work alone", async () => {
    const { host, lcm } = await openDeleted();
    await lcm.createEngine().maintain(host.ref(KEY));
    expect(lcm.stores.conversations.find(host.ref(KEY))).toBeUndefined();
  });
});
