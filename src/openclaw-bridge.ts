// The only module that knows OpenClaw. A narrow, typed facade of what the host offers this product.

import { homedir } from "node:os";
import type { OpenClawConfig, OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";
import type { ConfigSources } from "./db/config.js";
import type { LcmContextEngine } from "./engine.js";
import { errorText } from "./errors.js";
import type {
  Logger,
  PageLimits,
  RawPage,
  SessionEntry,
  SessionRef,
  TranscriptSource,
  VisiblePage,
} from "./types.js";

export type { OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";

type HostEngine = Awaited<ReturnType<Parameters<OpenClawPluginApi["registerContextEngine"]>[1]>>;

/**
 * Our engine as the host's type. Only `assemble` is taken on trust: its messages are typed
 * structurally here, went in as the host's own and come out unchanged.
 */
export function asHostEngine(engine: LcmContextEngine): HostEngine {
  const fitting: Omit<HostEngine, "assemble"> = engine;
  return fitting as HostEngine;
}

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

/** The agent that a directory of the host's usual layout, `agents/<agent>/agent`, belongs to. */
export function agentOfDirectory(agentDir: string | undefined): string | undefined {
  return /[/\\]agents[/\\]([^/\\]+)[/\\]agent[/\\]?$/.exec(agentDir ?? "")?.[1];
}

export function hostLogger(api: OpenClawPluginApi): Logger {
  const say = (level: "info" | "warn" | "error") => (text: string) =>
    api.logger[level](`[lcm] ${text}`);
  return { info: say("info"), warn: say("warn"), error: say("error") };
}

// The SDK ships this module without types.
interface TranscriptRuntime {
  readSessionTranscriptVisibleMessageDelta(params: Record<string, unknown>): Promise<VisiblePage>;
  readSessionTranscriptRawDelta(params: Record<string, unknown>): Promise<RawPage>;
}

function loadTranscriptRuntime(): Promise<TranscriptRuntime> {
  // A variable, because there is nothing for the compiler to resolve.
  const name = "openclaw/plugin-sdk/session-transcript-runtime";
  return import(name) as Promise<TranscriptRuntime>;
}

/** The host's transcript, with its refusals turned into answers. */
export function hostTranscript(api: OpenClawPluginApi): TranscriptSource {
  return {
    visible: (session, limits) =>
      answered(async () => {
        const { readSessionTranscriptVisibleMessageDelta: read } = await loadTranscriptRuntime();
        return read({ ...target(session, limits), maxMessages: limits.maxItems });
      }),
    raw: (session, limits) =>
      answered(async () => {
        const { readSessionTranscriptRawDelta: read } = await loadTranscriptRuntime();
        return read({ ...target(session, limits), maxEvents: limits.maxItems });
      }),
    entry: (session) => sessionEntry(api, session),
    keyOf: (session) => sessionKey(api, session),
  };
}

function target(session: SessionRef, limits: PageLimits): Record<string, unknown> {
  const cursor = limits.cursor === undefined ? {} : { cursor: limits.cursor };
  return { ...session, maxBytes: limits.maxBytes, ...cursor };
}

async function answered<Page>(
  read: () => Promise<Page>,
): Promise<Page | { kind: "unavailable"; reason: string }> {
  try {
    return await read();
  } catch (error) {
    // The fence of a turn in progress and a projection being rebuilt are passing states.
    return { kind: "unavailable", reason: errorText(error) };
  }
}

function sessionEntry(
  api: OpenClawPluginApi,
  { agentId, sessionKey }: Pick<SessionRef, "agentId" | "sessionKey">,
): SessionEntry {
  try {
    const entry = api.runtime.agent.session.getSessionEntry({ agentId, sessionKey });
    if (!entry) return { kind: "gone" };
    const { sessionId, previousSessionId: previousId, forkSource, createdAt } = entry;
    const forkedFrom = forkSource?.sessionKey;
    return { kind: "found", sessionId, previousId, forkedFrom, createdAt };
  } catch (error) {
    // Messages come from the transcript; only links to other sessions are missed.
    hostLogger(api).warn(`${sessionKey}: its session entry is unknown: ${errorText(error)}`);
    return { kind: "unknown" };
  }
}

async function sessionKey(
  api: OpenClawPluginApi,
  { agentId, sessionId }: Pick<SessionRef, "agentId" | "sessionId">,
): Promise<string | undefined> {
  try {
    const { resolveTranscriptSessionKeyBySessionId: resolve } =
      await import("openclaw/plugin-sdk/session-store-runtime");
    return resolve({ agentId, sessionId });
  } catch (error) {
    // A conversation of release 0.1.x stays an archive; nothing else asks.
    hostLogger(api).warn(`${sessionId}: its session key is unknown: ${errorText(error)}`);
    return undefined;
  }
}
