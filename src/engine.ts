// The context engine: each method a few lines over the parts. The host makes one object per turn.
//
// No method throws for a reason the engine can handle. The one exception is `commitTurn` with a broken
// store: failing keeps the turn in the host's outbox, an answer would lose it.

import { retryWhileBusy } from "./db/connection.js";
import type { LcmConfig } from "./db/config.js";
import { errorText, LcmError } from "./errors.js";
import {
  type AssembleCall,
  type BootstrapCall,
  type CommitTurnCall,
  type MaintainCall,
  namesATurn,
  type SessionCall,
  type SpawnCall,
} from "./host-calls.js";
import { encodeMessage, isAgentMessage } from "./message-codec.js";
import { classifySession, sessionRef } from "./session-policy.js";
import type { Stores } from "./store/index.js";
import { syncTranscript, type SyncReport } from "./transcript-sync/index.js";
import { commitTurn } from "./turn-commit.js";
import type { AgentMessage, Clock, Logger, SessionRef, TranscriptSource } from "./types.js";
import { VERSION } from "./version.js";

export interface EngineDependencies {
  /** Reaches the stores; throws an `LcmError` while they can not be reached. */
  readonly stores: () => Stores;
  readonly config: LcmConfig;
  readonly source: TranscriptSource;
  readonly log: Logger;
  readonly now: Clock;
  /** Releases what `stores` holds. */
  readonly release: () => void;
}

export const ENGINE_ID = "lossless-claw";

/** Longer than any sane lock; a commit that gives up earlier would cost the next turn. */
const COMMIT_BUSY_MS = 15_000;
/** Bookkeeping on the reply path must not be felt. */
const REPLY_PATH_BUSY_MS = 300;

export class LcmContextEngine {
  readonly info = {
    id: ENGINE_ID,
    name: "Lossless Context Management",
    version: VERSION,
    ownsCompaction: true,
    turnMaintenanceMode: "background" as const,
    transcriptSemantics: {
      currentTurnFence: "before-current-turn-entry-v1" as const,
      turnAdvancementIdempotency: "atomic-idempotent-v1" as const,
    },
    acceptedHostParams: ["sessionKey", "sessionTarget", "runtimeSettings", "runtimeContext", "availableTools", "prompt", "model", "abortSignal"],
    hostRequirements: {
      "agent-run": {
        requiredCapabilities: ["bootstrap" as const, "assemble-before-prompt" as const],
        unsupportedMessage: "lossless-claw needs a host that bootstraps sessions and lets the engine assemble the prompt.",
      },
    },
  };

