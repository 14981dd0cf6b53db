// Holds a lock on a database, from this process or from another one.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";

export interface Lock {
  release(): void;
}

export function lockHere(path: string, begin: string): Lock {
  const db = new DatabaseSync(path);
  const release = (): void => {
    if (db.isOpen) db.close();
  };
  db.exec(begin);
  onTestFinished(release);
  return { release };
}

const HOLDER = `
const { DatabaseSync } = require("node:sqlite");
const [path, begin, ms] = process.argv.slice(1);
new DatabaseSync(path).exec(begin);
process.stdout.write("locked");
setTimeout(() => process.exit(0), Number(ms));
`;

/** Resolves once the other process holds the lock, which it does for `ms` milliseconds. */
export async function lockElsewhere(path: string, begin: string, ms: number): Promise<void> {
  const child = spawn(process.execPath, ["--no-warnings", "-e", HOLDER, path, begin, String(ms)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
}
