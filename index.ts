// Plugin entry: registers the engine, the worker, the tools, the command, the CLI and the session hook;
// nothing else.

import { existsSync } from "node:fs";
import { lcmCommand } from "./src/cli/chat-command.js";
import { registerLcmCli } from "./src/cli/index.js";
import type { HostFacts } from "./src/cli/report.js";
import { type LcmConfig, resolveConfig, type ResolvedConfig } from "./src/db/config.js";
import { type Lease, leaseDatabase } from "./src/db/registry.js";
import type { LcmContextEngine } from "./src/engine.js";
import { ENGINE_ID } from "./src/engine-info.js";
import { errorText, isBusy } from "./src/errors.js";
import { createBackground, createSelfOpeningEngine, createSelfOpeningRecall } from "./src/lcm.js";
import {
  agentOfDirectory,
  asHostEngine,
  configSources,
  DetachedContexts,
  hostLogger,
  hostMemoryPrompt,
  hostModel,
  hostSubagents,
  hostTranscript,
  type OpenClawPluginApi,
  registerTool,
  selectedEngine,
} from "./src/openclaw-bridge.js";
import { loadPrompts } from "./src/prompts/index.js";
import type { RecallDependencies } from "./src/recall-dependencies.js";
import { createSearch } from "./src/search/index.js";
import type { Search } from "./src/search/types.js";
import { TOOL_FACTORIES, TOOL_NAMES } from "./src/tools/index.js";
import { isWorkerRunning } from "./src/worker.js";

const plugin = {
  id: ENGINE_ID,
  name: "Lossless Claw",
  description:
    "Lossless context management: every message kept, old history summarized into a searchable graph.",
  register(api: OpenClawPluginApi): void {
    const log = hostLogger(api);
    const source = hostTranscript(api);
    const keepOpen = databaseKeeper(api);
    const readConfig = configReader(api);
    const contexts = new DetachedContexts();
    const model = hostModel(api, contexts);
    const hostFacts = (): HostFacts => ({ slot: selectedEngine(api), transcript: source });

    const createEngine = (config: LcmConfig, agentDir?: string): LcmContextEngine => {
      keepOpen(config.databasePath);
      const agentId = agentOfDirectory(agentDir);
      return createSelfOpeningEngine({
        config,
        source,
        log,
        now: Date.now,
        agentId,
        model,
        memoryPrompt: hostMemoryPrompt,
        hasWorker: isWorkerRunning,
      });
    };

    api.registerReload({ noopPrefixes: [`plugins.entries.${ENGINE_ID}.config`] });
    api.registerContextEngine(ENGINE_ID, (context) => {
      const { config } = readConfig(context?.config);
      if (!config.enabled) {
        throw new Error("lossless-claw is turned off by its configuration (enabled, LCM_ENABLED)");
      }
      return asHostEngine(createEngine(config, context?.agentDir));
    });
    api.registerService(workerService(api, readConfig, contexts));
    api.registerCommand(lcmCommand(hostFacts, readConfig));
    const search = createSearch({
      databasePath: () => readConfig().config.databasePath,
      log,
    });
    const recall = recallOf(api, search, readConfig, contexts);
    for (const name of TOOL_NAMES) {
      registerTool(api, name, (session) =>
        recall.config().enabled
          ? TOOL_FACTORIES[name](recall, { kind: "session", session })
          : undefined,
      );
    }
    registerLcmCli(api, hostFacts, readConfig, search);
    api.on("session_end", async ({ reason, sessionKey, sessionId }, { agentId }) => {
      const { config } = readConfig();
      // What is stored is hidden even while the engine is off: it may be turned on again.
      if (reason !== "deleted" || !sessionKey || !existsSync(config.databasePath)) return;
      const engine = createEngine(config);
      await engine.sessionDeleted({ sessionKey, sessionId, agentId });
      await engine.dispose();
    });
  },
};

/** The background of a gateway; embedded runs have no services and do a little after each turn. */
function workerService(
  api: OpenClawPluginApi,
  readConfig: () => ResolvedConfig,
  contexts: DetachedContexts,
): Parameters<OpenClawPluginApi["registerService"]>[0] {
  const background = createBackground({
    // Nothing is spent on a memory that is not in use, and none is made before its first turn.
    config: () => {
      const { config } = readConfig();
      const isUsed = config.enabled && selectedEngine(api) === ENGINE_ID;
      return isUsed && existsSync(config.databasePath) ? config : undefined;
    },
    model: hostModel(api, contexts)(),
    log: hostLogger(api),
    now: Date.now,
  });
  return {
    id: `${ENGINE_ID}-worker`,
    start: () => {
      contexts.remember();
      background.start();
    },
    stop: () => background.stop(),
  };
}

/** What the tools stand on. They run in another module instance than the engine, over the same file. */
function recallOf(
  api: OpenClawPluginApi,
  search: Search,
  readConfig: () => ResolvedConfig,
  contexts: DetachedContexts,
): RecallDependencies {
  const recall = createSelfOpeningRecall({
    search,
    config: () => readConfig().config,
    now: Date.now,
    log: hostLogger(api),
    model: () => hostModel(api, contexts)(),
    subagents: hostSubagents(api),
  });
  api.lifecycle.onDispose?.(() => {
    recall.release();
    void search.close();
  });
  return recall;
}

/** Reads the configuration as it is now, and says each thing that is wrong with it once. */
function configReader(api: OpenClawPluginApi): (config?: unknown) => ResolvedConfig {
  const log = hostLogger(api);
  const said = new Set<string>();
  return (config) => {
    const resolved = resolveConfig(configSources(api, config));
    const prompts = loadPrompts(resolved.config.promptDir);
    const problems = [...resolved.problems, ...prompts.problems];
    for (const problem of problems) {
      if (said.has(problem)) continue;
      said.add(problem);
      log.warn(problem);
    }
    return { config: resolved.config, problems };
  };
}

/** Engines live for one turn; this lease keeps their connection open between turns. */
function databaseKeeper(api: OpenClawPluginApi): (path: string) => void {
  let kept: Lease | undefined;
  api.lifecycle.onDispose?.(() => {
    kept?.release();
    kept = undefined;
  });
  return (path) => {
    try {
      const lease = leaseDatabase(path, hostLogger(api));
      kept?.release();
      kept = lease;
    } catch (error) {
      // An engine waits for a lock without holding up the host.
      if (isBusy(error)) return;
      hostLogger(api).error(
        `memory is off until this is mended, messages pass through unchanged: ${errorText(error)}`,
      );
    }
  };
}

export default plugin;