  readonly #deps: EngineDependencies;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #turnsStarted = new Set<string>();

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
  }

  async bootstrap(call: BootstrapCall): Promise<{ bootstrapped: boolean; importedMessages?: number; reason?: string }> {
    const session = this.#session(call);
    if (!this.#keeps(session)) return { bootstrapped: false, reason: "this session is not stored" };
    const report = await this.#sync(session, "bootstrap");
    if (report.outcome !== "current") return { bootstrapped: false, reason: report.reason ?? report.outcome };
    return { bootstrapped: true, importedMessages: report.added };
  }

  async maintain(call: MaintainCall): Promise<{ changed: boolean; bytesFreed: number; rewrittenEntries: number; reason?: string }> {
    const session = this.#session(call);
    if (this.#keeps(session) && !call.abortSignal?.aborted) await this.#sync(session, "maintenance");
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  }

  async assemble(call: AssembleCall): Promise<{ messages: AgentMessage[]; estimatedTokens: number }> {
    const messages = Array.isArray(call.messages) ? (call.messages as AgentMessage[]) : [];
    const session = this.#session(call);
    if (this.#keeps(session)) await this.#recordTurnStart(session, call.tokenBudget);
    return { messages, estimatedTokens: estimate(messages) };
  }

  async commitTurn(call: CommitTurnCall): Promise<{ status: "committed" | "duplicate" }> {
    const session = this.#session({
      ...call,
      sessionId: call.admission?.sessionId ?? call.sessionId,
      sessionTarget: { agentId: call.sessionTarget?.agentId ?? call.admission?.agentId },
    });
    if (!this.#keeps(session)) return { status: "committed" };
    if (!namesATurn(call)) return this.#acknowledgeUnnamed(session);
    return this.#track(this.#commit(session, call));
  }

  async #commit(session: SessionRef, call: CommitTurnCall): Promise<{ status: "committed" | "duplicate" }> {
    const stores = this.#deps.stores();
    const outcome = await retryWhileBusy(
      () =>
        commitTurn(
          stores,
          {
            advancementKey: call.advancementKey,
            session,
            generation: call.admission.generation ?? null,
            first: { entryId: call.admission.entryId, position: call.admission.activeMessagePosition },
            last: { entryId: call.terminal.entryId, position: call.terminal.activeMessagePosition },
            messages: Array.isArray(call.messages) ? call.messages : [],
            isHeartbeat: call.isHeartbeat === true,
          },
          this.#deps.config,
          this.#nowIso(),
        ),
      COMMIT_BUSY_MS,
    );
    if (outcome.status !== "deferred") return { status: outcome.status };
    this.#deps.log.warn(
      `the turn ${call.advancementKey} of ${session.sessionKey} could not be read (${outcome.reason}); it is filled in from the transcript before the next turn`,
    );
    return { status: "committed" };
  }

  /** Nothing names the turn, so no retry could store it; the transcript supplies it. */
  #acknowledgeUnnamed(session: SessionRef): { status: "committed" } {
    const at = this.#nowIso();
    const detail = "a commit named no turn";
    const stores = this.#deps.stores();
    stores.events.record(
      stores.conversations.find(session)?.id ?? null,
      { kind: "malformed", happenedAt: at, messageCount: 0, detail },
      at,
    );
    this.#deps.log.warn(`${detail} of ${session.sessionKey}; it is filled in from the transcript before the next turn`);
    return { status: "committed" };
  }

  /** The transcript is the truth, so an offered message only says that there is something to read. */
  async ingest(call: SessionCall & { readonly message: unknown }): Promise<{ ingested: boolean }> {
    return { ingested: (await this.ingestBatch({ ...call, messages: [call.message] })).ingestedCount > 0 };
  }

  async ingestBatch(call: SessionCall & { readonly messages: readonly unknown[] }): Promise<{ ingestedCount: number }> {
    const session = this.#session(call);
    if (!this.#keeps(session) || !call.messages.some(isAgentMessage)) return { ingestedCount: 0 };
    const report = await this.#sync(session, "ingest");
    return { ingestedCount: report.added };
  }

  async compact(_call: SessionCall): Promise<{ ok: boolean; compacted: boolean; reason: string }> {
    return { ok: true, compacted: false, reason: "nothing to do: this release passes messages through unchanged" };
  }

  async prepareSubagentSpawn(call: SpawnCall): Promise<{ rollback: () => void } | undefined> {
    const child = sessionRef({ sessionId: "", sessionKey: call.childSessionKey });
    if (!this.#keeps(child)) return undefined;
    return this.#guarded("sub-agent spawn", undefined, () => {
      const { events } = this.#deps.stores();
      events.linkSubagent(call.childSessionKey, call.parentSessionKey, call.contextMode ?? null, this.#nowIso());
      return { rollback: () => this.#guarded("sub-agent rollback", undefined, () => events.unlinkSubagent(call.childSessionKey)) };
    });
  }

  async onSubagentEnded(call: { readonly childSessionKey: string; readonly reason: string }): Promise<void> {
    this.#guarded("sub-agent end", undefined, () =>
      this.#deps.stores().events.endSubagent(call.childSessionKey, call.reason, this.#nowIso()),
    );
  }

  /** The host deleted a session: its conversation is kept and hidden from every tool. */
  async sessionDeleted(session: { readonly agentId?: string | undefined; readonly sessionKey: string }): Promise<void> {
    const ref = sessionRef({ sessionId: "", ...session });
    this.#guarded("session deletion", undefined, () => this.#deps.stores().conversations.hide(ref, this.#nowIso()));
  }

  async dispose(): Promise<void> {
    await Promise.allSettled(this.#pending);
    this.#deps.release();
  }

  async #sync(session: SessionRef, cause: string): Promise<SyncReport> {
    try {
      const { source, config, now } = this.#deps;
      return await this.#track(syncTranscript({ stores: this.#deps.stores(), source, policy: config, now }, session));
    } catch (error) {
      const reason = errorText(error);
      this.#deps.log.error(`${cause} of ${session.sessionKey} could not read the transcript into the store: ${reason}`);
      return { outcome: "unavailable", added: 0, reason };
    }
  }

  /** Once per turn: the later calls of a turn's tool loop tell nothing new. */
  async #recordTurnStart(session: SessionRef, budget: number | undefined): Promise<void> {
    if (this.#turnsStarted.has(session.sessionKey)) return;
    this.#turnsStarted.add(session.sessionKey);
    const at = this.#nowIso();
    try {
      const stores = this.#deps.stores();
      await retryWhileBusy(
        () =>
          stores.db.transaction(() => {
            const conversation = stores.conversations.findOrCreate(session, at);
            stores.events.recordTurnStart(conversation.id, session.sessionId, budget ?? null, at);
            stores.conversations.markActive(conversation.id, at);
            if (budget !== undefined && budget > 1) stores.conversations.setPromptBudget(conversation.id, Math.floor(budget));
          }),
        REPLY_PATH_BUSY_MS,
      );
    } catch (error) {
      this.#deps.log.error(`messages pass through unchanged; the store can not be reached: ${errorText(error)}`);
    }
  }

  #session(call: SessionCall): SessionRef {
    return sessionRef({ sessionId: call.sessionId, sessionKey: call.sessionKey, agentId: call.sessionTarget?.agentId });
  }

  #keeps(session: SessionRef): boolean {
    return classifySession(session.sessionKey, this.#deps.config) === "kept";
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work);
    const done = () => this.#pending.delete(work);
    work.then(done, done);
    return work;
  }

  #guarded<T, F>(what: string, fallback: F, work: () => T): T | F {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof LcmError)) throw error;
      this.#deps.log.error(`${what}: ${error.message}`);
      return fallback;
    }
  }

  #nowIso(): string {
    return new Date(this.#deps.now()).toISOString();
  }
}

function estimate(messages: readonly AgentMessage[]): number {
  return messages.reduce((sum, message) => sum + (isAgentMessage(message) ? encodeMessage(message, "").tokens : 0), 0);
}
