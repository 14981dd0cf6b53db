// What stands in a session id that is not current any more: rewinds, switches and resets leave it, the
// host keeps it readable, and nothing of it may be lost (G1) or enter the view (G3).

import { describe, expect, it } from "vitest";
import type { Lcm } from "../src/lcm.js";
import type { AgentMessage, TranscriptSource } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { countMessages, openWithHost, storedBranch, viewEntries } from "./support/workspace.js";

const KEY = "agent:main:web1";

function rows(host: FakeHost, text: string): AgentMessage[] {
  const at = host.tick();
  return [
    userMessage(text, at),
    ...toolLoop(`c${at}`, text, at + 1),
    assistantMessage(`re: ${text}`, at + 9),
  ];
}

/** A turn through the engine, as the host plays it. */
async function serve(host: FakeHost, lcm: Lcm, text: string, key = KEY): Promise<void> {
  const engine = lcm.createEngine();
  if (host.activeIds(key).length > 0) await engine.bootstrap(host.ref(key));
  await engine.assemble({ ...host.ref(key), messages: [] });
  await engine.commitTurn(host.turn(key, rows(host, text)));
  await engine.maintain(host.ref(key));
}

/** A turn that the host asks us about and never commits. */
async function serveUndelivered(host: FakeHost, lcm: Lcm, text: string) {
  const engine = lcm.createEngine();
  if (host.activeIds(KEY).length > 0) await engine.bootstrap(host.ref(KEY));
  await engine.assemble({ ...host.ref(KEY), messages: [] });
  return host.turn(KEY, rows(host, text));
}

async function open(options: { transcript?: TranscriptSource } = {}) {
  const host = new FakeHost();
  const lcm = openWithHost(host, options);
  return { host, lcm };
}

function expectAllStored(host: FakeHost, lcm: Lcm): void {
  for (const sessionId of host.sessionIds(KEY)) {
    const stored = storedBranch(lcm, { ...host.ref(KEY), sessionId });
    expect(stored).toEqual(host.transcriptOf(sessionId));
  }
  const twice = "SELECT body FROM messages GROUP BY conversation_id, body HAVING count(*) > 1";
  expect(lcm.stores.db.all(twice)).toEqual([]);
  expect(viewEntries(lcm, host.ref(KEY))).toEqual([...host.contextEntries(KEY)]);
}

async function gaps(host: FakeHost, lcm: Lcm): Promise<number | undefined> {
  return (await lcm.status(host.ref(KEY))).session?.conversation?.gapsFilled;
}

const endings: Record<string, (host: FakeHost, entryId: string) => void> = {
  "a reset to a new id": (host) => host.newSessionId(KEY),
  "a rewind to before it": (host, entryId) => host.rewind(KEY, entryId),
};

describe.each(Object.entries(endings))("%s", (_name, leave) => {
  it("does not lose a turn that the user steered", async () => {
    const { host, lcm } = await open();
    await serve(host, lcm, "one");
    const steered = await serveUndelivered(host, lcm, "steered");
    host.rotate(KEY);
    leave(host, steered.admission.entryId);
    await serve(host, lcm, "today");
    expectAllStored(host, lcm);
    expect(await gaps(host, lcm)).toBe(1);
  });

  it("does not lose a turn whose payload could not be read when it was acknowledged", async () => {
    const { host, lcm } = await open();
    await serve(host, lcm, "one");
    const call = await serveUndelivered(host, lcm, "acknowledged");
    const garbled = { ...call, messages: call.messages.slice(1) };
    await expect(lcm.createEngine().commitTurn(garbled)).resolves.toEqual({ status: "committed" });
    leave(host, call.admission.entryId);
    await serve(host, lcm, "today");
    expectAllStored(host, lcm);
  });

  it("does not lose the only turn of a session that the host never commits", async () => {
    const { host, lcm } = await open();
    const only = await serveUndelivered(host, lcm, "the only one");
    leave(host, only.admission.entryId);
    await serveUndelivered(host, lcm, "today");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expectAllStored(host, lcm);
  });

  it("does not lose what a sync had no time for", async () => {
    const { host, lcm } = await open();
    await serve(host, lcm, "one");
    const first = await serveUndelivered(host, lcm, "two");
    for (const text of ["three", "four"]) host.turn(KEY, rows(host, text));
    host.pageItems = 2;
    leave(host, first.admission.entryId);
    const interrupted = { ...host.ref(KEY), abortSignal: AbortSignal.abort() };
    const counts = [];
    for (let sync = 0; sync < 3; sync += 1) {
      await lcm.createEngine().maintain(interrupted);
      counts.push(countMessages(lcm));
    }
    expect(counts).toEqual([6, 8, 10]);
    await serve(host, lcm, "today");
    expectAllStored(host, lcm);
  });
});

