// Opens all parts over one database, without any host. Engine, CLI, demo and tests all start here.

import { homedir } from "node:os";
import { dirname } from "node:path";
import { type LcmConfig, resolveConfig } from "./db/config.js";
import { type Lease, leaseDatabase } from "./db/registry.js";
import { type EngineDependencies, LcmContextEngine } from "./engine.js";
import { readStatus, type Status } from "./status.js";
import { createStores, type Stores } from "./store/index.js";
import {
  type Clock,
  type Logger,
  type SessionRef,
  silentLogger,
  type TranscriptSource,
} from "./types.js";

export interface OpenLcmOptions {
  readonly databasePath: string;
  readonly config?: Partial<LcmConfig>;
  /** The host's transcript; without one, turns reach the store through `commitTurn` alone. */
  readonly transcript?: TranscriptSource;
  readonly log?: Logger;
  readonly now?: Clock;
}

export interface Lcm {
  readonly config: LcmConfig;
  readonly stores: Stores;
  /** A fresh engine object, as the host asks for one every turn. */
  createEngine(): LcmContextEngine;
  status(session?: SessionRef): Promise<Status>;
  /** Releases everything. The database closes when its last user in the process lets go. */
  close(): void;
}

/** Throws an `LcmError` when the database can not be opened; nothing is touched then. */
export function openLcm(options: OpenLcmOptions): Lcm {
  const log = options.log ?? silentLogger;
  const lease = leaseDatabase(options.databasePath, log);
  const stores = createStores(lease.db);
  const config = completeConfig(options);
  const source = options.transcript ?? noTranscript;
  const now = options.now ?? Date.now;
  const engine = { stores: () => stores, config, source, log, now, release: () => {} };
  return {
    config,
    stores,
    createEngine: () => new LcmContextEngine(engine),
    status: (session) => readStatus({ stores, source, config }, session),
    close: () => lease.release(),
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
  let lease: Lease | undefined;
  let stores: Stores | undefined;
  return new LcmContextEngine({
    ...options,
    stores: () => {
      if (!stores || !lease?.db.isOpen) {
        lease = leaseDatabase(options.config.databasePath, options.log);
        stores = createStores(lease.db);
      }
      return stores;
    },
    release: () => lease?.release(),
  });
}

const noTranscript: TranscriptSource = {
  visible: async () => ({ kind: "missing" }),
  raw: async () => ({ kind: "missing" }),
  entry: () => ({ kind: "unknown" }),
  keyOf: async () => undefined,
};
