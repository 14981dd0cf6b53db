// The only module that knows OpenClaw. A narrow, typed facade of what the host offers this product.

import { homedir } from "node:os";
import type { OpenClawConfig, OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";
import type { ConfigSources } from "./db/config.js";
import { errorText } from "./errors.js";
import type { LcmContextEngine } from "./engine.js";
import type { Logger, PageLimits, RawPage, SessionRef, TranscriptSource, VisiblePage } from "./types.js";

export type { OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";

type HostEngine = Awaited<ReturnType<Parameters<OpenClawPluginApi["registerContextEngine"]>[1]>>;

/** Our engine reads less of each call than the host sends, and its own structural message type. */
export function asHostEngine(engine: LcmContextEngine): HostEngine {
  return engine satisfies EngineShape as unknown as HostEngine;
}

type EngineShape = { [Method in "bootstrap" | "maintain" | "assemble" | "commitTurn" | "ingest" | "ingestBatch" | "compact" | "prepareSubagentSpawn" | "onSubagentEnded" | "dispose"]: unknown } & {
  info: HostEngine["info"];
};

/** The layers the configuration is resolved from, read live: the host keeps old plugin objects. */
export function configSources(api: OpenClawPluginApi, config?: unknown): ConfigSources {
  const current = (config ?? api.runtime.config.current()) as OpenClawConfig;
  return {
    env: process.env,
    pluginConfig: current.plugins?.entries?.[api.id]?.config,
    stateDir: api.runtime.state.resolveStateDir(),
    homeDir: homedir(),
  };
}

/** The engine the operator chose for the slot, if any. */
export function selectedEngine(api: OpenClawPluginApi): string | undefined {
  return (api.runtime.config.current() as OpenClawConfig).plugins?.slots?.contextEngine;
}

export function hostLogger(api: OpenClawPluginApi): Logger {
  const say = (level: "info" | "warn" | "error") => (text: string) => api.logger[level](`[lcm] ${text}`);
  return { info: say("info"), warn: say("warn"), error: say("error") };
}

// The SDK ships this module without types.
interface TranscriptRuntime {
  readSessionTranscriptVisibleMessageDelta(params: Record<string, unknown>): Promise<VisiblePage>;
  readSessionTranscriptRawDelta(params: Record<string, unknown>): Promise<RawPage>;
}

let transcriptRuntime: Promise<TranscriptRuntime> | undefined;

function loadTranscriptRuntime(): Promise<TranscriptRuntime> {
  const name = "openclaw/plugin-sdk/session-transcript-runtime";
  transcriptRuntime ??= import(name) as Promise<TranscriptRuntime>;
  return transcriptRuntime;
}

/** The host's transcript, with its refusals turned into answers. */
export function hostTranscript(api: OpenClawPluginApi): TranscriptSource {
  return {
    visible: async (session, limits) =>
      answered(async () => {
        const runtime = await loadTranscriptRuntime();
        return runtime.readSessionTranscriptVisibleMessageDelta({ ...target(session, limits), maxMessages: limits.maxItems });
      }),
    raw: async (session, limits) =>
      answered(async () => {
        const runtime = await loadTranscriptRuntime();
        return runtime.readSessionTranscriptRawDelta({ ...target(session, limits), maxEvents: limits.maxItems });
      }),
    forkedFrom: ({ agentId, sessionKey }) => forkSource(api.runtime.agent.session.getSessionEntry({ agentId, sessionKey })),
  };
}

function target(session: SessionRef, limits: PageLimits): Record<string, unknown> {
  return { ...session, maxBytes: limits.maxBytes, ...(limits.cursor === undefined ? {} : { cursor: limits.cursor }) };
}

async function answered<Page>(read: () => Promise<Page>): Promise<Page | { kind: "unavailable"; reason: string }> {
  try {
    return await read();
  } catch (error) {
    // The fence of a turn in progress and a projection being rebuilt are passing states.
    return { kind: "unavailable", reason: errorText(error) };
  }
}

function forkSource(entry: unknown): string | undefined {
  return (entry as { forkSource?: { sessionKey?: string } } | undefined)?.forkSource?.sessionKey;
}
