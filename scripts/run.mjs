// Runs a command of the project on the project's Node: `node scripts/run.mjs vitest run`.
// Installs first whatever is missing, so every npm script works in a fresh clone.
import { spawn } from "node:child_process";
import { projectEnv, setup } from "./setup.mjs";

setup();
const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, {
  stdio: "inherit",
  env: projectEnv(),
  shell: process.platform === "win32",
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  process.stderr.write(`run: could not start ${command}: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
