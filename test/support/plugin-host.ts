// The plugin as a host registers it: a host that has nothing but a state directory and an empty
// configuration. The plugin reads the environment of this process.

import { onTestFinished } from "vitest";
import plugin from "../../index.js";
import type { OpenClawPluginApi } from "../../src/openclaw-bridge.js";

type EngineFactory = Parameters<OpenClawPluginApi["registerContextEngine"]>[1];
export type HostEngine = Awaited<ReturnType<EngineFactory>>;

export type ToolFactory = (session: { agentId?: string; sessionKey?: string }) => {
  readonly name: string;
  readonly catalogMode?: string;
} | null;

/**
 * Registers the plugin and gives what makes an engine, or refuses to, each time it is called. The
 * factories of its tools go into `tools`, by name.
 */
export function registerPlugin(
  stateDir: string,
  tools = new Map<string, ToolFactory>(),
): () => Promise<HostEngine> {
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
  const [factory] = factories as [EngineFactory];
  return async () => factory({} as Parameters<EngineFactory>[0]);
}
