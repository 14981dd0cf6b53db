// The context engine: each method a few lines over the parts. The host makes one object per turn.
//
// No method throws for a reason the engine can handle. The one exception is `commitTurn` with a broken
// store: failing keeps the turn in the host's outbox, an answer would lose it.

import { recallGuidance } from "./assembler/guidance.js";
import {
  type CompactAnswer,
  compactByHand,
  compactNow,
  inWords,
  NOTHING_STORED,
} from "./compact-call.js";
import { retryWhileBusy } from "./db/connection.js";
import type { LcmConfig } from "./db/config.js";
import { ENGINE_INFO } from "./engine-info.js";
import { errorText } from "./errors.js";
import {
  acceptedTurn,
  type AssembleCall,
  type BootstrapCall,
  type CommitTurnCall,
  type CompactCall,
  type DeletedCall,
  type IngestBatchCall,
  type IngestCall,
  type MaintainCall,
  type SessionCall,
  type SpawnCall,
  type SubagentEndCall,
} from "./host-calls.js";
import { classifySession, sessionRef } from "./session-policy.js";
import type { Stores } from "./store/index.js";
import { endTrouble, tellTrouble } from "./store-trouble.js";
import { recordSpawn, recordSubagentEnd } from "./subagents.js";
import { CALL_TIMING, type CallTiming } from "./summarize/index.js";
import { isoAt } from "./time-format.js";
import {
  type SyncLimits,
  type SyncPurpose,
  type SyncReport,
  syncTranscript,
} from "./transcript-sync/index.js";
import { type AcceptedTurn, type CommitOutcome, commitTurn } from "./turn-commit.js";
import { passThrough, Turns } from "./turns.js";
import type { AgentMessage, Clock, Logger, Model, SessionRef, TranscriptSource } from "./types.js";
import { ViewKeeper } from "./view-keeper.js";
import { type WorkDependencies, workSlice } from "./work.js";

export interface EngineDependencies {
  /**
   * Reaches the stores; throws an `LcmError` while they can not be reached, `BUSY` while another process
   * makes them.
   */
  readonly stores: () => Stores;
  readonly config: LcmConfig;
  readonly source: TranscriptSource;
  readonly log: Logger;
  readonly now: Clock;
  /** The agent of sessions whose key does not name one. */
  readonly agentId?: string | undefined;
  /** Who may be asked for summaries; a call of the host may bring its own. */
  readonly model?: ((runtimeContext: unknown) => Model | undefined) | undefined;
  /** True where a worker does what maintenance would otherwise do a little of. */
  readonly hasWorker?: (() => boolean) | undefined;
  /** What the host's memory plugins want the model to be told. */
  readonly memoryPrompt?: ((call: AssembleCall) => Promise<string | undefined>) | undefined;
  readonly timing?: CallTiming | undefined;
  /** Releases what `stores` holds. */
  readonly release: () => void;
}

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

interface BootstrapAnswer {
  readonly bootstrapped: boolean;
  readonly importedMessages?: number;
  readonly reason?: string;
}

interface AssembleAnswer {
  readonly messages: AgentMessage[];
  readonly estimatedTokens: number;
  readonly systemPromptAddition?: string;
}

interface CommitAnswer {
  readonly status: "committed" | "duplicate";
}

