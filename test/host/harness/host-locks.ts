import { createHash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * The host keeps lock files outside its state directory, in a fixed place that
 * no variable moves, each named after a hash of the database it guards.
 */
export async function findHostLocks(stateDir: string): Promise<string[]> {
  const directory = `/tmp/openclaw-state-locks-${process.getuid?.() ?? 0}`;
  const files = await readdir(stateDir, { recursive: true }).catch(() => []);
  const hashes = files
    .filter((file) => file.endsWith(".sqlite"))
    .map((file) => createHash("sha256").update(join(stateDir, file)).digest("hex").slice(0, 8));
  const locks = await readdir(directory).catch(() => []);
  return locks
    .filter((name) => hashes.some((hash) => name.includes(`.${hash}.`)))
    .map((name) => join(directory, name));
}

export async function removeFiles(files: readonly string[]): Promise<void> {
  await Promise.all(files.map((file) => rm(file, { force: true })));
}
