// The plugin as a host registers it, with the environment it is started in.

import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { TOOL_NAMES } from "../src/tools/index.js";
import { registerPlugin, type ToolFactory } from "./support/plugin-host.js";
import { temporaryDirectory } from "./support/workspace.js";

describe("the engine's factory", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("makes an engine that the host selects", async () => {
    const engine = await registerPlugin(temporaryDirectory())();
    onTestFinished(() => engine.dispose?.());
    expect(engine.info).toMatchObject({
      id: "lossless-claw",
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    });
  });

  it("refuses with LCM_ENABLED=false, so that the host falls back to its own engine", async () => {
    const make = registerPlugin(temporaryDirectory());
    vi.stubEnv("LCM_ENABLED", "false");
    await expect(make()).rejects.toThrow("turned off by its configuration");
    vi.stubEnv("LCM_ENABLED", "true");
    const engine = await make();
    await engine.dispose?.();
  });
});

describe("the tools' factories", () => {
  afterEach(() => vi.unstubAllEnvs());

  const offered = (tools: ReadonlyMap<string, ToolFactory>, sessionKey?: string) =>
    [...tools.values()].map((make) => make(sessionKey ? { agentId: "main", sessionKey } : {}));

  it("offer each session what it has a use for, in the list of tools and not behind a search", () => {
    const tools = new Map<string, ToolFactory>();
    registerPlugin(temporaryDirectory(), tools);
    expect([...tools.keys()]).toEqual(TOOL_NAMES);
    const main = offered(tools, "agent:main:main").filter((tool) => tool !== null);
    expect(main.map(({ name }) => name)).toEqual(["lcm_grep", "lcm_describe", "lcm_expand_query"]);
    expect(new Set(main.map(({ catalogMode }) => catalogMode))).toEqual(new Set(["direct-only"]));
    const child = offered(tools, "agent:main:subagent:lcm-recall-1");
    expect(child.map((tool) => tool?.name)).toEqual([
      "lcm_grep",
      "lcm_describe",
      undefined,
      undefined,
    ]);
  });

  it("offer nothing without a session, or while the plugin is turned off", () => {
    const tools = new Map<string, ToolFactory>();
    registerPlugin(temporaryDirectory(), tools);
    expect(offered(tools).every((tool) => tool === null)).toBe(true);
    vi.stubEnv("LCM_ENABLED", "false");
    expect(offered(tools, "agent:main:main").every((tool) => tool === null)).toBe(true);
  });
});
