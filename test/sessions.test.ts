// How host sessions map to conversations: rewinds, branches, forks, resets, private and skipped ones.

import { describe, expect, it } from "vitest";
import type { Lcm } from "../src/lcm.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, heartbeatPrompt, toolLoop, userMessage } from "./support/messages.js";
import { countMessages, openWithHost, storedBranch } from "./support/workspace.js";

const KEY = "agent:main:web1";

async function play(host: FakeHost, lcm: Lcm, text: string, key = KEY) {
  const at = host.tick();
  const call = host.turn(key, [
    userMessage(text, at),
    ...toolLoop(`c${at}`, text, at + 1),
    assistantMessage(`re: ${text}`, at + 9),
  ]);
  await lcm.createEngine().commitTurn(call);
  return call;
}

function viewTexts(lcm: Lcm, host: FakeHost, key = KEY): unknown[] {
  const conversation = lcm.stores.conversations.find(host.ref(key));
  const items = lcm.stores.views.newest(conversation!.id, 1_000);
  const ids = new Set(items.flatMap((item) => ("messageId" in item ? [item.messageId] : [])));
  const segment = lcm.stores.conversations.segment(conversation!.id, host.ref(key).sessionId);
  return lcm.stores.messages
    .branch(segment!.id)
    .filter((row) => ids.has(row.id) && row.role === "user")
    .map((row) => row.message["content"]);
}

describe("rewind", () => {
  it("keeps the cut messages stored and takes them out of the view", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "one");
    const second = await play(host, lcm, "two");
    host.rewind(KEY, second.admission.entryId);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    await play(host, lcm, "two again");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(viewTexts(lcm, host)).toEqual(["one", "two again"]);
    expect(countMessages(lcm)).toBe(12);
  });

  it("switches back to the old branch without storing anything again", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "one");
    const second = await play(host, lcm, "two");
    const oldBranch = host.activeIds(KEY);
    host.rewind(KEY, second.admission.entryId);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    await play(host, lcm, "other");
    host.switchTo(KEY, oldBranch);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(viewTexts(lcm, host)).toEqual(["one", "two"]);
    expect(countMessages(lcm)).toBe(12);
  });

  it("does not let a late commit of the old session id take the view back", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "one");
    const late = host.turn(KEY, [
      userMessage("late", host.tick()),
      assistantMessage("late reply", host.tick()),
    ]);
    host.rewind(KEY, late.admission.entryId);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    await lcm.createEngine().commitTurn(late);
    expect(lcm.stores.conversations.find(host.ref(KEY))?.sessionId).toBe(host.ref(KEY).sessionId);
    expect(viewTexts(lcm, host)).toEqual(["one"]);
  });

  it("does not let a read of the old session id that ends late into the view", async () => {
    const host = new FakeHost();
    const reading = Promise.withResolvers<void>();
    let isHeld = false;
    const lcm = openWithHost(host, {
      transcript: host.answering({
        visible: async (session, limits) => {
          const page = await host.visible(session, limits);
          if (isHeld) {
            isHeld = false;
            await reading.promise;
          }
          return page;
        },
      }),
    });
    await play(host, lcm, "one");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    const entryId = host.append(KEY, userMessage("two", host.tick()));
    isHeld = true;
    const slow = lcm.createEngine().maintain(host.ref(KEY));
    host.rewind(KEY, entryId);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    reading.resolve();
    await slow;
    expect(viewTexts(lcm, host)).toEqual(["one"]);
  });
});

