// The only module that knows OpenClaw. A narrow, typed facade of what the host offers this product.

import { AsyncLocalStorage } from "node:async_hooks";
import { homedir } from "node:os";
import type { OpenClawConfig, OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";
import type { ConfigSources } from "./db/config.js";
import type { LcmContextEngine } from "./engine.js";
import { errorText, LcmError } from "./errors.js";
import type { AssembleCall } from "./host-calls.js";
import { isAgentMessage, plainText } from "./message-codec.js";
import { sessionRef } from "./session-policy.js";
import type { Tool } from "./tools/common.js";
import type {
  Logger,
  Model,
  ModelRequest,
  PageLimits,
  RawPage,
  SessionEntry,
  SessionRef,
  SubagentHost,
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

type Complete = OpenClawPluginApi["runtime"]["llm"]["complete"];
type AsyncContext = <T>(work: () => T) => T;

/**
 * Async contexts from which the host lets a plugin ask a model outside of any turn. The host ties work
 * to the context it was begun in, and which one is alive depends on what was reloaded since; none
 * outlives everything, so they are tried in turn.
 */
export class DetachedContexts {
  readonly #contexts: AsyncContext[] = [AsyncLocalStorage.snapshot()];

  /** Adds the caller's context; call it where no turn is in progress. */
  remember(): void {
    this.#contexts.push(AsyncLocalStorage.snapshot());
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    let refusal: unknown;
    for (const context of [...this.#contexts, ...hostContext()]) {
      try {
        return await context(work);
      } catch (error) {
        if (!/inventory has retired|work scope is closed/i.test(errorText(error))) throw error;
        refusal = error;
      }
    }
    throw refusal;
  }
}

/** The host's own way out of its bookkeeping: private, so it comes last and may be missing. */
function hostContext(): AsyncContext[] {
  const holder = globalThis as { [key: symbol]: unknown };
  const resource = holder[Symbol.for("openclaw.detachedAsyncContext")];
  const isUsable =
    resource !== null && typeof resource === "object" && "runInAsyncScope" in resource;
  if (!isUsable || typeof resource.runInAsyncScope !== "function") return [];
  return [(work) => (resource.runInAsyncScope as (work: unknown) => never)(work)];
}

/** The model that a host call brings along, or the plugin's own way to one. */
export function hostModel(api: OpenClawPluginApi, contexts: DetachedContexts) {
  return (runtimeContext?: unknown): Model => {
    const llm = (runtimeContext as { llm?: { complete?: unknown } } | undefined)?.llm;
    if (typeof llm?.complete === "function") return asModel(llm.complete as Complete);
    return asModel((params) => contexts.run(() => api.runtime.llm.complete(params)));
  };
}

function asModel(complete: Complete): Model {
  return async (request) => {
    try {
      const { text, provider, model, usage } = await complete(completion(request));
      const inputTokens = sum(usage.inputTokens, usage.cacheReadTokens, usage.cacheWriteTokens);
      const { outputTokens, costUsd } = usage;
      return { text, model: `${provider}/${model}`, inputTokens, outputTokens, costUsd };
    } catch (error) {
      throw isRefusal(error) ? refused(request, error) : error;
    }
  };
}

function completion(request: ModelRequest) {
  const { prompt, maxTokens, temperature, model, signal, purpose = "summary" } = request;
  return {
    messages: [{ role: "user" as const, content: prompt }],
    maxTokens,
    temperature,
    reasoning: "off" as const,
    purpose: `lossless-claw.${purpose}`,
    signal,
    ...(model === "" ? {} : { model }),
  };
}

function sum(...counts: (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}

function isRefusal(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "LLM_COMPLETION_NOT_AUTHORIZED"
  );
}

function refused({ model }: ModelRequest, error: unknown): LcmError {
  const text = `OpenClaw does not let lossless-claw use ${model === "" ? "a model" : `"${model}"`} (${errorText(error)}). Set plugins.entries.lossless-claw.llm.allowModelOverride to true, name the model in its allowedModels if there is such a list, or unset summaryModel (LCM_SUMMARY_MODEL).`;
  return new LcmError("MODEL_REFUSED", text, { cause: error });
}

type SubagentRuntime = OpenClawPluginApi["runtime"]["subagent"];

/** Sub-agents of the host. They exist under a gateway only: elsewhere `run` rejects and says so. */
export function hostSubagents(api: OpenClawPluginApi): SubagentHost {
  const runtime = (): SubagentRuntime => api.runtime.subagent;
  return {
    run: async ({ sessionKey, message, systemPrompt, tools }) =>
      runtime().run({
        sessionKey,
        message,
        extraSystemPrompt: systemPrompt,
        promptMode: "minimal",
        toolsAlsoAllow: [...tools],
        deliver: false,
        lane: "subagent",
      }),
    wait: async (runId, timeoutMs) => {
      const { status, error, terminalReply } = await runtime().waitForRun({ runId, timeoutMs });
      const reply = (terminalReply as { text?: unknown } | undefined)?.text;
      return { status, error, reply: typeof reply === "string" ? reply : undefined };
    },
    lastReply: async (sessionKey) => {
      const { messages } = await runtime().getSessionMessages({ sessionKey, limit: 50 });
      const reply = messages
        .filter(isAgentMessage)
        .findLast((message) => message.role === "assistant" && plainText(message) !== "");
      return reply && plainText(reply);
    },
    remove: async (sessionKey) => runtime().deleteSession({ sessionKey, deleteTranscript: true }),
  };
}

/** A sub-agent's run, with a little time to clean up behind it. */
const LONGEST_TOOL_MS = 150_000;

/** Registers a tool, made anew for each run of a session; not offered where none is made. */
export function registerTool(
  api: OpenClawPluginApi,
  name: string,
  make: (session: SessionRef) => Tool | undefined,
): void {
  api.registerTool(
    ({ agentId, sessionKey, sessionId }) => {
      const session = sessionRef({ sessionKey, sessionId, agentIds: [agentId] });
      const tool = session && make(session);
      return tool ? asHostTool(tool) : null;
    },
    { name },
  );
}

type HostTool = Extract<Parameters<OpenClawPluginApi["registerTool"]>[0], { execute: unknown }>;

/** Only the schema is taken on trust: the host's own TypeBox is another release of the same. */
function asHostTool({ parameters, ...tool }: Tool): HostTool {
  return {
    ...tool,
    parameters: parameters as unknown as HostTool["parameters"],
    // Hidden behind a search of tools, an agent would not find what it forgot.
    catalogMode: "direct-only",
    getExecutionTimeoutMs: () => LONGEST_TOOL_MS,
  };
}

/** What the active memory plugin wants the model to be told; with our engine the host leaves it to us. */
export async function hostMemoryPrompt(call: AssembleCall): Promise<string | undefined> {
  const { buildMemorySystemPromptAddition } = await import("openclaw/plugin-sdk/core");
  const { availableTools, sessionKey } = call;
  return buildMemorySystemPromptAddition({
    availableTools: new Set(availableTools),
    ...(sessionKey === undefined ? {} : { agentSessionKey: sessionKey }),
  });
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
