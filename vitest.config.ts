// Test projects: `unit` runs in this process tree, `host` drives a real OpenClaw, `long` takes minutes
// and runs only when asked for. The code under test needs `node:sqlite`; see `requireProjectNode`.
// Imports nothing that has to be installed: in a fresh clone the guard must get to speak.
import { spawnSync } from "node:child_process";
import type { ViteUserConfig } from "vitest/config";
import { isNewEnough, projectEnv } from "./scripts/setup.mjs";

requireProjectNode();

export default {
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/host/**", "test/long/**"],
          setupFiles: ["test/support/seed.ts"],
          globalSetup: "test/support/build.ts",
        },
      },
      {
        test: {
          name: "host",
          include: ["test/host/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "long",
          include: ["test/long/**/*.test.ts", "test/**/*.property.test.ts"],
          env: { LCM_TEST_SEED: "random" },
          setupFiles: ["test/support/seed.ts"],
          globalSetup: "test/support/build.ts",
          fileParallelism: false,
          testTimeout: 1_800_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
} satisfies ViteUserConfig;

/**
 * Bare `npx vitest` starts on the machine's own Node. When that is too old, the same command runs on
 * the project's Node in `.node/`, or, before `npm test` has put one there, ends with what to do.
 */
function requireProjectNode(): void {
  if (isNewEnough(process.versions.node)) return;
  const env = projectEnv();
  const found = spawnSync("node", ["-p", "process.versions.node"], { env, encoding: "utf8" });
  if (found.status !== 0 || !isNewEnough(found.stdout.trim())) {
    process.stderr.write(
      `These tests need Node 24.16 or newer and this is Node ${process.versions.node}: run \`npm test\`, which fetches one.\n`,
    );
    process.exit(1);
  }
  const rerun = spawnSync("node", process.argv.slice(1), { env, stdio: "inherit" });
  process.exit(rerun.status ?? 1);
}
