// What `npm test` runs: the checks, the build, then the unit and host tests. Each step's output is
// streamed; the first step that fails gives the exit code and ends the run. The last line counts tests.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "lossless-claw-test-"));
const report = join(scratch, "report.json");

const vitest = ["vitest", "run", "--project", "unit", "--project", "host"];
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const steps = [
  ["node", "scripts/check.mjs"],
  ["node", "scripts/build.mjs"],
  [...vitest, ...reporters],
];

const code = await firstFailure();
const { passed, failed } = countTests();
rmSync(scratch, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(code);

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
function countTests() {
  if (!existsSync(report)) return { passed: 0, failed: 0 };
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
  // A file that could not be loaded holds no tests, but must not look like success.
  const broken = testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}