describe("fork", () => {
  it.each(["whole", "by entry"])(
    "makes a conversation of its own that names its parent (%s)",
    async (kind) => {
      const host = new FakeHost();
      const lcm = openWithHost(host);
      await play(host, lcm, "one");
      const second = await play(host, lcm, "two");
      const childKey = kind === "whole" ? host.fork(KEY) : host.fork(KEY, second.admission.entryId);
      await lcm.createEngine().bootstrap(host.ref(childKey));
      expect(storedBranch(lcm, host.ref(childKey))).toEqual(host.transcript(childKey));
      const parent = lcm.stores.conversations.find(host.ref(KEY));
      const child = lcm.stores.conversations.find(host.ref(childKey));
      expect(child?.forkedFrom).toBe(parent?.id);
      expect(viewTexts(lcm, host)).toEqual(["one", "two"]);
    },
  );

  it("names its parent when its first turn was committed before it could be read", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "one");
    const childKey = host.fork(KEY);
    await play(host, lcm, "two", childKey);
    await lcm.createEngine().bootstrap(host.ref(childKey));
    const parent = lcm.stores.conversations.find(host.ref(KEY));
    const child = lcm.stores.conversations.find(host.ref(childKey));
    expect(child?.forkedFrom).toBe(parent?.id);
  });

  it("names its parent when that is stored while the fork is still being read", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    for (const text of ["one", "two"]) host.append(KEY, userMessage(text, host.tick()));
    const childKey = host.fork(KEY);
    host.pageItems = 1;
    const interrupted = { ...host.ref(childKey), abortSignal: AbortSignal.abort() };
    await lcm.createEngine().maintain(interrupted);
    await play(host, lcm, "three");
    await lcm.createEngine().bootstrap(host.ref(childKey));
    const parent = lcm.stores.conversations.find(host.ref(KEY));
    const child = lcm.stores.conversations.find(host.ref(childKey));
    expect(child?.forkedFrom).toBe(parent?.id);
  });
});

describe("reset", () => {
  it("that keeps the session id starts the view anew and keeps the history", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "before");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.reset(KEY);
    await play(host, lcm, "after");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(viewTexts(lcm, host)).toEqual(["after"]);
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("that keeps a tail starts the view at the tail", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "one");
    const second = await play(host, lcm, "two");
    host.reset(KEY, "idle", second.admission.entryId);
    await play(host, lcm, "three");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(viewTexts(lcm, host)).toEqual(["two", "three"]);
  });

  it("bounds the view after a rewind to its first message, too", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "before");
    host.reset(KEY);
    const first = await play(host, lcm, "after");
    host.rewind(KEY, first.admission.entryId);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(viewTexts(lcm, host)).toEqual([]);
    await play(host, lcm, "other");
    expect(viewTexts(lcm, host)).toEqual(["other"]);
  });

  it("behind a heartbeat that was not kept still bounds the view", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host, { config: { skipHeartbeats: true } });
    await play(host, lcm, "before");
    const rows = [heartbeatPrompt(host.tick()), assistantMessage("HEARTBEAT_OK", host.tick())];
    await lcm.createEngine().commitTurn(host.turn(KEY, rows, { isHeartbeat: true }));
    host.reset(KEY);
    await play(host, lcm, "after");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(viewTexts(lcm, host)).toEqual(["after"]);
  });

  it("that changes the session id begins an empty segment of the same conversation", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await play(host, lcm, "yesterday");
    const before = lcm.stores.conversations.find(host.ref(KEY))?.id;
    host.newSessionId(KEY);
    await play(host, lcm, "today");
    expect(lcm.stores.conversations.find(host.ref(KEY))?.id).toBe(before);
    expect(viewTexts(lcm, host)).toEqual(["today"]);
    expect(countMessages(lcm)).toBe(8);
  });
});

describe("sessions that are not ours to keep", () => {
  it.each([
    "agent:main:dashboard:incognito-a96d7c57",
    "agent:main:internal-session-effects:1234-abcd",
    "agent:main:subagent:lcm-recall-1234",
    "agent:main:cron:nightly",
    "agent:main:probe:1",
  ])("%s leaves no row", async (key) => {
    const host = new FakeHost();
    const lcm = openWithHost(host, {
      config: {
        ignoreSessionPatterns: ["agent:*:cron:**"],
        statelessSessionPatterns: ["agent:main:probe:*"],
      },
    });
    const engine = lcm.createEngine();
    await engine.bootstrap(host.ref(key));
    await engine.assemble({ ...host.ref(key), messages: [] });
    await play(host, lcm, "secret", key);
    await engine.maintain(host.ref(key));
    await engine.prepareSubagentSpawn({ parentSessionKey: KEY, childSessionKey: key });
    expect(lcm.stores.status.database()).toMatchObject({ messages: 0, conversations: 0 });
  });
});

