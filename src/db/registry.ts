// One connection per database file and process. The host evaluates this plugin several times in one
// process (engine, tools, commands) and makes a new engine every turn, so the registry lives under a
// global symbol and hands out counted leases.

import { inspectBeforeOpening, migrate } from "./migration.js";
import { Database } from "./connection.js";

interface Entry {
  db: Database;
  leases: number;
}

// The version in the key keeps copies of different releases in one process apart.
const REGISTRY = Symbol.for("lossless-claw.databases.v1");

export interface Lease {
  readonly db: Database;
  release(): void;
}

/** Opens (or shares) the database at `path`, migrated to the current schema. */
export function leaseDatabase(path: string): Lease {
  const entries = registry();
  let entry = entries.get(path);
  if (!entry?.db.isOpen) {
    entry = { db: openMigrated(path), leases: 0 };
    entries.set(path, entry);
  }
  entry.leases += 1;
  return { db: entry.db, release: once(() => releaseEntry(path, entry)) };
}

function openMigrated(path: string): Database {
  const existing = inspectBeforeOpening(path);
  const db = new Database(path);
  try {
    migrate(db, existing);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function releaseEntry(path: string, entry: Entry): void {
  entry.leases -= 1;
  if (entry.leases > 0) return;
  if (registry().get(path) === entry) registry().delete(path);
  entry.db.close();
}

function registry(): Map<string, Entry> {
  const holder = globalThis as { [REGISTRY]?: Map<string, Entry> };
  holder[REGISTRY] ??= new Map();
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
