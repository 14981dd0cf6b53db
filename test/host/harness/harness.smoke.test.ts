import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anthropicProvider } from "./host-config.js";
import { currentSessionId, readVisibleTranscript, transcriptLines } from "./host-transcript.js";
import { startModelServer, type ModelServer } from "./model-server.js";
import { createHost, type OpenClawHost } from "./openclaw-host.js";
import { writeSmokeEngine } from "./smoke-engine.js";
import { waitUntil } from "./wait-until.js";

const KEY = "agent:main:smoke";
const SLOW = 240_000;

interface Commit {
  sessionKey: string;
  from: number;
  to: number;
  roles: string[];
}

describe("the harness drives the real host", () => {
  let scratch: string;
  let server: ModelServer;
  let host: OpenClawHost;

  const transcript = (): string[] =>
    transcriptLines(readVisibleTranscript(host.stateDir, "main", KEY));
  const commits = (): Commit[] =>
    readFileSync(join(scratch, "journal"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Commit);

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "harness-smoke-"));
    await writeSmokeEngine(join(scratch, "plugin"));
    server = await startModelServer();
    host = await createHost({
      modelServer: server,
      pluginPath: join(scratch, "plugin"),
      slot: "smoke-engine",
      pluginConfig: { journal: join(scratch, "journal") },
      extraConfig: {
        models: {
          providers: { "fake-anthropic": anthropicProvider(server.origin, "claude-fake") },
        },
      },
    });
    await host.startGateway();
  }, SLOW);

  afterAll(async () => {
    await host?.dispose();
    await server?.close();
    await rm(scratch, { recursive: true, force: true });
  }, SLOW);

  test("plays turns and tool loops over HTTP", { timeout: SLOW }, async () => {
    expect(await host.turn(KEY, "hello")).toBe("REPLY#1 to: hello");
    expect(await host.turn(KEY, "again")).toBe("REPLY#2 to: again");
    const calls =
      'CALL:exec:{"command":"echo first-output"} THEN CALL:exec:{"command":"echo second-output"}';
    expect(await host.turn(KEY, calls)).toContain("REPLY#3");
    expect(transcript()).toEqual([
      "user: hello",
      "assistant: REPLY#1 to: hello",
      "user: again",
      "assistant: REPLY#2 to: again",
      `user: ${calls}`,
      "assistant: <exec>",
      "toolResult: first-output",
      "assistant: <exec>",
      "toolResult: second-output",
      `assistant: REPLY#3 to: ${calls}`,
    ]);
    expect(commits().map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [2, 3],
      [4, 9],
    ]);
    expect(server.requests.every((request) => request.sessionKey === KEY)).toBe(true);
  });

  test("plays a turn on another model", { timeout: SLOW }, async () => {
    await host.turn("agent:main:other", "which model", { model: "fake/fake-2" });
    expect(server.requests.at(-1)?.model).toBe("fake-2");
  });

  test("speaks the Anthropic wire format", { timeout: SLOW }, async () => {
    const model = "fake-anthropic/claude-fake";
    const reply = await host.turn(
      "agent:main:anthropic",
      'CALL:exec:{"command":"echo from-anthropic"}',
      { model },
    );
    expect(reply).toContain("REPLY#");
    expect(server.requests.at(-1)).toMatchObject({
      wire: "anthropic",
      sessionKey: "agent:main:anthropic",
    });
    const lines = transcriptLines(
      readVisibleTranscript(host.stateDir, "main", "agent:main:anthropic"),
    );
    expect(lines.slice(1, 3)).toEqual(["assistant: <exec>", "toolResult: from-anthropic"]);
  });

  test("sends slash commands over RPC", { timeout: SLOW }, async () => {
    await host.chatSend(KEY, "/smoke one two");
    await waitUntil("the command's reply", () =>
      transcript().includes("assistant: smoke heard: one two"),
    );
  });

  test("steers a turn while its model call is in flight", { timeout: SLOW }, async () => {
    let release = (): void => undefined;
    const hold = new Promise<void>((resolve) => (release = resolve));
    server.setScript((request) =>
      request.lastUserText === "start of work"
        ? { text: "working", hold }
        : { text: `after: ${request.lastUserText}` },
    );
    await host.chatSend(KEY, "start of work");
    await server.waitForRequest((request) => request.lastUserText === "start of work");
    await host.steer(KEY, "change of plan");
    release();
    await waitUntil("the steered reply", () =>
      transcript().includes("assistant: after: change of plan"),
    );
    expect(transcript().slice(-4)).toEqual([
      "user: start of work",
      "assistant: working",
      "user: change of plan",
      "assistant: after: change of plan",
    ]);
    server.resetScript();
    // What makes it a steered turn and not a follow-up: the host never commits it.
    await host.waitForLog(/session-rebound/);
  });

  test("survives kill -9 and answers after a restart", { timeout: SLOW }, async () => {
    const before = currentSessionId(host.stateDir, "main", KEY);
    const known = transcript();
    server.setScript(() => ({ text: "never sent", hold: new Promise(() => undefined) }));
    const cut = host.turn(KEY, "cut short").catch((error: unknown) => error);
    await server.waitForRequest((request) => request.lastUserText === "cut short");
    await host.killGateway();
    expect(await cut).toBeInstanceOf(Error);
    expect(transcript()).toEqual([...known, "user: cut short"]);
    server.resetScript();
    await host.startGateway();
    expect(await host.turn(KEY, "back again")).toContain("back again");
    expect(currentSessionId(host.stateDir, "main", KEY)).toBe(before);
    expect(transcript().slice(0, known.length)).toEqual(known);
    expect(transcript()).toContain("user: back again");
  });

  test("hot-reloads config edits", { timeout: SLOW }, async () => {
    await host.patchConfig((config) => {
      (config["plugins"] as { slots: Record<string, string> }).slots["contextEngine"] = "legacy";
    });
    const count = commits().length;
    await host.turn(KEY, "on the built-in engine");
    expect(commits()).toHaveLength(count);
  });

  test("runs commands and local turns, then leaves nothing behind", { timeout: SLOW }, async () => {
    const result = await host.cli(["--version"]);
    expect(result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("OpenClaw") as unknown,
    });
    await host.stopGateway();
    expect(await host.localTurn("local-1", "from a process of its own")).toContain(
      "from a process of its own",
    );
    expect(currentSessionId(host.stateDir, "main", "agent:main:explicit:local-1")).toBe("local-1");
    await host.dispose();
    expect(existsSync(host.paths.root)).toBe(false);
  });
});
