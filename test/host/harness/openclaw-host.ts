import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { GatewayRpc, type GatewayEvent } from "./gateway-rpc.js";
import { buildHostConfig } from "./host-config.js";
import { findHostLocks, removeFiles } from "./host-locks.js";
import {
  hostEnv,
  hostPaths,
  spawnHost,
  type CliResult,
  type HostPaths,
  type HostProcess,
} from "./host-process.js";
import { httpTurn, type TurnOptions } from "./http-turn.js";
import { isRecord, parseJson, records, str, type JsonRecord } from "./loose-json.js";
import type { ModelServer } from "./model-server.js";
import { waitUntil } from "./wait-until.js";

export interface HostOptions {
  readonly modelServer: ModelServer;
  /** Loaded by `plugins.load.paths`. Without it, no slot or entry is written. */
  readonly pluginPath?: string;
  readonly pluginConfig?: JsonRecord;
  /** Default `lossless-claw`. `null` keeps the built-in engine although the plugin is loaded. */
  readonly slot?: string | null;
  /** Default: the slot, or `lossless-claw`. */
  readonly pluginId?: string;
  /** Bundled plugins to allow besides ours; all others stay unloaded. */
  readonly allowPlugins?: readonly string[];
  readonly extraConfig?: JsonRecord;
  /** Window of `fake/fake-1`, default 128 000. `fake/fake-2` always has 32 000. */
  readonly contextWindow?: number;
  readonly env?: Readonly<Record<string, string>>;
}

const READY_TIMEOUT_MS = 150_000;
const STOP_TIMEOUT_MS = 60_000;
const RECOVERY_TIMEOUT_MS = 60_000;
const RELOAD_DONE =
  /config hot reload applied|config change applied|config reload (?:failed|skipped)|requires gateway restart/;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

/** The real OpenClaw, alone in a temporary directory. */
export class OpenClawHost {
  readonly token = randomBytes(12).toString("hex");
  readonly paths: HostPaths;
  readonly port: number;
  readonly #env: Record<string, string>;
  readonly #cliProcesses = new Set<HostProcess>();
  #gateway: HostProcess | undefined;
  #rpc: Promise<GatewayRpc> | undefined;
  #log = "";
  #disposed = false;

  private constructor(paths: HostPaths, port: number, env: Record<string, string>) {
    this.paths = paths;
    this.port = port;
    this.#env = env;
  }

  static async create(options: HostOptions): Promise<OpenClawHost> {
    const paths = hostPaths(await realpath(await mkdtemp(join(tmpdir(), "openclaw-host-"))));
    const workspace = join(paths.root, "workspace");
    await Promise.all(
      [paths.home, paths.stateDir, paths.tmp, workspace].map((dir) =>
        mkdir(dir, { recursive: true }),
      ),
    );
    const host = new OpenClawHost(paths, await freePort(), hostEnv(paths, options.env ?? {}));
    const slot = options.slot === undefined ? "lossless-claw" : options.slot;
    const config = buildHostConfig({
      root: paths.root,
      port: host.port,
      token: host.token,
      modelBaseUrl: options.modelServer.baseUrl,
      contextWindow: options.contextWindow ?? 128_000,
      slot,
      pluginId: options.pluginId ?? slot ?? "lossless-claw",
      allowPlugins: options.allowPlugins ?? [],
      ...(options.pluginPath === undefined ? {} : { pluginPath: options.pluginPath }),
      ...(options.pluginConfig === undefined ? {} : { pluginConfig: options.pluginConfig }),
      ...(options.extraConfig === undefined ? {} : { extraConfig: options.extraConfig }),
    });
    await host.#writeConfig(config);
    return host;
  }

  get stateDir(): string {
    return this.paths.stateDir;
  }

  get workspace(): string {
    return join(this.paths.root, "workspace");
  }

  /** Everything all gateways of this host have printed so far. */
  get log(): string {
    return this.#log;
  }

  get gatewayRunning(): boolean {
    return this.#gateway !== undefined && !this.#gateway.hasExited();
  }

