// The plugin as a host registers it, with the environment it is started in.

import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import plugin from "../index.js";
import type { OpenClawPluginApi } from "../src/openclaw-bridge.js";
import { temporaryDirectory } from "./support/workspace.js";

type EngineFactory = Parameters<OpenClawPluginApi["registerContextEngine"]>[1];

/** Registers the plugin with a host that has nothing but a configuration, and gives its factory. */
function register(): EngineFactory {
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
    registerTool: ignore,
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
