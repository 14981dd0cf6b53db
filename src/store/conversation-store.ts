// Conversations (agent + session key) and their segments (host session ids).

import type { Database } from "../db/connection.js";
import { RELEASE_01_KEY_PREFIX } from "../db/schema/release-0.1.js";
import type { ConversationId, SegmentId, SessionRef } from "../types.js";

export interface Conversation {
  readonly id: ConversationId;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly sessionId: string | null;
  readonly forkedFrom: ConversationId | null;
  readonly activeSince: string | null;
  readonly bootstrappedAt: string | null;
  readonly createdAt: string;
  /** Of the last turn that began or was committed. */
  readonly updatedAt: string;
  /** Deleted in the host. */
  readonly hiddenAt: string | null;
}

/** What the last turn told about its model. */
export interface TurnFacts {
  readonly contextWindow: number | null;
  readonly budgetBase: number | null;
  readonly model: string | null;
}

export interface Segment {
  readonly id: SegmentId;
  readonly conversationId: ConversationId;
  readonly sessionId: string;
  readonly visibleCursor: string | null;
  readonly earlierCursor: string | null;
  readonly rawCursor: string | null;
  readonly rawLastEvent: string | null;
  readonly rawLastEntry: string | null;
  /** What is not newer belongs to a conversation that was deleted under the same key. */
  readonly hiddenBefore: string | null;
  readonly createdAt: string;
}

const CONVERSATION = `conversation_id AS id, agent_id AS agentId, session_key AS sessionKey,
  session_id AS sessionId, forked_from AS forkedFrom, active_since AS activeSince, bootstrapped_at AS bootstrappedAt,
  created_at AS createdAt, updated_at AS updatedAt, hidden_at AS hiddenAt`;

const SEGMENT = `segment_id AS id, conversation_id AS conversationId, session_id AS sessionId,
  visible_cursor AS visibleCursor, earlier_cursor AS earlierCursor, raw_cursor AS rawCursor,
  raw_last_event AS rawLastEvent, raw_last_entry AS rawLastEntry, hidden_before AS hiddenBefore,
  created_at AS createdAt`;

/** Says of a conversation that release 0.1.x left it and that no key has claimed it. */
const UNADOPTED = `unaligned = 1 AND hidden_at IS NULL AND session_key LIKE '${RELEASE_01_KEY_PREFIX}%'`;

/** Says of a conversation `c` that it was deleted and that the session id belonged to it. */
const hiddenOwnerOf = (sessionId: string): string =>
  `c.hidden_at IS NOT NULL AND (c.session_id = ${sessionId} OR EXISTS (
     SELECT 1 FROM segments s
     WHERE s.conversation_id = c.conversation_id AND s.session_id = ${sessionId}))`;

