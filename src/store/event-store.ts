// What the self-check keeps: turns the host began with us, and what was found missing and mended.

import type { Database } from "../db/connection.js";
import type { ConversationId } from "../types.js";

export type SyncEventKind =
  /** History from before the engine was in use. */
  | "import"
  /** Messages that no commit delivered, filled in from the transcript. */
  | "gap"
  /** A turn the host answered with its legacy engine. */
  | "legacy"
  /** A commit whose payload could not be read; the transcript supplies the turn. */
  | "malformed"
  /** A transcript entry that can not be read through the host's cursor. */
  | "unreadable";

export interface SyncEvent {
  readonly kind: SyncEventKind;
  /** When the turn or message happened (ISO). */
  readonly happenedAt: string;
  readonly messageCount: number;
  readonly detail?: string;
}

/** Turn starts are only compared with turns since the last bootstrap; more than this is history. */
const TURN_STARTS_KEPT = 200;

export class EventStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  record(conversation: ConversationId | null, event: SyncEvent, now: string): void {
    this.#db.run(
      `INSERT INTO sync_events (conversation_id, kind, happened_at, message_count, detail, recorded_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      conversation,
      event.kind,
      event.happenedAt,
      event.messageCount,
      event.detail ?? null,
      now,
    );
  }

  /** Records an event once: a page that stays unreadable is met again every turn. */
  recordOnce(conversation: ConversationId, event: SyncEvent, now: string): boolean {
    const known = this.#db.get(
      "SELECT 1 FROM sync_events WHERE conversation_id = ? AND kind = ? AND detail IS ?",
      conversation,
      event.kind,
      event.detail ?? null,
    );
    if (!known) this.record(conversation, event, now);
    return known === undefined;
  }

  recordTurnStart(conversation: ConversationId, sessionId: string, budget: number | null, now: string): void {
    const { lastId } = this.#db.run(
      "INSERT INTO turn_starts (conversation_id, session_id, started_at, token_budget) VALUES (?, ?, ?, ?)",
      conversation,
      sessionId,
      now,
      budget,
    );
    this.#db.run(
      "DELETE FROM turn_starts WHERE conversation_id = ? AND turn_start_id <= ?",
      conversation,
      lastId - TURN_STARTS_KEPT,
    );
  }

  /** True when the host asked us for a view between two times (ISO, inclusive). */
  hasTurnStartBetween(conversation: ConversationId, from: string, to: string): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM turn_starts WHERE conversation_id = ? AND started_at BETWEEN ? AND ? LIMIT 1",
      conversation,
      from,
      to,
    );
    return row !== undefined;
  }

  linkSubagent(child: string, parent: string, contextMode: string | null, now: string): void {
    this.#db.run(
      `INSERT INTO subagent_links (child_session_key, parent_session_key, context_mode, created_at)
       VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET parent_session_key = excluded.parent_session_key, ended_at = NULL`,
      child,
      parent,
      contextMode,
      now,
    );
  }

  unlinkSubagent(child: string): void {
    this.#db.run("DELETE FROM subagent_links WHERE child_session_key = ?", child);
  }

  endSubagent(child: string, reason: string, now: string): void {
    this.#db.run(
      "UPDATE subagent_links SET ended_at = ?, end_reason = ? WHERE child_session_key = ?",
      now,
      reason,
      child,
    );
  }

  /** Opens an operator action; content guards stand aside until it is finished. */
  beginOperatorAction(action: string, target: string, now: string): number {
    return this.#db.run(
      "INSERT INTO operator_actions (action, target, started_at) VALUES (?, ?, ?)",
      action,
      target,
      now,
    ).lastId;
  }

  finishOperatorAction(id: number, detail: string, now: string): void {
    this.#db.run(
      "UPDATE operator_actions SET finished_at = ?, detail = ? WHERE action_id = ?",
      now,
      detail,
      id,
    );
  }
}
