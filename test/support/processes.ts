// Child processes that commit turns, ended with the test whatever happens.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import type { CommitTurnCall } from "../../src/host-calls.js";
import { temporaryDirectory } from "./workspace.js";

/** Bundles a script of this directory, because starting a bundle is far quicker than compiling one. */
export async function bundle(script: URL): Promise<string> {
  const outfile = join(temporaryDirectory(), "script.mjs");
  await build({
    entryPoints: [script.pathname],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    logLevel: "warning",
  });
  return outfile;
}

export class Committer {
  /** Advancement keys of the acknowledged turns, by what the commit answered. */
  readonly committed: string[] = [];
  readonly duplicate: string[] = [];
  readonly ready: Promise<unknown>;
  /** The exit code, or the signal. */
  readonly ended: Promise<number | string>;
  errors = "";
  readonly #child: ChildProcess;
  #waiting: () => void = () => {};

  private constructor(child: ChildProcess) {
    this.#child = child;
    const lines = createInterface({ input: child.stdout! });
    this.ready = once(lines, "line");
    lines.on("line", (line) => this.#hear(line));
    child.stderr!.on("data", (data: Buffer) => (this.errors += String(data)));
    this.ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
    onTestFinished(() => void child.kill("SIGKILL"));
  }

  static async start(
    script: string,
    databasePath: string,
    turns: readonly CommitTurnCall[],
    limits: { fileBlocks?: number } = {},
  ): Promise<Committer> {
    const turnsFile = join(temporaryDirectory(), "turns.json");
    writeFileSync(turnsFile, JSON.stringify(turns));
    const limit = `ulimit -f ${limits.fileBlocks ?? "unlimited"}; exec "$@"`;
    const command = [process.execPath, "--no-warnings", script, databasePath, turnsFile];
    const child = spawn("/bin/sh", ["-c", limit, "sh", ...command], { stdio: "pipe" });
    const committer = new Committer(child);
    await Promise.race([committer.ready, committer.ended]);
    return committer;
  }

  go(): void {
    this.#child.stdin!.write("go\n");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Resolves once that many turns were acknowledged. */
  acknowledgements(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = () => {
        if (this.committed.length + this.duplicate.length >= Math.floor(count)) resolve();
      };
    });
  }

  #hear(line: string): void {
    const [status, key] = line.split(" ") as [string, string];
    if (status === "committed") this.committed.push(key);
    if (status === "duplicate") this.duplicate.push(key);
    this.#waiting();
  }
}