describe("a session that was left", () => {
  it("is read once, and costs nothing from then on", async () => {
    const { host, lcm } = await open();
    for (const text of ["one", "two", "three"]) {
      await serve(host, lcm, text);
      host.newSessionId(KEY);
    }
    await serve(host, lcm, "four");
    host.reads.visible = 0;
    host.reads.raw = 0;
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(host.reads).toEqual({ visible: 1, raw: 1 });
  });

  it("is tried again when the host can not read it now", async () => {
    const host = new FakeHost();
    let away: string | undefined;
    const lcm = openWithHost(host, { transcript: without(host, () => away, "unavailable") });
    await serveUndelivered(host, lcm, "yesterday");
    away = host.ref(KEY).sessionId;
    host.newSessionId(KEY);
    await serve(host, lcm, "today");
    expect(countMessages(lcm)).toBe(4);
    away = undefined;
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expectAllStored(host, lcm);
  });

  it("is not asked for again once the host does not have it any more", async () => {
    const host = new FakeHost();
    let away: string | undefined;
    const lcm = openWithHost(host, { transcript: without(host, () => away, "missing") });
    await serveUndelivered(host, lcm, "yesterday");
    away = host.ref(KEY).sessionId;
    host.newSessionId(KEY);
    await serve(host, lcm, "today");
    host.reads.visible = 0;
    away = undefined;
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(host.reads.visible).toBe(1);
  });

  it("is found through the host when only legacy served it", async () => {
    const { host, lcm } = await open();
    await serve(host, lcm, "one");
    const cut = host.turn(KEY, rows(host, "served by legacy"));
    host.rewind(KEY, cut.admission.entryId);
    const again = host.turn(KEY, rows(host, "and on another branch"));
    host.rewind(KEY, again.admission.entryId);
    await serve(host, lcm, "back");
    expectAllStored(host, lcm);
    expect(countMessages(lcm)).toBe(16);
  });

  it("stays marked when a late commit comes while it is read", async () => {
    const host = new FakeHost();
    let late: (() => Promise<unknown>) | undefined;
    const transcript = host.answering({
      visible: async (session, limits) => {
        const page = await host.visible(session, limits);
        if (session.sessionId !== host.ref(KEY).sessionId) {
          await late?.();
          late = undefined;
        }
        return page;
      },
    });
    const lcm = openWithHost(host, { transcript });
    await serve(host, lcm, "one");
    const old = host.ref(KEY);
    host.newSessionId(KEY);
    const engine = lcm.createEngine();
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    late = () => lcm.createEngine().commitTurn(host.turnOf(old.sessionId, rows(host, "late")));
    await engine.maintain(host.ref(KEY));
    await engine.maintain(host.ref(KEY));
    expectAllStored(host, lcm);
  });
});

describe("late work for a session that was left", () => {
  const calls: Record<string, (lcm: Lcm, old: ReturnType<FakeHost["ref"]>) => Promise<unknown>> = {
    maintain: (lcm, old) => lcm.createEngine().maintain(old),
    ingestBatch: (lcm, old) => lcm.createEngine().ingestBatch({ ...old, messages: [] }),
  };

  it.each(Object.entries(calls))("stores and leaves the view alone: %s", async (_name, call) => {
    const { host, lcm } = await open();
    await serve(host, lcm, "one");
    const old = host.ref(KEY);
    host.newSessionId(KEY);
    await serve(host, lcm, "today");
    host.turnOf(old.sessionId, rows(host, "of a run that ended late"));
    await call(lcm, old);
    expectAllStored(host, lcm);
  });

  it.each(["we know", "we never met"])(
    "stores and leaves the view alone: a commit of one that %s",
    async (which) => {
      const { host, lcm } = await open();
      if (which === "we know") await serve(host, lcm, "one");
      const late = host.turn(KEY, rows(host, "late"));
      host.newSessionId(KEY);
      await serve(host, lcm, "today");
      await lcm.createEngine().commitTurn(late);
      expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
      await lcm.createEngine().bootstrap(host.ref(KEY));
      expectAllStored(host, lcm);
    },
  );
});

describe("a sub-agent of one turn", () => {
  it("is stored when it ends, on a route where the host never commits", async () => {
    const { host, lcm } = await open();
    const child = "agent:main:subagent:c1";
    const engine = lcm.createEngine();
    await engine.prepareSubagentSpawn({ parentSessionKey: KEY, childSessionKey: child });
    await engine.assemble({ ...host.ref(child), messages: [] });
    host.turn(child, rows(host, "task"));
    await engine.onSubagentEnded({ childSessionKey: child, reason: "completed" });
    expect(storedBranch(lcm, host.ref(child))).toEqual(host.transcript(child));
  });
});

/** A host that answers reads of one session id, while it is set, with nothing. */
function without(
  host: FakeHost,
  away: () => string | undefined,
  kind: "missing" | "unavailable",
): TranscriptSource {
  const answer = { kind, reason: "projection_rebuilding" };
  return host.answering({
    visible: async (session, limits) =>
      session.sessionId === away() ? answer : host.visible(session, limits),
  });
}
