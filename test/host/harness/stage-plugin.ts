import { cpSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const PROJECT_ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * The built plugin in a directory of its own, for the caller to remove. The checkout itself holds the
 * running host in its node_modules, which the host takes for a part of the plugin: it loads, but
 * spawns no sub-agents.
 */
export function stagePlugin(): string {
  if (!existsSync(join(PROJECT_ROOT, "dist", "index.js"))) {
    throw new Error("The plugin is not built: run `npm run build` first.");
  }
  const directory = mkdtempSync(join(tmpdir(), "lossless-claw-plugin-"));
  for (const name of ["dist", "openclaw.plugin.json", "package.json"]) {
    cpSync(join(PROJECT_ROOT, name), join(directory, name), { recursive: true });
  }
  return directory;
}
