// What `npm test` runs: the checks, the build, then the unit and host tests. Each step's output is
// streamed; the first step that fails gives the exit code and ends the run. The last line counts tests.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "lossless-claw-test-"));
// Host tests mostly wait for gateways to start: two files at a time, after the unit tests, which
// measure some waiting of their own.
const projects = [
  { name: "unit", args: [] },
  { name: "host", args: ["--maxWorkers=2"] },
];
const steps = [
  ["node", "scripts/check.mjs"],
  ["node", "scripts/build.mjs"],
  ...projects.map(({ name, args }) => [
    "vitest",
    "run",
    `--project=${name}`,
    ...args,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${reportOf(name)}`,
  ]),
];

const code = await firstFailure();
const counts = projects.map(({ name }) => countTests(reportOf(name)));
rmSync(scratch, { recursive: true, force: true });
const sum = (key) => counts.reduce((total, count) => total + count[key], 0);
console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
process.exit(code);

function reportOf(project) {
  return join(scratch, `${project}.json`);
}

async function firstFailure() {
  for (const step of steps) {
    const status = await run(step);
    if (status !== 0) return status;
  }
  return 0;
}

function run([command, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: "inherit",
      shell: process.platform === "win32",
    });
    child.on("error", (error) => {
      process.stderr.write(
        `could not start ${command}: ${error.message}; start the tests with \`npm test\`\n`,
      );
      resolve(1);
    });
    child.on("close", (status) => resolve(status ?? 1));
  });
}

/** A run that ended before the tests has no report: nothing passed, and nothing is known to have failed. */
function countTests(report) {
  if (!existsSync(report)) return { passed: 0, failed: 0 };
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
  // A file that could not be loaded holds no tests, but must not look like success.
  const broken = testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}
