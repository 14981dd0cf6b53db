// Whatever the host does, and whatever part of it reaches us by commit: after the next bootstrap the
// store equals the transcript, every message of every session id we heard of is stored once, and the
// view is the branch since its last reset.

import fc from "fast-check";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Lcm, openLcm } from "../src/lcm.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, heartbeatPrompt, toolLoop, userMessage } from "./support/messages.js";
import type { SessionRef } from "../src/types.js";
import { createRelease01 } from "./support/release-01.js";
import { storedBranch, temporaryDirectory, viewEntries } from "./support/workspace.js";

const KEY = "agent:main:web1";

/**
 * `garbled`: the commit arrives, and its payload can not be read. `legacy`: the host did not even ask us
 * for the view.
 */
const DELIVERIES = ["commit", "twice", "late", "never", "garbled", "legacy"] as const;

type Action =
  | {
      kind: "turn";
      tools: number;
      delivery: (typeof DELIVERIES)[number];
      /** What begins the turn, and whether the user writes again in the middle of it. */
      prompt: "user" | "user twice" | "heartbeat";
    }
  | { kind: "plain"; what: (typeof PLAIN)[number] };

const PLAIN = [
  "steer",
  "inject",
  "rewind",
  "switch",
  "reset",
  "reset-keeping-a-tail",
  "new-id",
  "bootstrap",
  "maintain",
  "interrupted",
  "deliver-late",
  "unavailable",
  "reopen",
] as const;

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constant("turn" as const),
    tools: fc.nat({ max: 3 }),
    delivery: fc.constantFrom(...DELIVERIES),
    prompt: fc.constantFrom("user", "user twice", "heartbeat"),
  }),
  fc.record({ kind: fc.constant("plain" as const), what: fc.constantFrom(...PLAIN) }),
);

const steps = fc.array(action, { minLength: 1, maxLength: 30 });
const pageItems = fc.constantFrom(1, 2, 3, 5, 500);

class World {
  readonly host = new FakeHost();
  readonly #path: string;
  readonly #skipHeartbeats: boolean;
  #lcm: Lcm;
  #late: ReturnType<FakeHost["turn"]>[] = [];
  #otherBranch: string[] | undefined;
  /** Session ids that a call was about, or that the host named when it was asked about one. */
  readonly #met = new Set<string>();
  readonly #asked = new Set<string>();

  /** `old`: texts that release 0.1.x kept, of a user each. */
  constructor(
    path: string,
    skipHeartbeats: boolean,
    pageItems: number,
    old: readonly string[] = [],
  ) {
    this.#path = path;
    this.#skipHeartbeats = skipHeartbeats;
    this.host.pageItems = pageItems;
    if (old.length > 0) this.#leaveRelease01(old);
    this.#lcm = this.#open();
  }

  get lcm(): Lcm {
    return this.#lcm;
  }

  get met(): readonly string[] {
    return [...this.#met];
  }

  async apply(step: Action): Promise<void> {
    if (step.kind === "turn") await this.#turn(step);
    else await this.#plain(step.what);
  }

  close(): void {
    this.#lcm.close();
  }

  #open(): Lcm {
    return openLcm({
      databasePath: this.#path,
      transcript: this.host,
      now: this.host.now,
      config: { skipHeartbeats: this.#skipHeartbeats },
    });
  }

  #leaveRelease01(texts: readonly string[]): void {
    const { host } = this;
    for (const text of texts) host.append(KEY, userMessage(text, host.tick()));
    const createdAt = "2026-02-17 07:37:00";
    const rows = texts.map((text) => ({ role: "user" as const, text, createdAt }));
    const { sessionId } = host.ref(KEY);
    createRelease01(this.#path, sessionId, rows);
    this.#met.add(sessionId);
  }

  async #turn(step: Extract<Action, { kind: "turn" }>): Promise<void> {
    const { host } = this;
    const engine = this.#lcm.createEngine();
    if (step.delivery !== "legacy") await engine.assemble({ ...this.#meet(), messages: [] });
    const at = host.tick();
    const isHeartbeat = step.prompt === "heartbeat";
    const loops = Array.from({ length: step.tools }, (_, index) =>
      toolLoop(`c${at}-${index}`, `out ${at}-${index}`, at),
    );
    const messages = [
      isHeartbeat ? heartbeatPrompt(at) : userMessage(`m${at}`, at),
      ...loops.flat(),
      ...(step.prompt === "user twice" ? [userMessage(`and ${at}`, at)] : []),
      assistantMessage(`r${at}`, at),
      assistantMessage(`that was ${at}`, at),
    ];
    const call = host.turn(KEY, messages, { isHeartbeat });
    switch (step.delivery) {
      case "commit":
        return this.#commit(call);
      case "twice":
        await this.#commit(call);
        return this.#commit(call);
      case "late":
        this.#late.push(call);
        return;
      case "garbled":
        return this.#commit({ ...call, messages: call.messages.slice(1) });
      case "never":
      case "legacy":
        return;
    }
  }

  async #commit(call: ReturnType<FakeHost["turn"]>): Promise<void> {
    this.#met.add(call.sessionId);
    await this.#lcm.createEngine().commitTurn(call);
  }

  /** The current session, of which the engine hears now. */
  #meet(): SessionRef {
    const ref = this.host.ref(KEY);
    const entry = this.host.entry(ref);
    if (!this.#asked.has(ref.sessionId) && entry.kind === "found" && entry.previousId) {
      this.#met.add(entry.previousId);
    }
    this.#asked.add(ref.sessionId);
    this.#met.add(ref.sessionId);
    return ref;
  }

