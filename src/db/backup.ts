// The copy taken before a migration changes an existing file.

import { closeSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import type { Database } from "./connection.js";
import type { Existing } from "./migration.js";

/**
 * Writes a consistent copy beside the database, under its final name only once it is whole, and never
 * over another. A copy that is newer than the file serves again. `isNeeded` is asked with the write
 * lock held: another process may be through with its copy and its migration, but not in the middle of
 * it. Returns the copy's path.
 */
export function backupBeforeMigration(
  db: Database,
  existing: Exclude<Existing, { kind: "new" }>,
  isNeeded: () => boolean,
): string | undefined {
  const from = existing.kind === "ours" ? `schema-${existing.version}` : existing.kind;
  const day = new Date().toISOString().slice(0, 10);
  const changedAt = db.transaction(() =>
    isNeeded() ? Math.max(placedAt(db.path), modifiedAt(`${db.path}-wal`)) : undefined,
  );
  if (changedAt === undefined) return undefined;
  for (let number = 1; ; number += 1) {
    const path = `${db.path}.before-${from}.${day}${number > 1 ? `.${number}` : ""}.bak`;
    const copiedAt = modifiedAt(path);
    if (copiedAt > changedAt) return path;
    if (copiedAt === 0) return writeCopy(db, path);
  }
}

function writeCopy(db: Database, path: string): string {
  const draft = `${path}.${process.pid}`;
  try {
    // VACUUM INTO takes an empty file and would otherwise create it with the process's umask.
    closeSync(openSync(draft, "w", 0o600));
    db.run("VACUUM INTO ?", draft);
    if (modifiedAt(path) === 0) renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return path;
}

/** When a file was last written or put in its place: an older file may have been moved there since. */
function placedAt(path: string): number {
  return Math.max(modifiedAt(path), statSync(path).ctimeMs);
}

/**
 * When a file was last written, in milliseconds; 0 when it is not there, or empty: opening a database
 * makes its log, and changes nothing.
 */
function modifiedAt(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && stats.size > 0 ? stats.mtimeMs : 0;
}
