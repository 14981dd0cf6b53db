// Whatever the host does, and whatever part of it reaches us by commit: after the next bootstrap the
// store equals the transcript, every message is stored once, and the view is the branch since its
// last reset.

import fc from "fast-check";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Lcm, openLcm } from "../src/lcm.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, heartbeatPrompt, toolLoop, userMessage } from "./support/messages.js";
import { storedBranch, temporaryDirectory, viewEntries } from "./support/workspace.js";

const KEY = "agent:main:web1";

type Delivery = "commit" | "twice" | "late" | "never";

type Action =
  | { kind: "turn"; tools: number; delivery: Delivery; heartbeat: boolean }
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
    delivery: fc.constantFrom<Delivery>("commit", "twice", "late", "never"),
    heartbeat: fc.boolean(),
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

  constructor(path: string, skipHeartbeats: boolean, pageItems: number) {
    this.#path = path;
    this.#skipHeartbeats = skipHeartbeats;
    this.host.pageItems = pageItems;
    this.#lcm = this.#open();
  }

  get lcm(): Lcm {
    return this.#lcm;
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

  async #turn(step: Extract<Action, { kind: "turn" }>): Promise<void> {
    const { host } = this;
    const at = host.tick();
    const loops = Array.from({ length: step.tools }, (_, index) =>
      toolLoop(`c${at}-${index}`, `out ${at}-${index}`, at),
    );
    const first = step.heartbeat ? heartbeatPrompt(at) : userMessage(`m${at}`, at);
    const call = host.turn(KEY, [first, ...loops.flat(), assistantMessage(`r${at}`, at)], {
      isHeartbeat: step.heartbeat,
    });
    if (step.delivery === "late") this.#late.push(call);
    const times = { commit: 1, twice: 2, late: 0, never: 0 }[step.delivery];
    for (let time = 0; time < times; time += 1) await this.#lcm.createEngine().commitTurn(call);
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
        await engine.bootstrap(host.ref(KEY));
        return;
      case "maintain":
        await engine.maintain(host.ref(KEY));
        return;
      case "interrupted":
        // Reads one page of the transcript, or one of the log, and no more.
        await engine.maintain({ ...host.ref(KEY), abortSignal: AbortSignal.abort() });
        return;
      case "deliver-late":
        for (const call of this.#late.splice(0)) await engine.commitTurn(call);
        return;
      case "unavailable":
        host.unavailable = true;
        await engine.bootstrap(host.ref(KEY));
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

function expectEqualToTranscript({ host, lcm }: World, skipHeartbeats: boolean): void {
  const ref = host.ref(KEY);
  const kept = host.transcript(KEY).filter((row) => !(skipHeartbeats && host.isHeartbeat(row)));
  expect(storedBranch(lcm, ref)).toEqual(kept);
  const twice = lcm.stores.db.all(
    "SELECT body FROM messages GROUP BY conversation_id, body HAVING count(*) > 1",
  );
  expect(twice).toEqual([]);
  const since = host.contextEntries(KEY);
  const shown = kept.filter(
    ({ entryId, message }) => since.has(entryId) && message["provider"] !== "openclaw",
  );
  expect(viewEntries(lcm, ref)).toEqual(shown.map((row) => row.entryId));
}
