// Brings a database file to the current schema, or refuses it with nothing touched.
//
// `lcm_schema` holds one row per applied migration and the oldest release line that can still read
// the file (`min_reader`). A file from a newer release that only added things therefore opens here;
// one that changed the meaning of what we know does not.

import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { LcmError, storageError } from "../errors.js";
import { backupBeforeMigration } from "./backup.js";
import { BUSY_TIMEOUT_MS, type Database } from "./connection.js";
import { importRelease01, isRelease01 } from "./schema/release-0.1.js";
import { SCHEMA_V1 } from "./schema/v1.js";

interface Migration {
  readonly version: number;
  /** The oldest schema version whose code can still read and write the file afterwards. */
  readonly minReader: number;
  apply(db: Database): void;
}

const MIGRATIONS: readonly Migration[] = [
  { version: 1, minReader: 1, apply: (db) => db.exec(SCHEMA_V1) },
];

export const SCHEMA_VERSION = Math.max(...MIGRATIONS.map((migration) => migration.version));

const VERSION_TABLE = `CREATE TABLE lcm_schema (
  version    INTEGER PRIMARY KEY,
  min_reader INTEGER NOT NULL,
  applied_at TEXT NOT NULL
) STRICT`;

/** What stands at a path before we open it for writing. */
export type Existing =
  | { kind: "new" }
  | { kind: "release-0.1" }
  | { kind: "ours"; version: number };

/**
 * Looks at the file through a read-only connection, so that a file that is not ours, is damaged or
 * comes from an incompatible release is refused before anything is written beside it.
 */
export function inspectBeforeOpening(path: string): Existing {
  if (!existsSync(path) || statSync(path).size === 0) return { kind: "new" };
  try {
    const db = new DatabaseSync(readOnlyUrl(path), { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      return inspect(db, path);
    } finally {
      db.close();
    }
  } catch (error) {
    throw storageError(error, path);
  }
}

/**
 * Even a reader makes a log and an index beside a file in WAL mode, unless it is told that nobody
 * writes. Where there is no log, nobody has anything in it that we would miss.
 */
function readOnlyUrl(path: string): URL {
  const url = pathToFileURL(path);
  if (!existsSync(`${path}-wal`)) url.searchParams.set("immutable", "1");
  return url;
}

function inspect(db: DatabaseSync, path: string): Existing {
  const tables = new Set(
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map((row) => String(row["name"])),
  );
  if (tables.size === 0) return { kind: "new" };
  if (tables.has("lcm_schema")) return inspectOurs(db, path);
  if (isRelease01(tables)) return { kind: "release-0.1" };
  throw new LcmError(
    "FOREIGN_DATABASE",
    `${path}: this SQLite database belongs to something else (tables: ${[...tables].slice(0, 5).join(", ")}); point databasePath (LCM_DATABASE_PATH) at a file of its own.`,
  );
}

function inspectOurs(db: DatabaseSync, path: string): Existing {
  const row = db
    .prepare("SELECT max(version) AS version, max(min_reader) AS minReader FROM lcm_schema")
    .get();
  const version = Number(row?.["version"] ?? 0);
  const minReader = Number(row?.["minReader"] ?? 0);
  if (minReader > SCHEMA_VERSION) {
    throw new LcmError(
      "NEWER_SCHEMA",
      `${path}: this database needs schema ${minReader} or newer and this release knows ${SCHEMA_VERSION}; update lossless-claw, or point databasePath (LCM_DATABASE_PATH) elsewhere.`,
    );
  }
  return { kind: "ours", version };
}

/** True for a file that opening would change. */
export function needsMigration(existing: Existing): boolean {
  return existing.kind !== "ours" || existing.version < SCHEMA_VERSION;
}

/**
 * Applies what is missing, each migration in its own transaction. Safe to race between processes.
 * `say` hears what is done to an existing file: with a large one it takes a while.
 */
export function migrate(db: Database, existing: Existing, say: (text: string) => void): void {
  if (!needsMigration(existing)) return;
  const started = performance.now();
  const isTaken = existing.kind !== "new" && backUp(db, existing, say);
  for (const migration of MIGRATIONS) applyOnce(db, migration);
  if (isTaken)
    say(`took over ${db.path} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** False when another process has migrated the file meanwhile. */
function backUp(
  db: Database,
  existing: Exclude<Existing, { kind: "new" }>,
  say: (text: string) => void,
): boolean {
  const name = existing.kind === "ours" ? `schema ${existing.version}` : "release 0.1.x";
  const isNeeded = (): boolean => {
    if (appliedVersion(db) >= SCHEMA_VERSION) return false;
    say(`${db.path} is of ${name}; taking it over, after a backup beside it`);
    return true;
  };
  const copy = backupBeforeMigration(db, existing, isNeeded);
  if (copy !== undefined) say(`backup: ${copy}`);
  return copy !== undefined;
}

function applyOnce(db: Database, migration: Migration): void {
  db.transaction(() => {
    if (appliedVersion(db) >= migration.version) return;
    if (migration.version === 1) {
      applyFirst(db, migration);
    } else {
      migration.apply(db);
    }
    db.run(
      "INSERT INTO lcm_schema (version, min_reader, applied_at) VALUES (?, ?, ?)",
      migration.version,
      migration.minReader,
      new Date().toISOString(),
    );
  });
}

/** The first migration makes the schema and, where release 0.1.x left a database, takes it over. */
function applyFirst(db: Database, migration: Migration): void {
  db.exec(VERSION_TABLE);
  const tables = new Set(
    db
      .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .map((row) => row.name),
  );
  if (isRelease01(tables)) {
    importRelease01(db, tables, () => migration.apply(db));
  } else {
    migration.apply(db);
  }
}

function appliedVersion(db: Database): number {
  const table = db.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'lcm_schema'");
  if (!table) return 0;
  return (
    db.get<{ version: number | null }>("SELECT max(version) AS version FROM lcm_schema")?.version ??
    0
  );
}
