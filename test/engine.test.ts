import { describe, expect, it } from "vitest";
import { LcmContextEngine } from "../src/engine.js";
import { Chat } from "./support/chat.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { recordingLog } from "./support/recording-log.js";
import { countMessages, openWithHost, storedBranch, viewEntries } from "./support/workspace.js";

const KEY = "agent:main:web1";

function simpleTurn(host: FakeHost, text: string) {
  const at = host.tick();
  return [
    userMessage(text, at),
    ...toolLoop(`call-${at}`, `output of ${text}`, at + 1),
    assistantMessage(`done: ${text}`, at + 5),
  ];
}

describe("what memory plugins want the model to be told", () => {
  async function played(memoryPrompt: () => Promise<string | undefined>) {
    const chat = new Chat();
    while (chat.shownOrNone().length === 0) await chat.turns(1);
    const log = recordingLog();
    const engine = new LcmContextEngine({
      stores: () => chat.stores,
      config: chat.lcm.config,
      source: chat.host,
      log,
      now: chat.host.now,
      memoryPrompt,
      release: () => undefined,
    });
    const first = await chat.begin(engine);
    const next = await chat.loop(engine, first);
    return { chat, log, engine, first, next };
  }

  it("comes before our guidance, in a turn's first call only", async () => {
    const { first, next } = await played(async () => "## Memory\nThe user likes tea.");
    expect(first.systemPromptAddition).toMatch(
      /^## Memory\nThe user likes tea\.\n\n## Recalling earlier conversation\n/,
    );
    expect(next.systemPromptAddition).toMatch(/^## Recalling earlier conversation\n/);
    expect(first.systemPromptAddition).toContain(next.systemPromptAddition);
  });

  it("is passed on where there is nothing of ours to say", async () => {
    const { chat, engine } = await played(async () => "## Memory");
    const call = chat.call([], 10_000);
    const { messages, systemPromptAddition } = await engine.assemble({
      ...call,
      sessionKey: "agent:main:internal-session-effects:1",
    });
    expect(messages).toEqual([]);
    expect(systemPromptAddition).toBe("## Memory");
  });

  it("fails no turn when it can not be had", async () => {
    const { first, next, log } = await played(() => Promise.reject(new Error("no such plugin")));
    expect(first.messages.length).toBeGreaterThan(0);
    expect(first.systemPromptAddition).toBe(next.systemPromptAddition);
    expect(log.warnings).toEqual(["the memory prompt is missing: no such plugin"]);
  });
});

describe("commitTurn", () => {
  it("stores a turn in order and exactly (G1)", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const call = host.turn(KEY, simpleTurn(host, "hello"));
    await expect(lcm.createEngine().commitTurn(call)).resolves.toEqual({ status: "committed" });
    expect(storedBranch(lcm, host.ref(KEY)).map((row) => row.message)).toEqual(call.messages);
  });

  it("answers the same key as a duplicate and stores nothing twice (G1)", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const call = host.turn(KEY, simpleTurn(host, "hello"));
    await lcm.createEngine().commitTurn(call);
    await expect(lcm.createEngine().commitTurn(call)).resolves.toEqual({ status: "duplicate" });
    expect(countMessages(lcm)).toBe(4);
  });

  it("meets rows that the transcript brought first", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const call = host.turn(KEY, simpleTurn(host, "hello"));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    await expect(lcm.createEngine().commitTurn(call)).resolves.toEqual({ status: "committed" });
    expect(countMessages(lcm)).toBe(4);
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("learns the entry ids inside a turn from the next read", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    await lcm.createEngine().commitTurn(host.turn(KEY, simpleTurn(host, "hello")));
    expect(storedBranch(lcm, host.ref(KEY)).filter((row) => row.entryId === null)).toHaveLength(2);
    await lcm.createEngine().maintain(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(4);
  });

  it.each([
    ["no messages", { messages: undefined }],
    ["a message without a role", { messages: [{ content: "?" }] }],
    ["fewer messages than positions", { messages: [] }],
    ["a message that is no JSON", { messages: [{ role: "user", content: 1n }] }],
  ])(
    "acknowledges a payload with %s, says so, and fills it from the transcript",
    async (_name, broken) => {
      const host = new FakeHost();
      const lcm = openWithHost(host);
      const call = host.turn(KEY, [userMessage("kept", host.tick())]);
      const answer = await lcm.createEngine().commitTurn({ ...call, ...broken } as typeof call);
      expect(answer).toEqual({ status: "committed" });
      await lcm.createEngine().bootstrap(host.ref(KEY));
      expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    },
  );

  it("acknowledges a commit that names no turn", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const call = host.turn(KEY, simpleTurn(host, "hello"));
    const answer = await lcm.createEngine().commitTurn({ ...call, admission: undefined } as never);
    expect(answer).toEqual({ status: "committed" });
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });
});

