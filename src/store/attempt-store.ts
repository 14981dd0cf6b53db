// Calls of a model, one row each: the ground that the daily budget and the circuit breaker stand on.

import type { Database } from "../db/connection.js";
import type { ConversationId, SummaryId } from "../types.js";
import type { SummaryLevel } from "./summary-store.js";

/** Why an answer did not become a summary; `running` is a call that has not ended, or was killed. */
export type AttemptOutcome =
  | "running"
  | "accepted"
  /** The call failed or took too long. */
  | "error"
  | "timeout"
  /** The host's policy forbids it. */
  | "refused"
  | "aborted"
  /** An answer that says nothing, or only thinks. */
  | "empty"
  | "too long"
  | "not smaller"
  | "no footer"
  | "echo"
  | "lost identifiers"
  /** A good answer whose place was taken while the model was thinking. */
  | "stale";

export interface NewAttempt {
  readonly conversationId: ConversationId;
  /** The node the call is to supersede, if any. */
  readonly heals: SummaryId | null;
  readonly requestedModel: string;
  readonly promptVersion: string;
  readonly level: Exclude<SummaryLevel, "deterministic">;
  readonly inputTokens: number;
}

export interface AttemptEnd {
  readonly outcome: AttemptOutcome;
  readonly detail?: string | undefined;
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly costUsd?: number | undefined;
}

export interface Spend {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null when the host told no price at all. */
  readonly costUsd: number | null;
}

export interface RecentAttempt {
  readonly outcome: AttemptOutcome;
  readonly detail: string | null;
  readonly at: string;
}

export interface HealingTries {
  readonly tries: number;
  /** Grows with every try of any node; 0 before the first. */
  readonly last: number;
}

const PRICED_CALLS = 50;
/** Of `2026-02-17T15`. */
const HOUR_LENGTH = 13;
const NO_ANSWER = "'running', 'error', 'timeout', 'refused', 'aborted'";

export class AttemptStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  begin(attempt: NewAttempt, now: string): number {
    return this.#db.run(
      `INSERT INTO summary_attempts (conversation_id, heals, requested_model, prompt_version, level,
         input_tokens, outcome, started_at)
       VALUES (?, ?, ?, ?, ?, ?, 'running', ?)`,
      attempt.conversationId,
      attempt.heals,
      attempt.requestedModel,
      attempt.promptVersion,
      attempt.level,
      attempt.inputTokens,
      now,
    ).lastId;
  }

  end(attempt: number, end: AttemptEnd, now: string): void {
    this.#db.run(
      `UPDATE summary_attempts SET outcome = ?, detail = ?, model = ?,
         input_tokens = coalesce(?, input_tokens), output_tokens = ?, cost_usd = ?, ended_at = ?
       WHERE attempt_id = ?`,
      end.outcome,
      end.detail ?? null,
      end.model ?? null,
      end.inputTokens ?? null,
      end.outputTokens ?? 0,
      end.costUsd ?? null,
      now,
      attempt,
    );
  }

  /** Says which node an accepted answer became, or that its place was taken. */
  settle(attempt: number, result: { summaryId: SummaryId } | "stale"): void {
    this.#db.run(
      "UPDATE summary_attempts SET summary_id = ?, outcome = ? WHERE attempt_id = ?",
      result === "stale" ? null : result.summaryId,
      result === "stale" ? "stale" : "accepted",
      attempt,
    );
  }

  /** What was spent from one moment to another: a clock that ran ahead leaves rows beyond now. */
  spendBetween(from: string, through: string): Spend {
    const row = this.#db.get<Spend>(
      `SELECT count(*) AS calls, coalesce(sum(input_tokens), 0) AS inputTokens,
              coalesce(sum(output_tokens), 0) AS outputTokens, sum(cost_usd) AS costUsd
       FROM summary_attempts WHERE started_at BETWEEN ? AND ?`,
      from,
      through,
    );
    return row as Spend;
  }

  /** Dollars for each token that was sent, over the newest calls whose price the host told. */
  pricePerToken(): number | null {
    const row = this.#db.get<{ price: number | null }>(
      `SELECT sum(cost_usd) / nullif(sum(input_tokens), 0) AS price FROM (
         SELECT cost_usd, input_tokens FROM summary_attempts WHERE cost_usd IS NOT NULL
         ORDER BY attempt_id DESC LIMIT ${PRICED_CALLS})`,
    );
    return row?.price ?? null;
  }

  /** The newest attempts that have ended, newest first. */
  recent(limit: number): RecentAttempt[] {
    return this.#db.all<RecentAttempt>(
      `SELECT outcome, detail, ended_at AS at FROM summary_attempts
       WHERE ended_at IS NOT NULL ORDER BY attempt_id DESC LIMIT ?`,
      limit,
    );
  }

  /**
   * How often a model was asked, with a set of prompts, to supersede a node. Calls that failed between
   * two answers of the model, to whatever question, are one try: only together with those answers do
   * they say something about the node. Those since its last answer count by the hour.
   */
  triesToHeal(node: SummaryId, requestedModel: string, promptVersion: string): HealingTries {
    const row = this.#db.get<HealingTries>(
      `SELECT coalesce(max(a.attempt_id), 0) AS last, count(DISTINCT coalesce((
         SELECT CAST(min(b.attempt_id) AS TEXT) FROM summary_attempts b
         WHERE b.attempt_id >= a.attempt_id AND b.requested_model = a.requested_model
           AND b.outcome NOT IN (${NO_ANSWER})), substr(a.started_at, 1, ${HOUR_LENGTH}))) AS tries
       FROM summary_attempts a
       WHERE a.heals = ? AND a.requested_model = ? AND a.prompt_version = ? AND a.level = 'normal'
         AND a.outcome NOT IN ('running', 'refused', 'aborted')`,
      node,
      requestedModel,
      promptVersion,
    );
    return row ?? { tries: 0, last: 0 };
  }
}
