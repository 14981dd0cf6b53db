import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

const OPENCLAW_ENTRY = createRequire(import.meta.url).resolve("openclaw/cli-entry");

// Compiled code is the one thing hosts share: a cold cache adds several seconds to every boot.
const COMPILE_CACHE = join(dirname(OPENCLAW_ENTRY), "..", ".cache", "openclaw-compile");

export interface HostPaths {
  readonly root: string;
  readonly home: string;
  readonly stateDir: string;
  readonly configPath: string;
  readonly tmp: string;
}

export function hostPaths(root: string): HostPaths {
  const stateDir = join(root, "state");
  return {
    root,
    home: join(root, "home"),
    stateDir,
    configPath: join(stateDir, "openclaw.json"),
    tmp: join(root, "tmp"),
  };
}

/**
 * Built from nothing: the host behaves differently when it sees the test
 * runner's variables, and must not find the developer's provider keys.
 */
export function hostEnv(
  paths: HostPaths,
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
    LANG: "C.UTF-8",
    TZ: "UTC",
    NO_COLOR: "1",
    HOME: paths.home,
    TMPDIR: paths.tmp,
    OPENCLAW_STATE_DIR: paths.stateDir,
    OPENCLAW_CONFIG_PATH: paths.configPath,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    // The launcher would start Node a second time to move to a cache of its choice,
    // and again for other reasons; each start costs time.
    OPENCLAW_PACKAGED_COMPILE_CACHE_RESPAWNED: "1",
    OPENCLAW_NO_RESPAWN: "1",
    // By variable: a `cron` key in the config makes first boots run all state migrations.
    OPENCLAW_SKIP_CRON: "1",
    OPENCLAW_NO_AUTO_UPDATE: "1",
    OPENCLAW_DISABLE_BONJOUR: "1",
    ...extra,
  };
}

export interface HostProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  hasExited(): boolean;
  /** Signals the whole process group. */
  signal(name: NodeJS.Signals): void;
}

export function spawnHost(
  args: readonly string[],
  env: Record<string, string>,
  cwd: string,
  onOutput: (text: string, stream: "stdout" | "stderr") => void,
  input?: string,
): HostProcess {
  const child = spawn(process.execPath, [OPENCLAW_ENTRY, ...args], {
    env,
    cwd,
    // A group of its own lets one signal reach everything the host has started.
    detached: true,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdout?.setEncoding("utf8").on("data", (text: string) => onOutput(text, "stdout"));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => onOutput(text, "stderr"));
  child.stdin?.on("error", () => undefined);
  if (input !== undefined) child.stdin?.end(input);
  let done = false;
  const exited = once(child, "close").then(
    () => void (done = true),
    (error: unknown) => {
      done = true;
      onOutput(String(error), "stderr");
    },
  );
  return {
    child,
    exited,
    hasExited: () => done,
    signal: (name) => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, name);
      } catch {
        // The group is gone already.
      }
    },
  };
}

export interface CliResult {
  /** `null` when the command was ended by a signal, e.g. its timeout. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