export class ConversationStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The visible conversation of a session key, if there is one. */
  find(session: Pick<SessionRef, "agentId" | "sessionKey">): Conversation | undefined {
    return this.#db.get<Conversation>(
      `SELECT ${CONVERSATION} FROM conversations
       WHERE agent_id = ? AND session_key = ? AND hidden_at IS NULL`,
      session.agentId,
      session.sessionKey,
    );
  }

  /** The conversation of a session key; adopts what release 0.1.x kept for its session id. */
  findOrCreate(session: SessionRef, now: string): Conversation {
    const found = this.find(session) ?? this.#adoptRelease01(session, now);
    if (found) return found;
    this.#db.run(
      `INSERT INTO conversations (agent_id, session_key, session_id, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?)`,
      session.agentId,
      session.sessionKey,
      session.sessionId,
      now,
      now,
    );
    return this.find(session) as Conversation;
  }

  #adoptRelease01(session: SessionRef, now: string): Conversation | undefined {
    const old = this.#db.get<{ id: ConversationId }>(
      `SELECT conversation_id AS id FROM conversations
       WHERE session_id = ? AND ${UNADOPTED} ORDER BY conversation_id DESC LIMIT 1`,
      session.sessionId,
    );
    if (!old) return undefined;
    this.adopt(old.id, session, now);
    return this.find(session);
  }

  /** What release 0.1.x kept and no key has claimed, the newest first. */
  unadopted(limit: number): { id: ConversationId; sessionId: string }[] {
    return this.#db.all<{ id: ConversationId; sessionId: string }>(
      `SELECT conversation_id AS id, session_id AS sessionId FROM conversations
       WHERE ${UNADOPTED} ORDER BY conversation_id DESC LIMIT ?`,
      limit,
    );
  }

  /** Gives a conversation of release 0.1.x to the key that its session id stands under. */
  adopt(
    conversation: ConversationId,
    owner: Pick<SessionRef, "agentId" | "sessionKey">,
    now: string,
  ): void {
    this.#db.run(
      "UPDATE conversations SET agent_id = ?, session_key = ?, updated_at = ? WHERE conversation_id = ?",
      owner.agentId,
      owner.sessionKey,
      now,
      conversation,
    );
  }

  /** The deleted conversation that this session id belonged to, if there is one. */
  hiddenOwner(session: SessionRef): { id: ConversationId; hiddenAt: string } | undefined {
    return this.#db.get<{ id: ConversationId; hiddenAt: string }>(
      `SELECT c.conversation_id AS id, c.hidden_at AS hiddenAt FROM conversations c
       WHERE c.agent_id = ?1 AND c.session_key = ?2 AND ${hiddenOwnerOf("?3")}
       ORDER BY c.conversation_id DESC LIMIT 1`,
      session.agentId,
      session.sessionKey,
      session.sessionId,
    );
  }

  segment(conversation: ConversationId, sessionId: string): Segment | undefined {
    return this.#db.get<Segment>(
      `SELECT ${SEGMENT} FROM segments WHERE conversation_id = ? AND session_id = ?`,
      conversation,
      sessionId,
    );
  }

  segmentOrCreate(conversation: ConversationId, sessionId: string, now: string): Segment {
    this.#db.run(
      `INSERT INTO segments (conversation_id, session_id, hidden_before, created_at)
       SELECT ?1, ?2, (
         SELECT max(c.hidden_at) FROM conversations own
         JOIN conversations c ON c.agent_id = own.agent_id AND c.session_key = own.session_key
         WHERE own.conversation_id = ?1 AND ${hiddenOwnerOf("?2")}), ?3
       WHERE true ON CONFLICT DO NOTHING`,
      conversation,
      sessionId,
      now,
    );
    return this.segment(conversation, sessionId) as Segment;
  }

  makeCurrent(conversation: ConversationId, sessionId: string, now: string): void {
    this.#db.run(
      "UPDATE conversations SET session_id = ?, updated_at = ? WHERE conversation_id = ?",
      sessionId,
      now,
      conversation,
    );
  }

  get(id: ConversationId): Conversation | undefined {
    return this.#db.get<Conversation>(
      `SELECT ${CONVERSATION} FROM conversations WHERE conversation_id = ?`,
      id,
    );
  }

  /** The segment of the host session that is current under a conversation's key. */
  currentSegment(conversation: ConversationId): SegmentId | undefined {
    return this.#db.get<{ id: SegmentId }>(
      `SELECT s.segment_id AS id FROM conversations c
       JOIN segments s ON s.conversation_id = c.conversation_id AND s.session_id = c.session_id
       WHERE c.conversation_id = ?`,
      conversation,
    )?.id;
  }

  turnFacts(conversation: ConversationId): TurnFacts {
    const row = this.#db.get<TurnFacts>(
      `SELECT context_window AS contextWindow, budget_base AS budgetBase, turn_model AS model
       FROM conversations WHERE conversation_id = ?`,
      conversation,
    );
    return row ?? { contextWindow: null, budgetBase: null, model: null };
  }

  /** Keeps what was known where nothing is told. */
  recordTurnFacts(conversation: ConversationId, facts: Partial<TurnFacts>): void {
    this.#db.run(
      `UPDATE conversations SET context_window = coalesce(?, context_window),
         budget_base = coalesce(?, budget_base), turn_model = coalesce(?, turn_model)
       WHERE conversation_id = ?`,
      facts.contextWindow ?? null,
      facts.budgetBase ?? null,
      facts.model ?? null,
      conversation,
    );
  }

  /** True when a host session is the current one under its key. */
  isCurrent(conversation: ConversationId, sessionId: string): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM conversations WHERE conversation_id = ? AND session_id = ?",
      conversation,
      sessionId,
    );
    return row !== undefined;
  }

  markActive(conversation: ConversationId, now: string): void {
    this.#db.run(
      `UPDATE conversations SET active_since = coalesce(active_since, ?), updated_at = ?
       WHERE conversation_id = ?`,
      now,
      now,
      conversation,
    );
  }

  markBootstrapped(conversation: ConversationId, now: string): void {
    this.#db.run(
      "UPDATE conversations SET bootstrapped_at = ? WHERE conversation_id = ? AND bootstrapped_at IS NULL",
      now,
      conversation,
    );
  }

  recordForkSource(conversation: ConversationId, parent: ConversationId): void {
    this.#db.run(
      "UPDATE conversations SET forked_from = ? WHERE conversation_id = ? AND forked_from IS NULL",
      parent,
      conversation,
    );
  }

  saveVisibleCursor(segment: SegmentId, cursor: string): void {
    this.#db.run(
      `UPDATE segments SET
         earlier_cursor = CASE WHEN visible_cursor IS NOT ?1 THEN visible_cursor ELSE earlier_cursor END,
         visible_cursor = ?1
       WHERE segment_id = ?2`,
      cursor,
      segment,
    );
  }

  saveRawCursor(
    segment: SegmentId,
    place: { cursor: string; lastEvent: string | null; lastEntry: string | null },
  ): void {
    this.#db.run(
      `UPDATE segments SET raw_cursor = ?, raw_last_event = ?, raw_last_entry = ?
       WHERE segment_id = ?`,
      place.cursor,
      place.lastEvent,
      place.lastEntry,
      segment,
    );
  }

  /** Hides every trace of a key that the host deleted; rows of release 0.1.x by its session id. */
  hide(session: SessionRef, now: string): void {
    this.#db.run(
      `UPDATE conversations SET hidden_at = ?1, updated_at = ?1
       WHERE agent_id = ?2 AND session_key = ?3 AND hidden_at IS NULL`,
      now,
      session.agentId,
      session.sessionKey,
    );
    this.#db.run(
      `UPDATE conversations SET hidden_at = ?1, updated_at = ?1
       WHERE session_id = ?2 AND ${UNADOPTED}`,
      now,
      session.sessionId,
    );
  }
}
