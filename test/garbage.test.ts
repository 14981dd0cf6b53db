// Whatever a host hands over, no method throws while the store is healthy, nothing is stored for a call
// that names no session, and nothing that can be kept is lost (G1, G8).

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LcmContextEngine } from "../src/engine.js";
import type { TranscriptSource } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { userMessage } from "./support/messages.js";
import { openTestLcm, openWithHost, storedBranch, viewEntries } from "./support/workspace.js";

const KEY = "agent:main:web1";

const METHODS = [
  "bootstrap",
  "maintain",
  "assemble",
  "commitTurn",
  "ingest",
  "ingestBatch",
  "compact",
  "prepareSubagentSpawn",
  "onSubagentEnded",
  "sessionDeleted",
] as const satisfies (keyof LcmContextEngine)[];

function invoke(engine: LcmContextEngine, method: (typeof METHODS)[number], call: unknown) {
  return (engine[method] as (call: unknown) => Promise<unknown>).call(engine, call);
}

const junk = fc.oneof(
  fc.constantFrom(undefined, null, "", 0, -1, 1.5, Number.NaN, 2 ** 53, true, 1n, [], {}),
  fc.jsonValue(),
);
const orJunk = <T>(good: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: good }, junk);

const name = fc.constantFrom("main", "agent:main:a", "agent:main:subagent:b", "global", "::", "\0");
const message = orJunk(fc.record({ role: orJunk(name), content: junk, timestamp: junk }));
const anchor = fc.record(
  {
    agentId: orJunk(name),
    sessionId: orJunk(name),
    generation: orJunk(name),
    entryId: orJunk(fc.uuid()),
    activeMessagePosition: orJunk(fc.nat(5)),
  },
  { requiredKeys: [] },
);

/** The fields of every method's call, each as it should be, or not, or missing. */
const fields = {
  sessionTarget: orJunk(fc.record({ agentId: orJunk(name) })),
  agentId: orJunk(name),
  message,
  messages: orJunk(fc.array(message, { maxLength: 4 })),
  advancementKey: orJunk(fc.uuid()),
  terminal: orJunk(anchor),
  isHeartbeat: junk,
  abortSignal: junk,
  contextMode: orJunk(fc.constant("isolated")),
  reason: orJunk(fc.constant("completed")),
};
const naming = {
  sessionId: orJunk(name),
  sessionKey: orJunk(name),
  admission: orJunk(anchor),
  parentSessionKey: orJunk(name),
  childSessionKey: orJunk(name),
};
const anyCall = orJunk(fc.record({ ...fields, ...naming }, { requiredKeys: [] }));
const nameless = fc.constantFrom(undefined, null, "", 0, 7, true, {}, []);
const namelessCall = fc.record(
  { ...fields, sessionId: nameless, sessionKey: nameless, admission: nameless },
  { requiredKeys: [] },
);

describe("a malformed call", () => {
  it.each(METHODS)("does not make %s throw", async (method) => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const property = fc.asyncProperty(anyCall, async (call) => {
      const engine = lcm.createEngine();
      await invoke(engine, method, call);
      await engine.dispose();
    });
    await fc.assert(property, { numRuns: 300 });
  });

  it.each(METHODS)("that names no session lets %s store nothing", async (method) => {
    const lcm = openWithHost(new FakeHost());
    const property = fc.asyncProperty(fc.oneof(namelessCall, nameless), async (call) => {
      await invoke(lcm.createEngine(), method, call);
      expect(lcm.stores.status.database()).toMatchObject({ conversations: 0, messages: 0 });
    });
    await fc.assert(property, { numRuns: 100 });
  });

  it("gets the very messages back from assemble", async () => {
    const lcm = openWithHost(new FakeHost());
    const property = fc.asyncProperty(fc.array(message), anyCall, async (messages, call) => {
      const rest = typeof call === "object" ? call : {};
      const given = [...messages];
      const answer = await lcm.createEngine().assemble({ ...rest, messages } as never);
      expect(answer.messages).toBe(messages);
      expect(messages.every((each, index) => Object.is(each, given[index]))).toBe(true);
      expect(answer.estimatedTokens).toBeGreaterThanOrEqual(0);
    });
    await fc.assert(property);
  });
});

