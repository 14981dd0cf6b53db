// Every point at which a change can break off: the n-th database call fails, for every n. What is on
// disk then is a state between two transactions, and doing it again ends equal to the transcript (G7).

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LcmContextEngine } from "../src/engine.js";
import { LcmError } from "../src/errors.js";
import { type Lcm, openLcm } from "../src/lcm.js";
import { createStores } from "../src/store/index.js";
import { silentLogger } from "../src/types.js";
import { contents, halfWritten, readRows } from "./support/disk-state.js";
import { FakeHost } from "./support/fake-host.js";
import { type FaultKind, FaultyDatabase } from "./support/faulty-database.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { storedBranch, temporaryDirectory, viewEntries } from "./support/workspace.js";

const KEY = "agent:main:web1";

interface Operation {
  run(engine: LcmContextEngine): Promise<unknown>;
  /** What a fault leads to: only `commitTurn` throws, so that the host keeps the turn. */
  readonly onFault: "throws" | "answers";
}

/** Brings the store into the state before the operation. */
type Prepare = (host: FakeHost, lcm: Lcm) => Promise<Operation>;

const scenarios: Record<string, Prepare> = {
  "the first commit of a session": async (host) => commit(turn(host, "first")),
  "a commit that goes on": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    return commit(turn(host, "second"));
  },
  "a commit of what the transcript brought first": async (host, lcm) => {
    const call = turn(host, "first");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    return commit(call);
  },
  "the start of a turn": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    return assemble(host);
  },
  "the import of a history": async (host) => {
    turn(host, "before the plugin");
    turn(host, "still before");
    return bootstrap(host);
  },
  "learning the entries of a committed turn": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    return bootstrap(host);
  },
  "filling a gap": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    turn(host, "steered");
    turn(host, "killed");
    return bootstrap(host);
  },
  "a rewind": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    const second = turn(host, "second");
    await lcm.createEngine().commitTurn(second);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.rewind(KEY, second.admission.entryId);
    turn(host, "another second");
    return bootstrap(host);
  },
  "a session that was left": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    turn(host, "steered");
    host.newSessionId(KEY);
    await lcm.createEngine().commitTurn(turn(host, "today"));
    return bootstrap(host);
  },
  "a reset": async (host, lcm) => {
    await lcm.createEngine().commitTurn(turn(host, "first"));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.reset(KEY);
    await lcm.createEngine().commitTurn(turn(host, "second"));
    return bootstrap(host);
  },
};

function turn(host: FakeHost, text: string) {
  const at = host.tick();
  return host.turn(KEY, [
    userMessage(text, at),
    ...toolLoop(`c${at}`, `output of ${text}`, at + 1),
    assistantMessage(`done: ${text}`, at + 5),
  ]);
}

function commit(call: ReturnType<typeof turn>): Operation {
  return { run: (engine) => engine.commitTurn(call), onFault: "throws" };
}

function bootstrap(host: FakeHost): Operation {
  return { run: (engine) => engine.bootstrap(host.ref(KEY)), onFault: "answers" };
}

function assemble(host: FakeHost): Operation {
  const given = [userMessage("next", host.tick())];
  const run = async (engine: LcmContextEngine): Promise<void> => {
    const { messages } = await engine.assemble({ ...host.ref(KEY), messages: given });
    expect(messages).toBe(given);
  };
  return { run, onFault: "answers" };
}

describe.each(Object.entries(scenarios))("%s", (_name, prepare) => {
  it.each<FaultKind>(["once", "from-then-on"])(
    "breaks off before or after, never between, when a call fails (%s)",
    async (kind) => {
      const world = await World.make(prepare);
      const { states, end } = await world.runWithoutFault();
      let call = 1;
      for (; ; call += 1) {
        const broken = await world.runWithFault(call, kind);
        if (!broken) break;
        expect(broken.ending, `call ${call}`).toBe(world.expectedEnding);
        expect(states, `call ${call}`).toContain(broken.state);
        expect(broken.halves, `call ${call}`).toEqual([]);
        expect(broken.end, `call ${call}`).toEqual(end);
      }
      expect(call).toBeGreaterThan(5);
    },
    30_000,
  );
});

