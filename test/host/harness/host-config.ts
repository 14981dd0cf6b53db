import { join } from "node:path";
import { deepMerge, type JsonRecord } from "./loose-json.js";

export interface HostConfigOptions {
  readonly root: string;
  readonly port: number;
  readonly token: string;
  readonly modelBaseUrl: string;
  readonly contextWindow: number;
  readonly pluginPath?: string;
  readonly pluginConfig?: JsonRecord;
  /** Engine id, equal to the plugin id; `null` leaves the host on its built-in engine. */
  readonly slot: string | null;
  readonly pluginId: string;
  readonly allowPlugins: readonly string[];
  readonly extraConfig?: JsonRecord;
}

function model(id: string, contextWindow: number): JsonRecord {
  return {
    id,
    name: id,
    reasoning: false,
    input: ["text", "image"],
    // Cheap enough that hundreds of turns stay below the default limit of a day.
    cost: { input: 0.3, output: 1.5, cacheRead: 0, cacheWrite: 0 },
    contextWindow,
    maxTokens: 2048,
  };
}

/** An entry for `models.providers` that speaks the Anthropic wire format; pass `modelServer.origin`. */
export function anthropicProvider(
  origin: string,
  modelId: string,
  contextWindow = 128_000,
): JsonRecord {
  return {
    baseUrl: origin,
    apiKey: "sk-fake",
    api: "anthropic-messages",
    models: [model(modelId, contextWindow)],
  };
}

function pluginsConfig(options: HostConfigOptions): JsonRecord {
  const { pluginPath, pluginId } = options;
  // The exclusive allowlist is what keeps boots fast: no bundled plugin is loaded.
  const allow = [...new Set([pluginId, ...options.allowPlugins])];
  // Slot and entry of a plugin that is not there yet would make the config invalid;
  // a test that installs the plugin by command gets both written by the host.
  if (pluginPath === undefined) return { allow };
  return {
    allow,
    load: { paths: [pluginPath] },
    slots: { memory: "none", ...(options.slot === null ? {} : { contextEngine: options.slot }) },
    entries: {
      [pluginId]: {
        enabled: true,
        config: options.pluginConfig ?? {},
        hooks: { allowConversationAccess: true },
        llm: {
          allowModelOverride: true,
          allowedModels: ["fake/fake-1", "fake/fake-2"],
          allowAgentIdOverride: true,
        },
        subagent: { allowModelOverride: true },
      },
    },
  };
}

export function buildHostConfig(options: HostConfigOptions): JsonRecord {
  const config: JsonRecord = {
    gateway: {
      mode: "local",
      bind: "loopback",
      port: options.port,
      auth: { mode: "token", token: options.token },
      http: { endpoints: { chatCompletions: { enabled: true } } },
      controlUi: { enabled: false },
    },
    // The default log path is shared by every host on the machine.
    logging: { file: join(options.root, "openclaw.log"), level: "info" },
    update: { checkOnStart: false },
    browser: { enabled: false },
    models: {
      mode: "replace",
      providers: {
        fake: {
          baseUrl: options.modelBaseUrl,
          apiKey: "sk-fake",
          api: "openai-completions",
          models: [model("fake-1", options.contextWindow), model("fake-2", 32_000)],
        },
      },
    },
    agents: {
      defaults: {
        workspace: join(options.root, "workspace"),
        model: { primary: "fake/fake-1" },
        skipBootstrap: true,
        // Its extra model call before compactions would disturb scripted replies.
        compaction: { memoryFlush: { enabled: false } },
      },
    },
    plugins: pluginsConfig(options),
  };
  return deepMerge(config, options.extraConfig ?? {});
}