  async startGateway(): Promise<void> {
    if (this.#disposed) throw new Error("the host was disposed");
    if (this.gatewayRunning) throw new Error("the gateway is running already");
    const gateway = spawnHost(["gateway", "run"], this.#env, this.workspace, (text) => {
      this.#log += text;
    });
    this.#gateway = gateway;
    try {
      // `/healthz` answers long before plugins are loaded; only `/readyz` means turns work.
      await waitUntil("/readyz", () => this.#ready(gateway), READY_TIMEOUT_MS, 50);
    } catch (error) {
      await this.killGateway();
      throw new Error(`OpenClaw did not boot: ${String(error)}\n${this.lastLogLines(60)}`, {
        cause: error,
      });
    }
  }

  /** SIGTERM, then waits for the gateway to finish on its own. */
  async stopGateway(): Promise<void> {
    const gateway = this.#gateway;
    if (gateway === undefined) return;
    await this.#closeRpc();
    // Only the gateway itself: it decides what happens to its children.
    gateway.child.kill("SIGTERM");
    try {
      await waitUntil("the gateway to exit", () => gateway.hasExited(), STOP_TIMEOUT_MS);
    } catch (error) {
      throw new Error(`${String(error)}\n${this.lastLogLines(60)}`, { cause: error });
    }
    gateway.signal("SIGKILL");
    this.#gateway = undefined;
  }

  /** SIGKILL to the whole process group, as a crash would. */
  async killGateway(): Promise<void> {
    const gateway = this.#gateway;
    if (gateway === undefined) return;
    gateway.signal("SIGKILL");
    await gateway.exited;
    await this.#closeRpc();
    this.#gateway = undefined;
  }

  async restartGateway(): Promise<void> {
    await this.stopGateway();
    await this.startGateway();
  }

  /**
   * Plays one turn. After a kill the host holds a session until it has recovered it, and refuses its
   * turns with a reason that only its log tells; those are tried again. Any other failure is told
   * with what the log says.
   */
  async turn(sessionKey: string, text: string, options: TurnOptions = {}): Promise<string> {
    const deadline = Date.now() + RECOVERY_TIMEOUT_MS;
    for (;;) {
      const from = this.#log.length;
      try {
        return await httpTurn({ port: this.port, token: this.token }, sessionKey, text, options);
      } catch (error) {
        const said = this.#log.slice(from);
        if (!said.includes("SessionWorkStartChangedError") || Date.now() > deadline) {
          throw new Error(`${String(error)}\n${said.slice(-4_000)}`, { cause: error });
        }
      }
      await sleep(500);
    }
  }

  async cli(
    args: readonly string[],
    options: { timeoutMs?: number; input?: string } = {},
  ): Promise<CliResult> {
    const output = { stdout: "", stderr: "" };
    const run = spawnHost(
      args,
      this.#env,
      this.workspace,
      (text, stream) => void (output[stream] += text),
      options.input,
    );
    this.#cliProcesses.add(run);
    const timer = setTimeout(() => run.signal("SIGKILL"), options.timeoutMs ?? 60_000);
    await run.exited;
    clearTimeout(timer);
    this.#cliProcesses.delete(run);
    return { code: run.child.exitCode, ...output };
  }

  /** A turn in a process of its own; key `agent:main:explicit:<sessionId>`. */
  async localTurn(
    sessionId: string,
    text: string,
    options: { timeoutMs?: number } = {},
  ): Promise<string> {
    if (this.gatewayRunning)
      throw new Error("the host refuses local turns while its gateway runs: stop it first");
    const result = await this.cli(
      ["agent", "--local", "--session-id", sessionId, "-m", text, "--json"],
      options,
    );
    const parsed = parseJson(result.stdout);
    if (result.code !== 0 || !isRecord(parsed)) {
      throw new Error(
        `agent --local exited with ${result.code}\n${result.stdout}\n${result.stderr}`,
      );
    }
    return records(parsed["payloads"])
      .map((payload) => str(payload["text"]))
      .join("\n");
  }

  async rpc(method: string, params: unknown = {}, timeoutMs?: number): Promise<unknown> {
    return (await this.#connection()).call(method, params, timeoutMs);
  }

  /** Sends as the web chat does (slash commands work); returns the run id without waiting for the run. */
  async chatSend(sessionKey: string, message: string): Promise<string> {
    const runId = randomUUID();
    await this.rpc("chat.send", { sessionKey, message, idempotencyKey: runId });
    return runId;
  }

  /**
   * Sends into a run whose model call is held in flight. The host acknowledges before
   * it has handed the message to the run, and says nothing when it has: a call released
   * too early makes the message a follow-up turn. Hence the pause.
   */
  async steer(sessionKey: string, message: string, settleMs = 1500): Promise<string> {
    const runId = await this.chatSend(sessionKey, message);
    await sleep(settleMs);
    return runId;
  }

  /** Events of the current RPC connection; opens it if needed. */
  async events(): Promise<readonly GatewayEvent[]> {
    return (await this.#connection()).events;
  }

  async readConfig(): Promise<JsonRecord> {
    const config: unknown = JSON.parse(await readFile(this.paths.configPath, "utf8"));
    if (!isRecord(config)) throw new Error("openclaw.json is not an object");
    return config;
  }

  /**
   * Edits openclaw.json in place or by returning a new config. With the gateway up, resolves once the
   * host has reported what it did with the change; `reported` is the line to wait for.
   */
  async patchConfig(
    edit: (config: JsonRecord) => JsonRecord | void,
    reported = RELOAD_DONE,
  ): Promise<void> {
    const before = this.#log.length;
    const config = await this.readConfig();
    const previous = JSON.stringify(config);
    const next = edit(config) ?? config;
    if (JSON.stringify(next) === previous) return;
    await this.#writeConfig(next);
    if (this.gatewayRunning) await this.waitForLog(reported, { from: before });
  }

  /** Replaces the plugin's own config, which it reads live: the host has nothing to reload. */
  async setPluginConfig(config: JsonRecord): Promise<void> {
    await this.patchConfig((whole) => {
      const { entries } = whole["plugins"] as { entries: Record<string, JsonRecord> };
      const entry = entries["lossless-claw"];
      if (entry) entry["config"] = config;
    }, /config change detected/);
  }

  /** Waits for a line of the gateway log; `from` is an offset into `host.log`. */
  async waitForLog(
    pattern: RegExp,
    options: { from?: number; timeoutMs?: number } = {},
  ): Promise<RegExpExecArray> {
    const from = options.from ?? 0;
    return waitUntil(
      `log ${String(pattern)}`,
      () => pattern.exec(this.#log.slice(from)) ?? undefined,
      options.timeoutMs,
    );
  }

  lastLogLines(count: number): string {
    return this.#log.split("\n").slice(-count).join("\n");
  }

  /** Kills everything, then removes the directory and the host's lock files. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    await this.killGateway();
    for (const run of this.#cliProcesses) run.signal("SIGKILL");
    await Promise.all([...this.#cliProcesses].map((run) => run.exited));
    const locks = await findHostLocks(this.stateDir);
    await rm(this.paths.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    await removeFiles(locks);
  }

  async #ready(gateway: HostProcess): Promise<boolean> {
    if (gateway.hasExited())
      throw new Error(`the gateway exited with code ${gateway.child.exitCode}`);
    try {
      const response = await fetch(`http://127.0.0.1:${this.port}/readyz`, {
        signal: AbortSignal.timeout(2000),
      });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  async #connection(): Promise<GatewayRpc> {
    const current = await this.#rpc?.catch(() => undefined);
    if (current?.open) return current;
    this.#rpc = GatewayRpc.connect(this.port, this.token);
    return this.#rpc;
  }

  async #closeRpc(): Promise<void> {
    const rpc = await this.#rpc?.catch(() => undefined);
    this.#rpc = undefined;
    rpc?.close();
  }

  /** By rename, so that the host's file watcher never sees half a config. */
  async #writeConfig(config: JsonRecord): Promise<void> {
    const draft = `${this.paths.configPath}.draft`;
    await writeFile(draft, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
    await rename(draft, this.paths.configPath);
  }
}

export function createHost(options: HostOptions): Promise<OpenClawHost> {
  return OpenClawHost.create(options);
}