/** What the store holds once the operation is through and the transcript was read. */
interface End {
  readonly branch: unknown;
  readonly view: unknown;
  /** What was found missing, as `lcm status` counts it. */
  readonly events: unknown;
}

class World {
  readonly #host: FakeHost;
  readonly #before: string;
  readonly #path: string;
  readonly #config: Lcm["config"];
  readonly #operation: Operation;

  private constructor(directory: string, host: FakeHost, lcm: Lcm, operation: Operation) {
    this.#before = lcm.config.databasePath;
    this.#path = join(directory, "lcm.db");
    this.#host = host;
    this.#config = lcm.config;
    this.#operation = operation;
  }

  static async make(prepare: Prepare): Promise<World> {
    const directory = temporaryDirectory();
    const host = new FakeHost();
    const databasePath = join(directory, "before.db");
    const lcm = openLcm({ databasePath, transcript: host, now: host.now });
    try {
      return new World(directory, host, lcm, await prepare(host, lcm));
    } finally {
      lcm.close();
    }
  }

  get expectedEnding(): string {
    return this.#operation.onFault === "throws" ? "LcmError STORAGE" : "answers";
  }

  /** `states` are those before, between and behind the operation's transactions. */
  async runWithoutFault(): Promise<{ states: Set<string>; end: End }> {
    const db = this.#restore();
    try {
      const states = new Set([contents(this.#path)]);
      db.onCommit = () => states.add(contents(this.#path));
      await this.#operation.run(this.#engine(db));
      db.onCommit = () => {};
      await this.#engine(db).bootstrap(this.#host.ref(KEY));
      const { events } = this.#end(db);
      const branch = this.#host.transcript(KEY);
      return { states, end: { branch, view: [...this.#host.contextEntries(KEY)], events } };
    } finally {
      db.close();
    }
  }

  /** Undefined when the operation was through before the call that was to fail. */
  async runWithFault(call: number, kind: FaultKind) {
    const db = this.#restore();
    try {
      db.arm(call, kind);
      const ending = await endingOf(this.#operation.run(this.#engine(db)));
      if (!db.disarm()) return undefined;
      const state = contents(this.#path);
      const halves = halfWritten(this.#path);
      const end = kind === "once" ? await this.#repeat(db) : await this.#repeatReopened(db);
      return { ending, state, halves, end };
    } finally {
      db.close();
    }
  }

  async #repeatReopened(db: FaultyDatabase): Promise<End> {
    db.close();
    const reopened = FaultyDatabase.open(this.#path);
    try {
      return await this.#repeat(reopened);
    } finally {
      reopened.close();
    }
  }

  async #repeat(db: FaultyDatabase): Promise<End> {
    await this.#operation.run(this.#engine(db));
    await this.#engine(db).bootstrap(this.#host.ref(KEY));
    return this.#end(db);
  }

  #end(db: FaultyDatabase): End {
    const lcm = { stores: createStores(db) };
    const events = "SELECT kind, happened_at, message_count FROM sync_events ORDER BY happened_at";
    return {
      branch: storedBranch(lcm, this.#host.ref(KEY)),
      view: viewEntries(lcm, this.#host.ref(KEY)),
      events: readRows(this.#path, events),
    };
  }

  #restore(): FaultyDatabase {
    copyFileSync(this.#before, this.#path);
    return FaultyDatabase.open(this.#path);
  }

  #engine(db: FaultyDatabase): LcmContextEngine {
    const stores = createStores(db);
    return new LcmContextEngine({
      stores: () => stores,
      config: this.#config,
      source: this.#host,
      log: silentLogger,
      now: this.#host.now,
      release: () => {},
    });
  }
}

async function endingOf(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "answers";
  } catch (error) {
    return error instanceof LcmError ? `${error.name} ${error.code}` : String(error);
  }
}
