// Plugin entry: registers the engine, the command, the CLI and the session hook; nothing else.

import { registerLcmCli } from "./src/cli/index.js";
import { resolveConfig, type ResolvedConfig } from "./src/db/config.js";
import { leaseDatabase } from "./src/db/registry.js";
import { ENGINE_ID } from "./src/engine.js";
import { errorText } from "./src/errors.js";
import { createSelfOpeningEngine } from "./src/lcm.js";
import { asHostEngine, configSources, hostLogger, hostTranscript, type OpenClawPluginApi } from "./src/openclaw-bridge.js";
import { lcmCommand } from "./src/cli/chat-command.js";

const plugin = {
  id: ENGINE_ID,
  name: "Lossless Claw",
  description: "Lossless context management: every message kept, old history summarized into a searchable graph.",
  register(api: OpenClawPluginApi): void {
    const log = hostLogger(api);
    const transcript = hostTranscript(api);
    const keeper = keepDatabaseOpen(api);
    const told = new Set<string>();

    const readConfig = (config?: unknown): ResolvedConfig => {
      const resolved = resolveConfig(configSources(api, config));
      for (const problem of resolved.problems.filter((text) => !told.has(text))) {
        told.add(problem);
        log.warn(problem);
      }
      return resolved;
    };
    const createEngine = (config?: unknown) => {
      const resolved = readConfig(config).config;
      if (!resolved.enabled) throw new Error("lossless-claw is turned off by its configuration (enabled, LCM_ENABLED)");
      keeper.keep(resolved.databasePath);
      return createSelfOpeningEngine({ config: resolved, transcript, log });
    };

    api.registerReload({ noopPrefixes: [`plugins.entries.${ENGINE_ID}.config`] });
    api.registerContextEngine(ENGINE_ID, (context) => asHostEngine(createEngine(context?.config)));
    api.registerCommand(lcmCommand(api, transcript, readConfig));
    registerLcmCli(api, transcript, readConfig);
    api.on("session_end", async (event: { reason?: string; sessionKey?: string }, context: { agentId?: string }) => {
      if (event.reason !== "deleted" || !event.sessionKey || !readConfig().config.enabled) return;
      const engine = createEngine();
      try {
        await engine.sessionDeleted({ sessionKey: event.sessionKey, agentId: context.agentId });
      } finally {
        await engine.dispose();
      }
    });
  },
};

/** Engines live for one turn; this lease keeps their connection open between turns. */
function keepDatabaseOpen(api: OpenClawPluginApi): { keep(path: string): void } {
  const leases = new Map<string, () => void>();
  api.lifecycle.onDispose?.(() => {
    for (const release of leases.values()) release();
    leases.clear();
  });
  return {
    keep(path) {
      if (leases.has(path)) return;
      try {
        leases.set(path, leaseDatabase(path).release);
      } catch (error) {
        hostLogger(api).error(`memory is off until this is mended, messages pass through unchanged: ${errorText(error)}`);
      }
    },
  };
}

export default plugin;
