// The copy taken before a migration changes an existing file.

import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import type { Database } from "./connection.js";
import type { Existing } from "./migration.js";

/**
 * Writes a consistent copy beside the database, under its final name only once it is whole. Of two
 * processes that race, the first one's copy stays: the other's may already show the new schema.
 */
export function backupBeforeMigration(
  db: Database,
  existing: Exclude<Existing, { kind: "new" }>,
): string {
  const from = existing.kind === "ours" ? `schema-${existing.version}` : existing.kind;
  const day = new Date().toISOString().slice(0, 10);
  const path = `${db.path}.before-${from}.${day}.bak`;
  if (existsSync(path)) return path;
  const draft = `${path}.${process.pid}`;
  try {
    // VACUUM INTO takes an empty file and would otherwise create it with the process's umask.
    closeSync(openSync(draft, "w", 0o600));
    db.run("VACUUM INTO ?", draft);
    if (!existsSync(path)) renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return path;
}
