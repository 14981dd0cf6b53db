// The context engine: each method a few lines over the parts. The host makes one object per turn.
//
// No method throws for a reason the engine can handle. The one exception is `commitTurn` with a broken
// store: failing keeps the turn in the host's outbox, an answer would lose it.

import { retryWhileBusy } from "./db/connection.js";
import type { LcmConfig } from "./db/config.js";
import { errorText } from "./errors.js";
import {
  acceptedTurn,
  type AssembleCall,
  type CommitTurnCall,
  type DeletedCall,
  type IngestBatchCall,
  type IngestCall,
  type MaintainCall,
  type SessionCall,
  type SpawnCall,
  type SubagentEndCall,
} from "./host-calls.js";
import { meetSession } from "./meet-session.js";
import { roughTokens } from "./message-codec.js";
import { beginSession } from "./open-session.js";
import { classifySession, sessionRef } from "./session-policy.js";
import type { Stores } from "./store/index.js";
import {
  type SyncLimits,
  type SyncPurpose,
  type SyncReport,
  syncTranscript,
} from "./transcript-sync/index.js";
import { type AcceptedTurn, commitTurn } from "./turn-commit.js";
import type { AgentMessage, Clock, Logger, SessionRef, TranscriptSource } from "./types.js";
import { VERSION } from "./version.js";

export interface EngineDependencies {
  /** Reaches the stores; throws an `LcmError` while they can not be reached. */
  readonly stores: () => Stores;
  readonly config: LcmConfig;
  readonly source: TranscriptSource;
  readonly log: Logger;
  readonly now: Clock;
  /** The agent of sessions whose key does not name one. */
  readonly agentId?: string | undefined;
  /** Releases what `stores` holds. */
  readonly release: () => void;
}

export const ENGINE_ID = "lossless-claw";

/** A commit holds its reply up. Gives it up to the host's outbox rather than to the user's patience. */
const COMMIT_BUSY_MS = 2_500;
/**
 * A commit before the turn of another waits for a lock at the cost of that turn's reply; if it fails,
 * that turn is served by legacy and filled in later.
 */
const REDELIVERY_BUSY_MS = 1_000;
/** Bookkeeping on the reply path must not be felt. */
const REPLY_PATH_BUSY_MS = 300;
const BACKGROUND_BUSY_MS = 10_000;
/** Nobody waits for a deletion to be recorded, and nothing tells us of it again. */
const DELETION_BUSY_MS = 60_000;

/** The reply waits for a bootstrap: a long history is taken in by and by. */
const BOOTSTRAP_LIMITS: SyncLimits = { busyMs: REPLY_PATH_BUSY_MS, workMs: 1_000 };
/** The session's next turn waits for maintenance. */
const MAINTENANCE_LIMITS: SyncLimits = { busyMs: BACKGROUND_BUSY_MS, workMs: 5_000 };

/**
 * The host reads reasons: only an answer that says "nothing to compact" lets it go on with a turn that
 * wanted space; any other refusal ends the turn.
 */
const NOTHING_TO_COMPACT = "nothing to compact: this release passes messages through unchanged";

interface BootstrapAnswer {
  readonly bootstrapped: boolean;
  readonly importedMessages?: number;
  readonly reason?: string;
}

