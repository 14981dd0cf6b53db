// The report behind `/lcm` and `openclaw lcm status`: the state of the store, and whether the host
// uses it at all. Making it never creates a database, nor changes what is in one.

import { existsSync } from "node:fs";
import type { ResolvedConfig } from "../db/config.js";
import { retryWhileBusy } from "../db/connection.js";
import { inspectBeforeOpening, needsMigration } from "../db/migration.js";
import { probeCreation, probeWriting } from "../db/probe.js";
import { lastFailure, type StoreFailure } from "../db/registry.js";
import { ENGINE_ID } from "../engine-info.js";
import { errorText } from "../errors.js";
import { openLcm } from "../lcm.js";
import type { Status } from "../status.js";
import type { Clock, SessionRef, TranscriptSource } from "../types.js";
import { VERSION } from "../version.js";

export interface HostFacts {
  /** What the host's context engine slot holds; undefined for its built-in engine. */
  readonly slot: string | undefined;
  readonly transcript: TranscriptSource;
  readonly now?: Clock;
}

export interface Report {
  readonly version: string;
  /** True when the host is set to use the engine and the engine can store. */
  readonly active: boolean;
  readonly enabled: boolean;
  readonly slot: string;
  readonly databasePath: string;
  /** `waiting`: a file that the first turn takes over from an earlier release. */
  readonly state: "ready" | "absent" | "waiting" | "broken";
  /** Why the database can not be used, when it is broken. */
  readonly error?: string;
  /** The last failure of the store in this process, until something is stored again. */
  readonly lastFailure?: StoreFailure;
  /** What is wrong with the configuration. */
  readonly problems: readonly string[];
  readonly timezone: string;
  readonly status?: Status;
}

/** How long a person is kept waiting for another process. */
const BUSY_MS = 2_000;

export async function makeReport(
  host: HostFacts,
  { config, problems }: ResolvedConfig,
  session?: SessionRef,
): Promise<Report> {
  const slot = host.slot ?? "legacy";
  const usable = config.enabled && slot === ENGINE_ID;
  const { databasePath, enabled, timezone } = config;
  const failure = lastFailure(databasePath);
  const common = {
    version: VERSION,
    enabled,
    slot,
    databasePath,
    problems,
    timezone,
    ...(failure ? { lastFailure: failure } : {}),
  };
  try {
    if (!existsSync(databasePath)) {
      probeCreation(databasePath);
      return { ...common, active: usable, state: "absent" };
    }
    const existing = await retryWhileBusy(() => inspectBeforeOpening(databasePath), BUSY_MS);
    if (needsMigration(existing)) return { ...common, active: usable, state: "waiting" };
    const open = () => openLcm({ databasePath, config, ...host, waitMs: 0 });
    const lcm = await retryWhileBusy(open, BUSY_MS);
    try {
      probeWriting(lcm.stores.db);
      return { ...common, active: usable, state: "ready", status: await lcm.status(session) };
    } finally {
      lcm.close();
    }
  } catch (error) {
    return { ...common, active: false, state: "broken", error: errorText(error) };
  }
}
