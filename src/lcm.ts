// Opens all parts over one database, without any host. Engine, CLI, demo and tests all start here.

import { homedir } from "node:os";
import { dirname } from "node:path";
import { type LcmConfig, resolveConfig } from "./db/config.js";
import { holdWhileBusy } from "./db/connection.js";
import { type Lease, leaseDatabase } from "./db/registry.js";
import { type EngineDependencies, LcmContextEngine } from "./engine.js";
import type { RecallCaller } from "./open-scope.js";
import type { RecallDependencies, RecallTiming } from "./recall-dependencies.js";
import { createSearch } from "./search/index.js";
import type { Search } from "./search/types.js";
import { readStatus, type Status } from "./status.js";
import { createStores, type Stores } from "./store/index.js";
import { CALL_TIMING, type CallTiming } from "./summarize/index.js";
import type { Tool } from "./tools/common.js";
import { recallTools } from "./tools/index.js";
import {
  type Clock,
  type Logger,
  type Model,
  type ModelAnswer,
  type ModelRequest,
  type SessionRef,
  silentLogger,
  type SubagentHost,
  type TranscriptSource,
} from "./types.js";
import { Worker } from "./worker.js";

export interface OpenLcmOptions {
  readonly databasePath: string;
  readonly config?: Partial<LcmConfig>;
  /** The host's transcript; without one, turns reach the store through `commitTurn` alone. */
  readonly transcript?: TranscriptSource;
  /** Stands for the host's model. Without one, summaries are written without a model. */
  readonly summarize?: (request: ModelRequest) => Promise<ModelAnswer | string>;
  readonly log?: Logger;
  readonly now?: Clock;
  readonly timing?: CallTiming;
  /** How long to hold the thread for a process that is at the file, in milliseconds. */
  readonly waitMs?: number;
  /** Instead of one that looks through the database on a thread of its own. */
  readonly search?: Search;
  /** Stands for the host's way to start sub-agents. */
  readonly subagents?: SubagentHost;
  readonly recallTiming?: RecallTiming;
}

const OPENING_MS = 2_000;

export interface Lcm {
  readonly config: LcmConfig;
  readonly stores: Stores;
  /** A fresh engine object, as the host asks for one every turn. */
  createEngine(): LcmContextEngine;
  /** The background, which here works only when told to. */
  readonly worker: Worker;
  status(session?: SessionRef): Promise<Status>;
  /** The recall tools that a session, or a person, is offered. */
  tools(caller: RecallCaller): Tool[];
  /** Releases everything. The database closes when its last user in the process lets go. */
  close(): void;
}

/** Throws an `LcmError` when the database can not be opened; nothing is touched then. */
export function openLcm(options: OpenLcmOptions): Lcm {
  const { transcript: source = noTranscript, log = silentLogger, now = Date.now } = options;
  const open = () => leaseDatabase(options.databasePath, log);
  const lease = holdWhileBusy(open, options.waitMs ?? OPENING_MS);
  const stores = createStores(lease.db);
  const config = completeConfig(options);
  const model = options.summarize && asModel(options.summarize);
  const timing = options.timing ?? CALL_TIMING;
  const shared = { config, log, now, timing };
  const engine = {
    ...shared,
    stores: () => stores,
    source,
    model: () => model,
    hasWorker: () => true,
    release: () => {},
  };
  const search =
    options.search ?? createSearch({ databasePath: () => options.databasePath, now, log });
  const recall = {
    stores: () => stores,
    search,
    config: () => config,
    now,
    log,
    model: () => model,
    subagents: options.subagents,
    recallTiming: options.recallTiming,
  };
  return {
    config,
    stores,
    createEngine: () => new LcmContextEngine(engine),
    worker: new Worker({ open: () => ({ ...shared, stores, model }), log }),
    status: (session) => readStatus({ stores, source, config, now }, session),
    tools: (caller) => recallTools(recall, caller),
    close: () => {
      lease.release();
      void search.close();
    },
  };
}

function asModel(summarize: NonNullable<OpenLcmOptions["summarize"]>): Model {
  return async (request) => {
    const answer = await summarize(request);
    return typeof answer === "string" ? { text: answer } : answer;
  };
}

function completeConfig({ databasePath, config }: OpenLcmOptions): LcmConfig {
  const { config: defaults } = resolveConfig({
    env: {},
    stateDir: dirname(databasePath),
    homeDir: homedir(),
  });
  return { ...defaults, databasePath, ...config };
}

/**
 * An engine that opens its database when first needed and tries again at every call while it can not,
 * so that a broken store heals without a restart.
 */
export function createSelfOpeningEngine(
  options: Omit<EngineDependencies, "stores" | "release">,
): LcmContextEngine {
  const store = new SelfOpeningStore(options.log);
  return new LcmContextEngine({
    ...options,
    stores: () => store.open(options.config.databasePath),
    release: () => store.release(),
  });
}

export interface BackgroundOptions {
  /** The configuration as it is now; undefined while there is nothing to do in the background. */
  readonly config: () => LcmConfig | undefined;
  readonly model: Model;
  readonly log: Logger;
  readonly now: Clock;
}

/** The worker of a gateway, which keeps its database open while it runs. */
export function createBackground({ config, model, log, now }: BackgroundOptions): {
  start(): void;
  stop(): Promise<void>;
} {
  const store = new SelfOpeningStore(log);
  const worker = new Worker({
    log,
    open: () => {
      const current = config();
      if (!current) return undefined;
      const stores = store.open(current.databasePath);
      return { stores, config: current, model, now, log, timing: CALL_TIMING };
    },
  });
  return {
    start: () => worker.start(),
    stop: async () => {
      await worker.stop();
      store.release();
    },
  };
}

/** What the tools of a plugin stand on: a store that heals without a restart, as the engine's does. */
export function createSelfOpeningRecall(
  options: Omit<RecallDependencies, "stores">,
): RecallDependencies & { release(): void } {
  const store = new SelfOpeningStore(options.log);
  return {
    ...options,
    stores: () => store.open(options.config().databasePath),
    release: () => store.release(),
  };
}

/** Stores over the database at a path, which may change, go away and come back. */
class SelfOpeningStore {
  #lease: Lease | undefined;
  #stores: Stores | undefined;
  #path: string | undefined;

  constructor(private readonly log: Logger) {}

  open(path: string): Stores {
    if (!this.#stores || !this.#lease?.db.isOpen || this.#path !== path) {
      const lease = leaseDatabase(path, this.log);
      this.release();
      this.#lease = lease;
      this.#path = path;
      this.#stores = createStores(lease.db);
    }
    return this.#stores;
  }

  release(): void {
    this.#lease?.release();
    this.#lease = undefined;
    this.#stores = undefined;
  }
}

const noTranscript: TranscriptSource = {
  visible: async () => ({ kind: "missing" }),
  raw: async () => ({ kind: "missing" }),
  entry: () => ({ kind: "unknown" }),
  keyOf: async () => undefined,
};
