// Grants: what a sub-agent may read beside its own conversation, how many tokens of it, until when, and
// what it has read. Writes assume the caller's transaction where several belong together.

import type { Database } from "../db/connection.js";
import type { ConversationId } from "../types.js";

export interface NewGrant {
  /** `grant_` and 32 hex digits. */
  readonly id: string;
  readonly parentId: string | null;
  readonly sessionKey: string;
  readonly conversations: readonly ConversationId[];
  readonly tokenCap: number;
  readonly expiresAt: string;
}

export interface Grant extends NewGrant {
  readonly tokensUsed: number;
  readonly revokedAt: string | null;
  readonly createdAt: string;
}

export interface Read {
  /** `sum_…`, `msg_…` or `file_…` */
  readonly itemId: string;
  /** 0 where no more than a snippet was seen. */
  readonly tokens: number;
}

export interface Reading {
  readonly reads: readonly Read[];
  /** Counted for all of them; what was read twice was counted twice. */
  readonly tokens: number;
}

const GRANT = `grant_id AS id, parent_grant_id AS parentId, session_key AS sessionKey,
  conversation_ids AS conversations, token_cap AS tokenCap, tokens_used AS tokensUsed,
  expires_at AS expiresAt, revoked_at AS revokedAt, created_at AS createdAt`;

/** A grant and those it was made from. */
const CHAIN = `WITH RECURSIVE chain (id) AS (
  VALUES (?1) UNION
  SELECT g.parent_grant_id FROM chain JOIN expansion_grants g ON g.grant_id = chain.id
  WHERE g.parent_grant_id IS NOT NULL)`;

type GrantRow = Omit<Grant, "conversations"> & { conversations: string };

export class GrantStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  insert(grant: NewGrant, now: string): void {
    this.#db.run(
      `INSERT INTO expansion_grants (grant_id, parent_grant_id, session_key, conversation_ids,
         token_cap, expires_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      grant.id,
      grant.parentId,
      grant.sessionKey,
      JSON.stringify(grant.conversations),
      grant.tokenCap,
      grant.expiresAt,
      now,
    );
  }

  get(id: string): Grant | undefined {
    return this.#one(`SELECT ${GRANT} FROM expansion_grants WHERE grant_id = ?`, id);
  }

  /** A grant that neither ended nor was made from one that did. */
  holding(id: string, now: string): Grant | undefined {
    const ended = this.#db.get(
      `${CHAIN}
       SELECT 1 FROM chain JOIN expansion_grants g ON g.grant_id = chain.id
       WHERE g.revoked_at IS NOT NULL OR g.expires_at <= ?2 LIMIT 1`,
      id,
      now,
    );
    return ended ? undefined : this.get(id);
  }

  /** The newest grant of a session, whether it still holds or not. */
  latestOf(sessionKey: string): Grant | undefined {
    return this.#one(
      `SELECT ${GRANT} FROM expansion_grants WHERE session_key = ?
       ORDER BY revoked_at IS NULL DESC, expires_at DESC, created_at DESC LIMIT 1`,
      sessionKey,
    );
  }

  /**
   * Counts tokens against a grant and every grant above it, in one statement: two readers can not both
   * take the last of them. False, and nothing is counted, when one of the grants no longer holds them.
   */
  take(id: string, tokens: number, now: string): boolean {
    const { changes } = this.#db.run(
      `${CHAIN}
       UPDATE expansion_grants SET tokens_used = tokens_used + ?2
       WHERE grant_id IN (SELECT id FROM chain) AND NOT EXISTS (
         SELECT 1 FROM chain JOIN expansion_grants g ON g.grant_id = chain.id
         WHERE g.revoked_at IS NOT NULL OR g.expires_at <= ?3 OR g.tokens_used + ?2 > g.token_cap)`,
      id,
      tokens,
      now,
    );
    return changes > 0;
  }

  /** What the grant and every grant above it still hold. */
  remaining(id: string): number {
    const row = this.#db.get<{ tokens: number | null }>(
      `${CHAIN}
       SELECT min(g.token_cap - g.tokens_used) AS tokens
       FROM chain JOIN expansion_grants g ON g.grant_id = chain.id`,
      id,
    );
    return Math.max(0, row?.tokens ?? 0);
  }

  noteReads(id: string, reads: readonly Read[]): void {
    this.#db.run(
      `INSERT INTO expansion_reads (grant_id, item_id, tokens)
       SELECT ?1, json_extract(value, '$.itemId'), json_extract(value, '$.tokens') FROM json_each(?2)
       WHERE true
       ON CONFLICT DO UPDATE SET tokens = max(tokens, excluded.tokens)`,
      id,
      JSON.stringify(reads),
    );
  }

  /** What was read under a grant. */
  reading(id: string): Reading {
    const reads = this.#db.all<Read>(
      "SELECT item_id AS itemId, tokens FROM expansion_reads WHERE grant_id = ? ORDER BY item_id",
      id,
    );
    return { reads, tokens: this.get(id)?.tokensUsed ?? 0 };
  }

  /** With every grant that was made from it. */
  revoke(id: string, now: string): void {
    this.#db.run(
      `WITH RECURSIVE below (id) AS (
         VALUES (?1) UNION
         SELECT g.grant_id FROM below JOIN expansion_grants g ON g.parent_grant_id = below.id)
       UPDATE expansion_grants SET revoked_at = ?2
       WHERE grant_id IN (SELECT id FROM below) AND revoked_at IS NULL`,
      id,
      now,
    );
  }

  /** Every grant of a session. */
  ofSession(sessionKey: string): string[] {
    return this.#db
      .all<{ id: string }>(
        "SELECT grant_id AS id FROM expansion_grants WHERE session_key = ? AND revoked_at IS NULL",
        sessionKey,
      )
      .map(({ id }) => id);
  }

  /** Forgets grants that ended before a moment. */
  deleteExpiredBefore(moment: string): number {
    return this.#db.run("DELETE FROM expansion_grants WHERE expires_at < ?", moment).changes;
  }

  #one(sql: string, key: string): Grant | undefined {
    const row = this.#db.get<GrantRow>(sql, key);
    return row && { ...row, conversations: JSON.parse(row.conversations) as ConversationId[] };
  }
}