interface CommitAnswer {
  readonly status: "committed" | "duplicate";
}

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
    acceptedHostParams: [
      "sessionKey",
      "sessionTarget",
      "runtimeSettings",
      "runtimeContext",
      "availableTools",
      "prompt",
      "model",
      "abortSignal",
    ],
    hostRequirements: {
      "agent-run": {
        requiredCapabilities: ["bootstrap" as const, "assemble-before-prompt" as const],
        unsupportedMessage:
          "lossless-claw needs a host that bootstraps sessions and lets the engine assemble the prompt.",
      },
    },
  };

  readonly #deps: EngineDependencies;
  readonly #pending = new Set<Promise<unknown>>();
  /** Session ids whose transcript this object has read to its end. */
  readonly #synced = new Set<string>();
  readonly #turnsStarted = new Set<string>();

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
  }

  async bootstrap(call: SessionCall): Promise<BootstrapAnswer> {
    const session = this.#kept(call);
    if (!session) return { bootstrapped: false, reason: "this session is not stored" };
    const { outcome, added, reason } = await this.#sync(session, BOOTSTRAP_LIMITS, "begin");
    switch (outcome) {
      case "current":
        return { bootstrapped: true, importedMessages: added };
      case "partial":
        return { bootstrapped: true, importedMessages: added, reason: "more is left to import" };
      case "missing":
      case "unavailable":
        return { bootstrapped: false, reason: reason ?? outcome };
    }
  }

  async maintain(
    call: MaintainCall,
  ): Promise<{ changed: boolean; bytesFreed: number; rewrittenEntries: number }> {
    const session = this.#kept(call);
    // A bootstrap has just read the transcript; after a commit there is something new in it.
    if (session && call.runtimeSettings === undefined) {
      const limits = { ...MAINTENANCE_LIMITS, signal: call.abortSignal };
      await this.#sync(session, limits, "follow");
    }
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  }

  async assemble(
    call: AssembleCall,
  ): Promise<{ messages: AgentMessage[]; estimatedTokens: number }> {
    const session = this.#kept(call);
    if (session) await this.#recordTurnStart(session);
    const messages = Array.isArray(call?.messages) ? (call.messages as AgentMessage[]) : [];
    const estimatedTokens = messages.reduce((sum, message) => sum + roughTokens(message), 0);
    return { messages, estimatedTokens };
  }

  async commitTurn(call: CommitTurnCall): Promise<CommitAnswer> {
    const session = this.#kept({
      sessionId: call?.admission?.sessionId ?? call?.sessionId,
      sessionKey: call?.sessionKey,
      sessionTarget: { agentId: call?.sessionTarget?.agentId ?? call?.admission?.agentId },
    });
    if (!session) return { status: "committed" };
    const turn = acceptedTurn(call, session);
    return this.#track(turn ? this.#commit(turn) : this.#acknowledgeUnnamed(session));
  }

  /** The transcript is the truth, so an offered message only says that there is something to read. */
  async ingest(call: IngestCall): Promise<{ ingested: boolean }> {
    const { ingestedCount } = await this.ingestBatch({ ...call, messages: [call?.message] });
    return { ingested: ingestedCount > 0 };
  }

  async ingestBatch(call: IngestBatchCall): Promise<{ ingestedCount: number }> {
    const session = this.#kept(call);
    if (!session) return { ingestedCount: 0 };
    const { added } = await this.#sync(session, MAINTENANCE_LIMITS, "follow");
    return { ingestedCount: added };
  }

  async compact(_call: SessionCall): Promise<{ ok: boolean; compacted: boolean; reason: string }> {
    return { ok: true, compacted: false, reason: NOTHING_TO_COMPACT };
  }

  async prepareSubagentSpawn(
    call: SpawnCall,
  ): Promise<{ rollback: () => Promise<void> } | undefined> {
    const child = this.#kept({ sessionId: "", sessionKey: call?.childSessionKey });
    const parent = this.#kept({ sessionId: "", sessionKey: call?.parentSessionKey });
    if (!child || !parent) return undefined;
    return this.#attempt("sub-agent spawn", () => {
      const { events } = this.#deps.stores();
      const link = { child: child.sessionKey, parent: parent.sessionKey };
      events.linkSubagent({ ...link, contextMode: call.contextMode ?? null }, this.#nowIso());
      const unlink = () => events.unlinkSubagent(child.sessionKey);
      return { rollback: () => this.#attempt("sub-agent rollback", unlink) };
    });
  }

  async onSubagentEnded(call: SubagentEndCall): Promise<void> {
    const child = this.#kept({ sessionId: "", sessionKey: call?.childSessionKey });
    if (!child) return;
    await this.#attempt("sub-agent end", () => {
      const { events } = this.#deps.stores();
      events.endSubagent(child.sessionKey, String(call.reason), this.#nowIso());
    });
    // A child of one turn has no later call that would read what no commit delivered.
    const entry = this.#deps.source.entry(child);
    if (entry.kind !== "found") return;
    await this.#sync({ ...child, sessionId: entry.sessionId }, MAINTENANCE_LIMITS, "follow");
  }

  /** The host deleted a session: its conversation is kept and hidden from every tool. */
  async sessionDeleted(call: DeletedCall): Promise<void> {
    const session = this.#kept({
      sessionId: call?.sessionId ?? "",
      sessionKey: call?.sessionKey,
      sessionTarget: call,
    });
    if (!session) return;
    const hide = () => this.#deps.stores().conversations.hide(session, this.#nowIso());
    await this.#attempt("session deletion", hide, DELETION_BUSY_MS);
  }

  async dispose(): Promise<void> {
    await Promise.allSettled(this.#pending);
    this.#deps.release();
  }

  async #commit(turn: AcceptedTurn): Promise<CommitAnswer> {
    const { stores, config, log } = this.#deps;
    const outcome = await retryWhileBusy(
      () => commitTurn(stores(), turn, config, this.#nowIso()),
      this.#turnsStarted.size > 0 ? COMMIT_BUSY_MS : REDELIVERY_BUSY_MS,
    );
    if (outcome.status !== "deferred") return { status: outcome.status };
    log.warn(
      `the turn ${turn.advancementKey} of ${turn.session.sessionKey} could not be read (${outcome.reason}); it is filled in from the transcript before the next turn`,
    );
    return { status: "committed" };
  }

  /** Nothing names the turn, so no retry could store it; the transcript supplies it. */
  async #acknowledgeUnnamed(session: SessionRef): Promise<CommitAnswer> {
    const happenedAt = this.#nowIso();
    const event = {
      kind: "malformed",
      happenedAt,
      messageCount: 0,
      detail: "no turn named",
    } as const;
    const { stores, log } = this.#deps;
    await retryWhileBusy(() => {
      const conversation = stores().conversations.find(session);
      stores().events.record(conversation?.id ?? null, event, happenedAt);
    }, COMMIT_BUSY_MS);
    log.warn(
      `a commit for ${session.sessionKey} named no turn; what it meant is filled in from the transcript before the next turn`,
    );
    return { status: "committed" };
  }

  async #sync(session: SessionRef, limits: SyncLimits, purpose: SyncPurpose): Promise<SyncReport> {
    const { source, config, now, log, stores } = this.#deps;
    try {
      const deps = { stores: stores(), source, policy: config, now };
      const report = await this.#track(syncTranscript(deps, session, limits, purpose));
      if (report.outcome === "current") this.#synced.add(session.sessionId);
      return report;
    } catch (error) {
      const reason = errorText(error);
      log.error(`the transcript of ${session.sessionKey} could not be stored: ${reason}`);
      return { outcome: "unavailable", added: 0, reason };
    }
  }

  /** Once per turn: the later calls of a turn's tool loop tell nothing new. */
  async #recordTurnStart(session: SessionRef): Promise<void> {
    if (this.#turnsStarted.has(session.sessionKey)) return;
    this.#turnsStarted.add(session.sessionKey);
    const startedAt = this.#nowIso();
    const { sessionId } = session;
    try {
      const stores = this.#deps.stores();
      const { source, now } = this.#deps;
      await meetSession({ stores, source, now }, session, REPLY_PATH_BUSY_MS);
      const record = (): void => {
        const position = this.#turnPosition(stores, session);
        const { id } = beginSession({ stores, source }, session, startedAt).conversation;
        stores.events.recordTurnStart(id, { sessionId, position, startedAt });
        stores.conversations.markActive(id, startedAt);
      };
      await retryWhileBusy(() => stores.db.transaction(record, "relaxed"), REPLY_PATH_BUSY_MS);
    } catch (error) {
      this.#deps.log.error(
        `messages pass through unchanged; the store can not be reached: ${errorText(error)}`,
      );
    }
  }

  /** Where the turn that begins now stands; null when our knowledge of the transcript is not current. */
  #turnPosition(stores: Stores, session: SessionRef): number | null {
    const conversation = stores.conversations.find(session);
    const segment =
      conversation && stores.conversations.segment(conversation.id, session.sessionId);
    if (!segment) return 0;
    if (!this.#synced.has(session.sessionId)) return null;
    return (stores.messages.head(segment.id)?.position ?? -1) + 1;
  }

  /** The session of a call, when it is ours to keep. */
  #kept(call: Partial<SessionCall> | undefined): SessionRef | undefined {
    const session = sessionRef({
      sessionId: call?.sessionId,
      sessionKey: call?.sessionKey,
      agentIds: [call?.sessionTarget?.agentId, this.#deps.agentId],
    });
    if (!session) return undefined;
    return classifySession(session.sessionKey, this.#deps.config) === "kept" ? session : undefined;
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work);
    const done = () => this.#pending.delete(work);
    work.then(done, done);
    return work;
  }

  /** Bookkeeping that no call of the host depends on: waits for locks, and reports what fails. */
  async #attempt<T>(
    what: string,
    work: () => T,
    busyMs = BACKGROUND_BUSY_MS,
  ): Promise<T | undefined> {
    try {
      return await this.#track(retryWhileBusy(work, busyMs));
    } catch (error) {
      this.#deps.log.error(`${what} could not be recorded: ${errorText(error)}`);
      return undefined;
    }
  }

  #nowIso(): string {
    return new Date(this.#deps.now()).toISOString();
  }
}
