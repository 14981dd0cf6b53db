// What the self-check keeps: turns the host began with us, and what was found missing and mended.

import type { Database } from "../db/connection.js";
import type { ConversationId } from "../types.js";

export type SyncEventKind =
  /** History from before the engine was in use. */
  | "import"
  /** Messages that no commit delivered, filled in from the transcript. */
  | "gap"
  /** Rows that are part of no turn: a slash command and its reply, a note injected by an operator. */
  | "aside"
  /** A turn the host answered with its legacy engine. */
  | "legacy"
  /** A commit whose payload could not be read; the transcript supplies the turn. */
  | "malformed"
  /** A transcript entry that can not be read through the host's cursor. */
  | "unreadable";

/** Part of a session. Positions and times (ISO) are inclusive. */
export interface Stretch {
  readonly firstPosition: number;
  readonly lastPosition: number;
  readonly from: string;
  readonly to: string;
}

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

  /** `position` is where the turn begins in its session, or null when that is not known. */
  recordTurnStart(
    conversation: ConversationId,
    start: { sessionId: string; position: number | null; startedAt: string },
  ): void {
    this.#db.run(
      `INSERT INTO turn_starts (conversation_id, session_id, position, started_at)
       VALUES (?, ?, ?, ?)`,
      conversation,
      start.sessionId,
      start.position,
      start.startedAt,
    );
    this.#db.run(
      `DELETE FROM turn_starts WHERE conversation_id = ?1 AND turn_start_id <= (
         SELECT turn_start_id FROM turn_starts WHERE conversation_id = ?1
         ORDER BY turn_start_id DESC LIMIT 1 OFFSET ${TURN_STARTS_KEPT})`,
      conversation,
    );
  }

  /** True when the host asked us for a view within a stretch of a session. */
  wasServed(conversation: ConversationId, sessionId: string, stretch: Stretch): boolean {
    const row = this.#db.get(
      `SELECT 1 FROM turn_starts
       WHERE conversation_id = ? AND session_id = ?
         AND CASE WHEN position IS NULL THEN started_at BETWEEN ? AND ?
                  ELSE position BETWEEN ? AND ? END`,
      conversation,
      sessionId,
      stretch.from,
      stretch.to,
      stretch.firstPosition,
      stretch.lastPosition,
    );
    return row !== undefined;
  }

  linkSubagent(
    link: { child: string; parent: string; contextMode: string | null },
    now: string,
  ): void {
    this.#db.run(
      `INSERT INTO subagent_links (child_session_key, parent_session_key, context_mode, created_at)
       VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET parent_session_key = excluded.parent_session_key,
         context_mode = excluded.context_mode, created_at = excluded.created_at,
         ended_at = NULL, end_reason = NULL`,
      link.child,
      link.parent,
      link.contextMode,
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
