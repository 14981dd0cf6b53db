// The plugin as a host registers it, with the environment it is started in.

import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import plugin from "../index.js";
import type { OpenClawPluginApi } from "../src/openclaw-bridge.js";
import { TOOL_NAMES } from "../src/tools/index.js";
import { temporaryDirectory } from "./support/workspace.js";

type EngineFactory = Parameters<OpenClawPluginApi["registerContextEngine"]>[1];
type ToolFactory = (context: { agentId?: string; sessionKey?: string }) => ToolOffer | null;

interface ToolOffer {
  readonly name: string;
  readonly catalogMode?: string;
}

/** Registers the plugin with a host that has nothing but a configuration, and gives its factory. */
function register(tools = new Map<string, ToolFactory>()): EngineFactory {
  const stateDir = temporaryDirectory();
  const factories: EngineFactory[] = [];
  const disposals: (() => void)[] = [];
  const ignore = (): void => {};
  const api = {
    id: plugin.id,
    logger: { info: ignore, warn: ignore, error: ignore, debug: ignore },
    runtime: { config: { current: () => ({}) }, state: { resolveStateDir: () => stateDir } },
    lifecycle: { onDispose: (dispose: () => void) => disposals.push(dispose) },
    registerReload: ignore,
    registerContextEngine: (_id: string, factory: EngineFactory) => factories.push(factory),
    registerService: ignore,
    registerTool: (factory: ToolFactory, { name }: { name: string }) => tools.set(name, factory),
    registerCommand: ignore,
    registerCli: ignore,
    on: ignore,
  };
  plugin.register(api as unknown as OpenClawPluginApi);
  onTestFinished(() => disposals.forEach((dispose) => dispose()));
  return factories[0] as EngineFactory;
}

const make = async (factory: EngineFactory) => factory({} as Parameters<EngineFactory>[0]);

describe("the engine's factory", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("makes an engine that the host selects", async () => {
    const engine = await make(register());
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
    const factory = register();
    vi.stubEnv("LCM_ENABLED", "false");
    await expect(make(factory)).rejects.toThrow("turned off by its configuration");
    vi.stubEnv("LCM_ENABLED", "true");
    const engine = await make(factory);
    await engine.dispose?.();
  });
});

describe("the tools' factories", () => {
  afterEach(() => vi.unstubAllEnvs());

  const offered = (tools: ReadonlyMap<string, ToolFactory>, sessionKey?: string) =>
    [...tools.values()].map((make) => make(sessionKey ? { agentId: "main", sessionKey } : {}));

  it("offer each session what it has a use for, in the list of tools and not behind a search", () => {
    const tools = new Map<string, ToolFactory>();
    register(tools);
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
    register(tools);
    expect(offered(tools).every((tool) => tool === null)).toBe(true);
    vi.stubEnv("LCM_ENABLED", "false");
    expect(offered(tools, "agent:main:main").every((tool) => tool === null)).toBe(true);
  });
});
