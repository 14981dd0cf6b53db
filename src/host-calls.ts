// The calls a host makes to a context engine, as far as this product reads them. Structural and
// host-free: the bridge checks that they fit the real host's types.

export interface SessionCall {
  readonly sessionId: string;
  readonly sessionKey?: string | undefined;
  readonly sessionTarget?: { readonly agentId?: string | undefined } | undefined;
}

export interface BootstrapCall extends SessionCall {
  readonly runtimeContext?: { readonly tokenBudget?: number | undefined } | undefined;
}

export interface MaintainCall extends SessionCall {
  readonly abortSignal?: AbortSignal | undefined;
}

export interface AssembleCall extends SessionCall {
  readonly messages: readonly unknown[];
  readonly tokenBudget?: number | undefined;
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
  readonly runtimeContext?: { readonly modelContextWindow?: unknown } | undefined;
}

export interface SpawnCall {
  readonly parentSessionKey: string;
  readonly childSessionKey: string;
  readonly contextMode?: string | undefined;
}

/** True when a commit names the turn well enough to find it in the transcript. */
export function namesATurn(call: CommitTurnCall): boolean {
  return (
    typeof call.advancementKey === "string" && call.advancementKey !== "" && isAnchor(call.admission) && isAnchor(call.terminal)
  );
}

function isAnchor(value: unknown): value is TranscriptAnchor {
  return (
    typeof value === "object" && value !== null &&
    "entryId" in value && typeof value.entryId === "string" &&
    "activeMessagePosition" in value && Number.isSafeInteger(value.activeMessagePosition)
  );
}
