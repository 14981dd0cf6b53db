// The checks that need no test run: types, lint, format, unused code, generated files. All of them run,
// so that one call shows everything there is to fix. Start it with `npm run check`.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

const checks = [
  { name: "types", command: "tsc", args: ["--noEmit"] },
  { name: "lint", command: "oxlint", args: ["--deny-warnings"] },
  { name: "format", command: "oxfmt", args: ["--check", "."] },
  { name: "unused", command: "knip", args: ["--no-progress"] },
  { name: "generated", command: "tsx", args: ["scripts/manifest.ts", "--check"] },
];

const results = await Promise.all(checks.map(run));
for (const { name, code, output } of results) {
  if (code !== 0) process.stdout.write(`--- ${name} ---\n${output.trim()}\n\n`);
}
const summary = results.map(
  ({ name, code, seconds }) => `${name} ${code === 0 ? "ok" : "FAILED"} (${seconds} s)`,
);
console.log(`check: ${summary.join(", ")}`);
process.exit(results.every(({ code }) => code === 0) ? 0 : 1);

/** Never rejects: a tool that can not start is a failed check with the reason as its output. */
function run({ name, command, args }) {
  const started = performance.now();
  return new Promise((resolve) => {
    let output = "";
    const done = (code) => {
      resolve({ name, code, output, seconds: ((performance.now() - started) / 1000).toFixed(1) });
    };
    const child = spawn(command, args, { cwd: root, shell: process.platform === "win32" });
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    child.on("error", (error) => {
      output += `could not start ${command}: ${error.message}; start the checks with \`npm run check\``;
      done(1);
    });
    child.on("close", (code) => done(code ?? 1));
  });
}