  async #plain(what: (typeof PLAIN)[number]): Promise<void> {
    const { host } = this;
    const engine = this.#lcm.createEngine();
    switch (what) {
      case "steer":
        host.rotate(KEY);
        host.append(KEY, userMessage("steered", host.tick()));
        return;
      case "inject":
        host.append(KEY, {
          ...assistantMessage("note", host.tick()),
          provider: "openclaw",
          model: "gateway-injected",
        });
        return;
      case "rewind":
        return this.#rewind();
      case "switch":
        if (!this.#otherBranch) return;
        this.#otherBranch = host.switchTo(KEY, this.#otherBranch);
        return;
      case "reset":
        host.reset(KEY);
        return;
      case "reset-keeping-a-tail":
        host.reset(KEY, "idle", host.activeIds(KEY).at(-2));
        return;
      case "new-id":
        this.#otherBranch = undefined;
        host.newSessionId(KEY);
        return;
      case "bootstrap":
        await engine.bootstrap(this.#meet());
        return;
      case "maintain":
        await engine.maintain(this.#meet());
        return;
      case "interrupted":
        // Reads one page of the transcript, or one of the log, and no more.
        await engine.maintain({ ...this.#meet(), abortSignal: AbortSignal.abort() });
        return;
      case "deliver-late":
        for (const call of this.#late.splice(0)) await this.#commit(call);
        return;
      case "unavailable":
        host.unavailable = true;
        await engine.bootstrap(this.#meet());
        host.unavailable = false;
        return;
      case "reopen":
        this.#lcm.close();
        this.#lcm = this.#open();
        return;
    }
  }

  #rewind(): void {
    const users = this.host.transcript(KEY).filter((row) => row.message.role === "user");
    const target = users[Math.floor(users.length / 2)];
    if (!target) return;
    this.#otherBranch = this.host.activeIds(KEY);
    this.host.rewind(KEY, target.entryId);
  }
}

it.each([false, true])(
  "the store equals the transcript after the next bootstrap (G1, G3; heartbeats skipped: %s)",
  async (skipHeartbeats) => {
    const directory = temporaryDirectory();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(steps, pageItems, async (taken, items) => {
        run += 1;
        const world = new World(join(directory, `${run}.db`), skipHeartbeats, items);
        try {
          for (const step of taken) await world.apply(step);
          await world.apply({ kind: "plain", what: "bootstrap" });
          expectEqualToTranscript(world, skipHeartbeats);
          await world.apply({ kind: "plain", what: "deliver-late" });
          await world.apply({ kind: "plain", what: "bootstrap" });
          expectEqualToTranscript(world, skipHeartbeats);
        } finally {
          world.close();
        }
      }),
      { numRuns: 200 },
    );
  },
  120_000,
);

it("rows of release 0.1.x are all met, whatever happens before and while they are looked for (G1)", async () => {
  const directory = temporaryDirectory();
  const texts = fc.array(fc.constantFrom("ok", "go on", "one", "two", "three"), {
    minLength: 1,
    maxLength: 12,
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(texts, steps, pageItems, async (old, taken, items) => {
      run += 1;
      const world = new World(join(directory, `${run}.db`), false, items, old);
      try {
        for (const step of taken) await world.apply(step);
        await world.apply({ kind: "plain", what: "deliver-late" });
        await world.apply({ kind: "plain", what: "bootstrap" });
        expectEqualToTranscript(world, false);
        const unmet = "SELECT body FROM messages WHERE entry_id IS NULL";
        expect(world.lcm.stores.db.all(unmet)).toEqual([]);
      } finally {
        world.close();
      }
    }),
    { numRuns: 100 },
  );
}, 120_000);

function expectEqualToTranscript({ host, lcm, met }: World, skipHeartbeats: boolean): void {
  const ref = host.ref(KEY);
  const isKept = (row: { entryId: string }) => !(skipHeartbeats && host.isHeartbeat(row));
  const kept = host.transcript(KEY).filter(isKept);
  expect(storedBranch(lcm, ref)).toEqual(kept);
  const since = host.contextEntries(KEY);
  const shown = kept.filter(
    ({ entryId, message }) => since.has(entryId) && message["provider"] !== "openclaw",
  );
  expect(viewEntries(lcm, ref)).toEqual(shown.map((row) => row.entryId));
  for (const sessionId of met) {
    const rows = host.transcriptOf(sessionId).filter(isKept);
    expect(storedBranch(lcm, { ...ref, sessionId })).toEqual(rows);
  }
  const twice = lcm.stores.db.all(
    "SELECT body FROM messages GROUP BY conversation_id, body HAVING count(*) > 1",
  );
  expect(twice).toEqual([]);
}