export class LcmContextEngine {
  readonly info = ENGINE_INFO;
  readonly #deps: EngineDependencies;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #turns: Turns;

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
    this.#turns = new Turns({ ...deps, busyMs: REPLY_PATH_BUSY_MS });
  }

  async bootstrap(call: BootstrapCall): Promise<BootstrapAnswer> {
    const session = this.#kept(call);
    if (!session) return { bootstrapped: false, reason: "this session is not stored" };
    this.#turns.noteWindow(session, call.runtimeContext?.tokenBudget);
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
      if (!this.#deps.hasWorker?.()) await this.#workSlice(session, call);
    }
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  }

  async assemble(call: AssembleCall): Promise<AssembleAnswer> {
    const session = this.#kept(call);
    // The host takes the addition of a turn's first call only.
    const isFirst = !session || !this.#turns.has(session);
    const memory = isFirst ? await this.#memoryPrompt(call) : undefined;
    const answer = session
      ? await this.#track(this.#turns.assemble(session, call))
      : passThrough(call);
    const { messages, estimatedTokens, hasSummaries } = answer;
    const availableTools = call?.availableTools ?? new Set<string>();
    const zone = this.#deps.config.timezone;
    const guidance = recallGuidance({ hasSummaries, availableTools, zone });
    const addition = [memory, guidance].filter((text) => text !== undefined).join("\n\n");
    const extra = addition === "" ? {} : { systemPromptAddition: addition };
    return { messages, estimatedTokens, ...extra };
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

  async compact(call: CompactCall): Promise<CompactAnswer> {
    const session = this.#kept(call);
    if (!session) return NOTHING_STORED;
    try {
      const trigger = call.runtimeContext?.trigger;
      const answer = await this.#track(
        trigger === "manual" ? this.#compactByHand(session, call) : this.#compactNow(session, call),
      );
      const asked = `OpenClaw asked to compact ${session.sessionKey} (${String(trigger)})`;
      this.#deps.log.info(`${asked}: ${inWords(answer)}`);
      return answer;
    } catch (error) {
      const reason = tellTrouble(this.#deps, `${session.sessionKey} could not be compacted`, error);
      return { ok: false, compacted: false, reason };
    }
  }

  async prepareSubagentSpawn(
    call: SpawnCall,
  ): Promise<{ rollback: () => Promise<void> } | undefined> {
    const child = this.#readable(call?.childSessionKey);
    const parent = this.#readable(call?.parentSessionKey);
    if (!child || !parent) return undefined;
    return this.#attempt("sub-agent spawn", () => {
      const { stores, config, now } = this.#deps;
      const spawn = { parent, child, contextMode: call.contextMode ?? null };
      const undo = recordSpawn(stores(), spawn, config, now());
      return { rollback: () => this.#attempt("sub-agent rollback", undo) };
    });
  }

  async onSubagentEnded(call: SubagentEndCall): Promise<void> {
    const session = this.#session({ sessionId: "", sessionKey: call?.childSessionKey });
    if (!session) return;
    await this.#attempt("sub-agent end", () => {
      const { stores, now } = this.#deps;
      recordSubagentEnd(stores(), session.sessionKey, String(call.reason), now());
    });
    if (!this.#isKept(session)) return;
    // A child of one turn has no later call that would read what no commit delivered.
    const entry = this.#deps.source.entry(session);
    if (entry.kind !== "found") return;
    await this.#sync({ ...session, sessionId: entry.sessionId }, MAINTENANCE_LIMITS, "follow");
  }

  /**
   * The host deleted a session: its conversation is kept and hidden from every tool, whatever the
   * patterns say now about its key.
   */
  async sessionDeleted(call: DeletedCall): Promise<void> {
    const session = this.#session({
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
    const outcome = await this.#storeTurn(turn);
    if (outcome.status === "committed") endTrouble(this.#deps);
    if (outcome.status !== "deferred") return { status: outcome.status };
    this.#deps.log.warn(
      `${nameOf(turn)} could not be read (${outcome.reason}); it is filled in from the transcript before the next turn`,
    );
    return { status: "committed" };
  }

  async #storeTurn(turn: AcceptedTurn): Promise<CommitOutcome> {
    const { stores, config } = this.#deps;
    try {
      return await retryWhileBusy(
        () => commitTurn(stores(), this.#keeper(), turn, config, this.#nowIso()),
        this.#turns.size > 0 ? COMMIT_BUSY_MS : REDELIVERY_BUSY_MS,
      );
    } catch (error) {
      tellTrouble(this.#deps, `${nameOf(turn)} could not be stored`, error);
      throw error;
    }
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
    const { source, config, now, stores } = this.#deps;
    try {
      const read = async (): Promise<SyncReport> => {
        const opened = await retryWhileBusy(stores, limits.busyMs);
        const keeper = this.#keeper();
        const deps = { stores: opened, keeper, source, policy: config, now };
        return syncTranscript(deps, session, limits, purpose);
      };
      const report = await this.#track(read());
      if (report.outcome === "current") this.#turns.noteRead(session);
      if (report.added > 0) endTrouble(this.#deps);
      return report;
    } catch (error) {
      const what = `the transcript of ${session.sessionKey} could not be stored`;
      const reason = tellTrouble(this.#deps, what, error);
      return { outcome: "unavailable", added: 0, reason };
    }
  }

  async #compactByHand(session: SessionRef, call: CompactCall): Promise<CompactAnswer> {
    await this.#sync(session, BOOTSTRAP_LIMITS, "follow");
    const work = await this.#work(call.runtimeContext, COMMIT_BUSY_MS);
    const conversation = work.stores.conversations.find(session);
    return conversation ? compactByHand(work, conversation.id, call) : NOTHING_STORED;
  }

  async #compactNow(session: SessionRef, call: CompactCall): Promise<CompactAnswer> {
    const work = await this.#work(undefined, COMMIT_BUSY_MS);
    const conversation = work.stores.conversations.find(session);
    if (!conversation) return NOTHING_STORED;
    const { target, ...answer } = await retryWhileBusy(
      () => compactNow(work, conversation.id, call),
      COMMIT_BUSY_MS,
    );
    if (target !== undefined) this.#turns.capAt(session, conversation.id, target);
    return answer;
  }

  /** A little of what a worker would do, after a turn and where there is none. */
  async #workSlice(session: SessionRef, call: MaintainCall): Promise<void> {
    try {
      const slice = async (): Promise<unknown> => {
        const work = await this.#work(call.runtimeContext, BACKGROUND_BUSY_MS);
        return workSlice(work, session, call.abortSignal);
      };
      await this.#track(slice());
    } catch (error) {
      this.#deps.log.warn(`summaries of ${session.sessionKey} wait: ${errorText(error)}`);
    }
  }

  async #work(runtimeContext: unknown, busyMs: number): Promise<WorkDependencies> {
    const { stores, config, now, log, model, timing } = this.#deps;
    return {
      stores: await retryWhileBusy(stores, busyMs),
      config,
      model: model?.(runtimeContext),
      now,
      log,
      timing: timing ?? CALL_TIMING,
    };
  }

  /** The host's plugins wrote it; without it the turn goes on. */
  async #memoryPrompt(call: AssembleCall): Promise<string | undefined> {
    try {
      return await this.#deps.memoryPrompt?.(call);
    } catch (error) {
      this.#deps.log.warn(`the memory prompt is missing: ${errorText(error)}`);
      return undefined;
    }
  }

  #keeper(): ViewKeeper {
    return new ViewKeeper(this.#deps.stores(), this.#deps.config);
  }

  /** The session of a call, when it is ours to keep. */
  #kept(call: Partial<SessionCall> | undefined): SessionRef | undefined {
    const session = this.#session(call);
    return session && this.#isKept(session) ? session : undefined;
  }

  #isKept({ sessionKey }: SessionRef): boolean {
    return classifySession(sessionKey, this.#deps.config) === "kept";
  }

  /** The session of a key that may at least read. */
  #readable(sessionKey: string | undefined): SessionRef | undefined {
    const session = this.#session({ sessionId: "", sessionKey });
    const isIgnored =
      !session || classifySession(session.sessionKey, this.#deps.config) === "ignored";
    return isIgnored ? undefined : session;
  }

  #session(call: Partial<SessionCall> | undefined): SessionRef | undefined {
    return sessionRef({
      sessionId: call?.sessionId,
      sessionKey: call?.sessionKey,
      agentIds: [call?.sessionTarget?.agentId, this.#deps.agentId],
    });
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
      tellTrouble(this.#deps, `${what} could not be recorded`, error);
      return undefined;
    }
  }

  #nowIso(): string {
    return isoAt(this.#deps.now());
  }
}

function nameOf({ advancementKey, session }: AcceptedTurn): string {
  return `the turn ${advancementKey} of ${session.sessionKey}`;
}
