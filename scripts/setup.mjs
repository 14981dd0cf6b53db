// Puts a Node new enough for node:sqlite and OpenClaw into `.node/` when the machine's own is too old,
// then installs the project's dependencies with it. Plain JavaScript for old Nodes: no dependencies,
// no syntax newer than Node 18. A second run finds everything in place and does nothing.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const localRoot = join(root, ".node");
const localBin = join(localRoot, "node_modules", "node", "bin");
const localNode = join(localBin, process.platform === "win32" ? "node.exe" : "node");
const stampFile = join(root, "node_modules", ".lossless-claw-setup");

const PINNED_NODE = "24.21.0";
const MINIMUM = [24, 16];

/** True when a `process.versions.node` string satisfies `engines.node`. */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

/** The environment in which the project's commands run: its Node and its tools first in PATH. */
export function projectEnv() {
  const bins = [join(root, "node_modules", ".bin")];
  if (!isNewEnough(process.versions.node)) bins.unshift(localBin);
  return { ...process.env, PATH: [...bins, process.env.PATH ?? ""].join(delimiter) };
}

/** Installs what is missing. Returns once `npm ci` has succeeded for the current lockfile. */
export function setup() {
  ensureNode();
  const lock = readFileSync(join(root, "package-lock.json"));
  const stamp = createHash("sha256").update(lock).update(PINNED_NODE).digest("hex");
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return;
  say("installing dependencies (once; the OpenClaw host is large)");
  npm(["ci", "--no-audit", "--no-fund"], root);
  writeFileSync(stampFile, stamp);
}

function ensureNode() {
  if (isNewEnough(process.versions.node) || localNodeVersion() === `v${PINNED_NODE}`) return;
  say(`this machine has Node ${process.versions.node}; fetching Node ${PINNED_NODE} into .node/`);
  mkdirSync(localRoot, { recursive: true });
  writeFileSync(
    join(localRoot, "package.json"),
    JSON.stringify({ private: true, name: "project-node" }),
  );
  npm(["install", `node@${PINNED_NODE}`, "--no-audit", "--no-fund", "--no-save"], localRoot);
  if (localNodeVersion() !== `v${PINNED_NODE}`) {
    fail(
      `npm installed the package node@${PINNED_NODE}, but ${localNode} does not run. Install Node ${MINIMUM.join(".")} or newer and try again.`,
    );
  }
}

function localNodeVersion() {
  if (!existsSync(localNode)) return undefined;
  return spawnSync(localNode, ["--version"], { encoding: "utf8" }).stdout?.trim();
}

function npm(args, cwd) {
  const result = spawnSync("npm", args, {
    cwd,
    env: projectEnv(),
    stdio: ["ignore", process.stderr, process.stderr],
    shell: process.platform === "win32",
  });
  if (result.status !== 0) fail(`\`npm ${args.join(" ")}\` failed in ${cwd}; its output is above.`);
}

function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) setup();
