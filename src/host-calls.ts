// The calls a host makes to a context engine, as far as this product reads them. Structural and
// host-free: the bridge checks that they fit the real host's types.

import type { AcceptedTurn, TurnAnchor } from "./turn-commit.js";
import type { SessionRef } from "./types.js";

export interface SessionCall {
  readonly sessionId: string;
  readonly sessionKey?: string | undefined;
  readonly sessionTarget?: { readonly agentId?: string | undefined } | undefined;
}

/** What the host tells about the run. Every part may be missing. */
export interface RuntimeContext {
  readonly provider?: unknown;
  /** The model's name: `modelId` after a commit, `model` elsewhere. */
  readonly model?: unknown;
  readonly modelId?: unknown;
  readonly tokenBudget?: unknown;
  readonly modelContextWindow?: unknown;
  /** Why a compaction is asked for, and which try it is. */
  readonly trigger?: unknown;
  readonly attempt?: unknown;
  readonly llm?: unknown;
}

export interface RuntimeSettings {
  readonly model?: { readonly provider?: unknown; readonly resolved?: unknown } | undefined;
  readonly limits?:
    | { readonly promptTokenBudget?: unknown; readonly maxOutputTokens?: unknown }
    | undefined;
}

export interface BootstrapCall extends SessionCall {
  readonly runtimeContext?: RuntimeContext | undefined;
}

export interface MaintainCall extends SessionCall {
  readonly abortSignal?: AbortSignal | undefined;
  /** Given after a bootstrap or a compaction, not after a commit. */
  readonly runtimeSettings?: unknown;
  readonly runtimeContext?: RuntimeContext | undefined;
}

export interface AssembleCall extends SessionCall {
  readonly messages: readonly unknown[];
  readonly tokenBudget?: number | undefined;
  readonly prompt?: string | undefined;
  readonly model?: string | undefined;
  readonly availableTools?: ReadonlySet<string> | undefined;
  readonly runtimeSettings?: RuntimeSettings | undefined;
}

export interface CompactCall extends SessionCall {
  readonly tokenBudget?: number | undefined;
  readonly currentTokenCount?: number | undefined;
  readonly customInstructions?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly runtimeContext?: RuntimeContext | undefined;
}

export interface IngestCall extends SessionCall {
  readonly message: unknown;
}

export interface IngestBatchCall extends SessionCall {
  readonly messages: readonly unknown[];
}

export interface TranscriptAnchor {
  readonly agentId?: string;
  readonly sessionId?: string;
  readonly generation?: string;
  readonly entryId: string;
  readonly activeMessagePosition: number;
}

export interface CommitTurnCall extends SessionCall {
  readonly advancementKey: string;
  readonly admission: TranscriptAnchor;
  readonly terminal: TranscriptAnchor;
  readonly messages: readonly unknown[];
  readonly isHeartbeat?: boolean | undefined;
  readonly runtimeContext?: RuntimeContext | undefined;
}

export interface SpawnCall {
  readonly parentSessionKey: string;
  readonly childSessionKey: string;
  readonly contextMode?: string | undefined;
}

export interface SubagentEndCall {
  readonly childSessionKey: string;
  readonly reason: string;
}

export interface DeletedCall {
  readonly sessionKey: string;
  readonly sessionId?: string | undefined;
  readonly agentId?: string | undefined;
}

/** A number of tokens that a host told, if it is one. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0
    ? Math.floor(value)
    : undefined;
}

/** The turn that a commit names, or undefined when it does not name one that could be found again. */
export function acceptedTurn(call: CommitTurnCall, session: SessionRef): AcceptedTurn | undefined {
  const first = readAnchor(call.admission);
  const last = readAnchor(call.terminal);
  if (typeof call.advancementKey !== "string" || call.advancementKey === "") return undefined;
  if (!first || !last || last.position < first.position) return undefined;
  const { generation } = call.admission;
  return {
    advancementKey: call.advancementKey,
    session,
    generation: typeof generation === "string" ? generation : null,
    first,
    last,
    messages: Array.isArray(call.messages) ? call.messages : [],
    isHeartbeat: call.isHeartbeat === true,
    contextWindow: tokenCount(call.runtimeContext?.modelContextWindow) ?? null,
  };
}

function readAnchor(anchor: Partial<TranscriptAnchor> | undefined): TurnAnchor | undefined {
  const entryId = anchor?.entryId;
  const position = anchor?.activeMessagePosition;
  if (typeof entryId !== "string" || entryId === "") return undefined;
  if (position === undefined || !Number.isSafeInteger(position) || position < 0) return undefined;
  return { entryId, position };
}
