// One connection per database file and process, and what last went wrong with it. The host evaluates
// this plugin several times in one process (engine, tools, commands) and makes a new engine every turn,
// so the registry lives under a global symbol and hands out counted leases.

import { statSync } from "node:fs";
import { type Logger, silentLogger } from "../types.js";
import { VERSION } from "../version.js";
import { Database } from "./connection.js";
import { inspectBeforeOpening, migrate } from "./migration.js";

interface Entry {
  readonly db: Database;
  /** Which file was opened, whatever stands at its path later. */
  readonly file: string | undefined;
  leases: number;
}

/** A failure of the store behind which nothing was stored yet. */
export interface StoreFailure {
  /** When (ISO). */
  readonly at: string;
  readonly error: string;
}

interface Registry {
  readonly entries: Map<string, Entry>;
  /** By path, because a database that can not be opened has no entry. */
  readonly failures: Map<string, StoreFailure>;
}

// The version in the key keeps copies of different releases in one process apart.
const REGISTRY = Symbol.for(`lossless-claw.databases.${VERSION}`);

export interface Lease {
  readonly db: Database;
  release(): void;
}

/**
 * Opens (or shares) the database at `path`, migrated to the current schema; `log` hears of that. Throws
 * `BUSY` while another process is at it.
 */
export function leaseDatabase(path: string, log: Logger = silentLogger): Lease {
  const { entries } = registry();
  let entry = entries.get(path);
  // A file that was moved away or replaced is no longer what the path means: writing on into it
  // would lose the turns. Who still holds the old connection keeps it until its lease ends.
  if (!entry?.db.isOpen || entry.file !== fileAt(path)) {
    entry = { db: openMigrated(path, log), file: fileAt(path), leases: 0 };
    entries.set(path, entry);
  }
  entry.leases += 1;
  const leased = entry;
  return { db: leased.db, release: once(() => releaseEntry(path, leased)) };
}

/** Remembers the failure for the report, which another copy of the plugin may be asked for. */
export function noteFailure(path: string, failure: StoreFailure): void {
  registry().failures.set(path, failure);
}

export function forgetFailure(path: string): void {
  registry().failures.delete(path);
}

export function lastFailure(path: string): StoreFailure | undefined {
  return registry().failures.get(path);
}

function openMigrated(path: string, log: Logger): Database {
  const existing = inspectBeforeOpening(path);
  const db = new Database(path);
  try {
    migrate(db, existing, (text) => log.info(text));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function fileAt(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function releaseEntry(path: string, entry: Entry): void {
  entry.leases -= 1;
  if (entry.leases > 0) return;
  const { entries } = registry();
  if (entries.get(path) === entry) entries.delete(path);
  entry.db.close();
}

function registry(): Registry {
  const holder = globalThis as { [REGISTRY]?: Registry };
  holder[REGISTRY] ??= { entries: new Map(), failures: new Map() };
  return holder[REGISTRY];
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