describe("bootstrap", () => {
  it("imports a session that existed before, with its own times", async () => {
    const host = new FakeHost();
    const messages = simpleTurn(host, "before the plugin");
    for (const message of messages) host.append(KEY, message);
    const lcm = openWithHost(host);
    await expect(lcm.createEngine().bootstrap(host.ref(KEY))).resolves.toEqual({
      bootstrapped: true,
      importedMessages: 4,
    });
    const conversation = lcm.stores.conversations.find(host.ref(KEY));
    const segment = lcm.stores.conversations.segment(conversation!.id, host.ref(KEY).sessionId);
    expect(lcm.stores.messages.branch(segment!.id).map((row) => Date.parse(row.createdAt))).toEqual(
      messages.map((message) => message["timestamp"]),
    );
  });

  it("takes in entries larger than a page", async () => {
    const host = new FakeHost();
    host.append(KEY, userMessage("x".repeat(9_000_000), host.tick()));
    host.append(KEY, assistantMessage("read it", host.tick()));
    const lcm = openWithHost(host);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("goes past an entry that the host hands out to nobody, and says so once", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    host.append(KEY, userMessage("before", host.tick()));
    host.reset(KEY);
    host.append(KEY, userMessage("x".repeat(65 * 1024 * 1024), host.tick()));
    host.reset(KEY);
    host.append(KEY, assistantMessage("behind it", host.tick()));
    for (const round of ["first", "again", "after a rotation"]) {
      if (round === "after a rotation") host.rotate(KEY);
      await expect(lcm.createEngine().bootstrap(host.ref(KEY))).resolves.toMatchObject({
        bootstrapped: true,
      });
      const [first, , last] = host.transcript(KEY);
      expect(storedBranch(lcm, host.ref(KEY))).toEqual([first, last]);
      expect(viewEntries(lcm, host.ref(KEY))).toEqual([last?.entryId]);
    }
    const events = "SELECT kind, detail FROM sync_events WHERE kind = 'unreadable'";
    expect(lcm.stores.db.all(events)).toEqual([
      { kind: "unreadable", detail: expect.stringMatching(/bytes after position 0 is beyond/) },
    ]);
  });

  it("reads only what is new when it runs again", async () => {
    const host = new FakeHost();
    for (let index = 0; index < 1200; index += 1)
      host.append(KEY, userMessage(`m${index}`, host.tick()));
    const lcm = openWithHost(host);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.reads.visible = 0;
    host.reads.raw = 0;
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(host.reads).toEqual({ visible: 1, raw: 1 });
  });

  it("finds its place after the generation rotated, without reading all again", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    for (let index = 0; index < 1200; index += 1)
      host.append(KEY, userMessage(`m${index}`, host.tick()));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.rotate(KEY);
    host.append(KEY, assistantMessage("steered", host.tick()));
    host.reads.visible = 0;
    await expect(lcm.createEngine().bootstrap(host.ref(KEY))).resolves.toMatchObject({
      importedMessages: 1,
    });
    expect(host.reads.visible).toBeLessThanOrEqual(3);
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("waits for the next turn when the transcript can not be read", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    host.append(KEY, userMessage("later", host.tick()));
    host.unavailable = true;
    await expect(lcm.createEngine().bootstrap(host.ref(KEY))).resolves.toMatchObject({
      bootstrapped: false,
    });
    host.unavailable = false;
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("stops between two pages when it is told to, in the log of events too", async () => {
    const host = new FakeHost();
    for (let index = 0; index < 9; index += 1)
      host.append(KEY, userMessage(`m${index}`, host.tick()));
    const lcm = openWithHost(host);
    const interrupted = { ...host.ref(KEY), abortSignal: AbortSignal.abort() };
    host.pageItems = 3;
    for (const stored of [3, 6, 9]) {
      await lcm.createEngine().maintain(interrupted);
      expect(countMessages(lcm)).toBe(stored);
    }
    expect(host.reads).toEqual({ visible: 3, raw: 1 });
    await expect(lcm.createEngine().bootstrap(host.ref(KEY))).resolves.toMatchObject({
      bootstrapped: true,
    });
    expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
  });
});