describe("heartbeat turns", () => {
  const heartbeat = (host: FakeHost, reply: string) =>
    host.turn(
      KEY,
      [
        heartbeatPrompt(host.tick()),
        ...(reply === "used a tool" ? toolLoop("hb", "ok", host.tick()) : []),
        assistantMessage(reply === "used a tool" ? "HEARTBEAT_OK" : reply, host.tick()),
      ],
      { isHeartbeat: true },
    );

  it.each([
    [{}, "HEARTBEAT_OK", 2],
    [{ pruneHeartbeatOk: true }, "HEARTBEAT_OK", 0],
    [{ pruneHeartbeatOk: true }, "The build is broken!", 2],
    [{ pruneHeartbeatOk: true }, "used a tool", 4],
    [{ skipHeartbeats: true }, "The build is broken!", 0],
    [{ skipHeartbeats: true }, "used a tool", 0],
  ])(
    "with %o a reply of %j leaves %i messages, however it arrives",
    async (config, reply, expected) => {
      for (const route of ["commit", "transcript"]) {
        const host = new FakeHost();
        const lcm = openWithHost(host, { config });
        const call = heartbeat(host, reply);
        if (route === "commit") await lcm.createEngine().commitTurn(call);
        // Never resurrected: neither by the next reads nor by one that starts from the beginning.
        await lcm.createEngine().bootstrap(host.ref(KEY));
        host.rotate(KEY);
        await play(host, lcm, "real work");
        await lcm.createEngine().bootstrap(host.ref(KEY));
        expect(countMessages(lcm), route).toBe(expected + 4);
      }
    },
  );

  it.each([{ pruneHeartbeatOk: true }, { skipHeartbeats: true }])(
    "with %o leaves nothing when it lies across the end of a page or of a read",
    async (config) => {
      for (let pageItems = 1; pageItems <= 6; pageItems += 1) {
        const host = new FakeHost();
        const lcm = openWithHost(host, { config });
        host.append(KEY, userMessage("one", host.tick()));
        host.append(KEY, assistantMessage("two", host.tick()));
        host.append(KEY, heartbeatPrompt(host.tick()));
        host.append(KEY, assistantMessage("HEARTBEAT_OK", host.tick()));
        host.append(KEY, userMessage("three", host.tick()));
        host.pageItems = pageItems;
        const interrupted = { ...host.ref(KEY), abortSignal: AbortSignal.abort() };
        for (let read = 0; read < 6; read += 1) await lcm.createEngine().maintain(interrupted);
        expect(viewTexts(lcm, host)).toEqual(["one", "three"]);
        expect(countMessages(lcm), `${pageItems}`).toBe(3);
      }
    },
  );

  it("that are not kept do not take what another run wrote behind them", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host, { config: { skipHeartbeats: true } });
    const reply = (text: string, runId: string) => ({
      ...assistantMessage(text, host.tick()),
      __openclaw: { runId },
    });
    host.append(KEY, heartbeatPrompt(host.tick()));
    host.append(KEY, reply("HEARTBEAT_OK", "heartbeat-run"));
    host.append(KEY, reply("a sub-agent is done", "announce-run"));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    const bodies = lcm.stores.db.all<{ text: string }>(
      "SELECT body ->> '$.content[0].text' AS text FROM messages",
    );
    expect(bodies).toEqual([{ text: "a sub-agent is done" }]);
  });
});

describe("sub-agents", () => {
  it("are conversations of their own, linked to their parent until a failed spawn is rolled back", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const childKey = "agent:main:subagent:child-1";
    const engine = lcm.createEngine();
    const preparation = await engine.prepareSubagentSpawn({
      parentSessionKey: KEY,
      childSessionKey: childKey,
      contextMode: "isolated",
    });
    await play(host, lcm, "child work", childKey);
    await engine.onSubagentEnded({ childSessionKey: childKey, reason: "completed" });
    expect(
      lcm.stores.db.get(
        "SELECT parent_session_key AS parent, end_reason AS reason FROM subagent_links",
      ),
    ).toEqual({ parent: KEY, reason: "completed" });
    preparation?.rollback();
    expect(lcm.stores.db.get("SELECT count(*) AS links FROM subagent_links")).toEqual({ links: 0 });
    expect(viewTexts(lcm, host, childKey)).toEqual(["child work"]);
  });
});
