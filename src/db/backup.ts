// The copy taken before a migration changes an existing file.

import { closeSync, existsSync, openSync } from "node:fs";
import type { Database } from "./connection.js";
import type { Existing } from "./migration.js";

/** Writes a consistent copy beside the database. Of two processes that race, one copy is enough. */
export function backupBeforeMigration(db: Database, existing: Exclude<Existing, { kind: "new" }>): string {
  const from = existing.kind === "ours" ? `schema-${existing.version}` : existing.kind;
  const day = new Date().toISOString().slice(0, 10);
  const path = `${db.path}.before-${from}.${day}.bak`;
  if (!existsSync(path)) {
    // VACUUM INTO accepts an empty file and would otherwise create it with the process's umask.
    closeSync(openSync(path, "wx", 0o600));
    db.run("VACUUM INTO ?", path);
  }
  return path;
}
