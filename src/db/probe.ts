// Whether a database can be stored to, found out before anyone relies on it. Leaves nothing behind.

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { LcmError } from "../errors.js";
import type { Database } from "./connection.js";

/** More than the free pages that a full database may still have, and quickly written. */
const PROBE_BYTES = 128 * 1024;
/** Few enough that most of what is written goes to the log on disk without waiting for a commit. */
const PROBE_CACHE_PAGES = 8;

/** Throws an `LcmError` when no database could be made at `path`, where none is. */
export function probeCreation(path: string): void {
  const directory = nearestExisting(dirname(path));
  try {
    if (!statSync(directory).isDirectory()) throw new Error(`${directory} is not a directory`);
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new LcmError(
      "UNWRITABLE",
      `${path}: the database can not be created here (${(error as Error).message}); check the directory's owner and permissions, or set databasePath (LCM_DATABASE_PATH).`,
      { cause: error },
    );
  }
}

function nearestExisting(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : nearestExisting(parent);
}

/** Throws what a commit would: writes in a transaction of its own, which is rolled back. */
export function probeWriting(db: Database): void {
  const cache = db.get<{ cache_size: number }>("PRAGMA cache_size")?.cache_size;
  db.exec(`PRAGMA cache_size = ${PROBE_CACHE_PAGES}`);
  try {
    db.transaction(() => {
      db.exec("CREATE TABLE lcm_probe (filler BLOB)");
      db.exec(`INSERT INTO lcm_probe VALUES (zeroblob(${PROBE_BYTES}))`);
      throw new RolledBack();
    }, "relaxed");
  } catch (error) {
    // A lock is another process at work, and no fault.
    const isBusy = error instanceof LcmError && error.code === "BUSY";
    if (!isBusy && !(error instanceof RolledBack)) throw error;
  } finally {
    db.exec(`PRAGMA cache_size = ${cache ?? 0}`);
  }
}

class RolledBack extends Error {}