describe("a message that is no JSON", () => {
  const cyclic: Record<string, unknown> = { role: "user" };
  cyclic["content"] = [cyclic];
  const vanishing = { role: "user", content: [], toJSON: () => undefined };

  it.each([
    ["a circle", cyclic],
    ["a bigint", { role: "user", content: [{ type: "text", text: 1n }] }],
    ["a message without a JSON form", vanishing],
    ["a block without a JSON form", { role: "user", content: [vanishing] }],
  ])("because of %s is acknowledged and filled in from the transcript", async (_name, odd) => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const call = host.turn(KEY, [userMessage("as the transcript has it", host.tick())]);
    const engine = lcm.createEngine();
    const messages = [odd];
    expect((await engine.assemble({ ...host.ref(KEY), messages })).messages).toBe(messages);
    await expect(engine.commitTurn({ ...call, messages })).resolves.toEqual({
      status: "committed",
    });
    await engine.ingest({ ...host.ref(KEY), message: odd });
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });
});

describe("an unusual message", () => {
  it.each([
    ["of 7 MiB", { role: "user", content: "0123456789abcde\n".repeat((7 << 20) / 16) }],
    ["of an unknown role", { role: "oracle", content: "hm", wisdom: { deep: [1, null, "x"] } }],
    [
      "with unknown blocks",
      { role: "user", content: [{ type: "hologram", rays: [1] }, 5, null, "x"] },
    ],
    ["without content", { role: "user" }],
    [
      "with content of another type",
      { role: "assistant", content: { text: 1 }, timestamp: "soon" },
    ],
    ["with text of every kind", { role: "user", content: "\0 \ud800 \u2028 👩‍👩‍👧 ‮" }],
  ])("%s comes back exactly from a commit and from the transcript", async (_name, message) => {
    for (const route of ["commit", "transcript"]) {
      const host = new FakeHost();
      const lcm = openWithHost(host);
      const call = host.turn(KEY, [message]);
      if (route === "commit") await lcm.createEngine().commitTurn(call);
      else await lcm.createEngine().bootstrap(host.ref(KEY));
      const [stored, ...others] = storedBranch(lcm, host.ref(KEY));
      expect(others).toEqual([]);
      expect(JSON.stringify(stored?.message) === JSON.stringify(message), route).toBe(true);
    }
  });
});

describe("a transcript entry that is no message", () => {
  it("is kept in its place, with the role unknown and out of the context", async () => {
    const entry = fc.oneof(fc.jsonValue(), fc.record({ content: junk.filter(isJson) }));
    const property = fc.asyncProperty(fc.array(entry, { minLength: 1 }), async (odd) => {
      const lcm = openTestLcm({ transcript: pageOf([userMessage("hello", 0), ...odd]) });
      const session = { agentId: "main", sessionKey: KEY, sessionId: "session-1" };
      await lcm.createEngine().bootstrap(session);
      expect(JSON.stringify(storedBranch(lcm, session).map((row) => row.message))).toBe(
        JSON.stringify([userMessage("hello", 0), ...odd]),
      );
      const roles = lcm.stores.db.all("SELECT role, in_context FROM messages WHERE message_id > 1");
      expect(roles).toEqual(odd.map(() => ({ role: "unknown", in_context: 0 })));
      expect(viewEntries(lcm, session)).toEqual(["entry-0"]);
    });
    await fc.assert(property, { numRuns: 30 });
  });
});

function isJson(value: unknown): boolean {
  return value !== undefined && typeof value !== "bigint" && !Number.isNaN(value);
}

/** A transcript of one page. */
function pageOf(messages: readonly unknown[]): TranscriptSource {
  const entries = messages.map((message, index) => ({
    entryId: `entry-${index}`,
    seq: index + 1,
    message,
  }));
  return {
    visible: async () => ({ kind: "page", entries, cursor: "end", hasMore: false }),
    raw: async () => ({ kind: "missing" }),
    entry: () => ({ kind: "unknown" }),
    keyOf: async () => undefined,
  };
}
