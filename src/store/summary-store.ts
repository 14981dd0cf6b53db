// The nodes of the summary graph. A node is written once and never altered; what changes about it
// (superseded, published) stands beside it. Writes assume the caller's transaction.

import { randomBytes } from "node:crypto";
import type { Database } from "../db/connection.js";
import type { ConversationId, MessageId, SummaryId } from "../types.js";
import { IndexStore } from "./index-store.js";

/** Who wrote a summary. A `deterministic` one is marked: a model that works again supersedes it. */
export type SummaryLevel = "normal" | "aggressive" | "deterministic";

export interface NewSummary {
  readonly conversationId: ConversationId;
  readonly depth: number;
  readonly content: string;
  readonly tokens: number;
  readonly earliestAt: string;
  readonly latestAt: string;
  readonly descendantCount: number;
  readonly messageCount: number;
  readonly firstMessageId: MessageId;
  readonly lastMessageId: MessageId;
  readonly fileIds: readonly string[];
  readonly level: SummaryLevel;
  readonly model: string | null;
  readonly promptVersion: string;
  readonly previousContext: string | null;
  readonly sourceTokens: number;
}

export interface Summary extends NewSummary {
  readonly id: SummaryId;
  readonly createdAt: string;
}

/** What a node was built from, in order: messages for a leaf, finer nodes for a condensed one. */
export type Sources =
  | { readonly kind: "leaf"; readonly messages: readonly MessageId[] }
  | { readonly kind: "condensed"; readonly summaries: readonly SummaryId[] };

/** A node and one of its sources. */
export interface Edge<Source> {
  readonly id: SummaryId;
  readonly source: Source;
}

const SUMMARY = `s.summary_id AS id, s.conversation_id AS conversationId, s.depth, s.content,
  s.token_count AS tokens, coalesce(s.earliest_at, s.created_at) AS earliestAt,
  coalesce(s.latest_at, s.created_at) AS latestAt, s.descendant_count AS descendantCount,
  s.message_count AS messageCount, s.first_message_id AS firstMessageId,
  s.last_message_id AS lastMessageId, s.file_ids AS fileIds, s.level, s.model,
  s.prompt_version AS promptVersion, s.previous_context AS previousContext,
  s.source_tokens AS sourceTokens, s.created_at AS createdAt`;

type SummaryRow = Omit<Summary, "fileIds"> & { fileIds: string };

export class SummaryStore {
  readonly #db: Database;
  readonly #index: IndexStore;

  constructor(db: Database) {
    this.#db = db;
    this.#index = new IndexStore(db);
  }

  insert(summary: NewSummary, sources: Sources, now: string): SummaryId {
    const id = this.#freshId();
    this.#db.run(
      `INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at,
         latest_at, descendant_count, message_count, first_message_id, last_message_id, file_ids, level,
         model, prompt_version, previous_context, source_tokens, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      summary.conversationId,
      sources.kind,
      summary.depth,
      summary.content,
      summary.tokens,
      summary.earliestAt,
      summary.latestAt,
      summary.descendantCount,
      summary.messageCount,
      summary.firstMessageId,
      summary.lastMessageId,
      JSON.stringify(summary.fileIds),
      summary.level,
      summary.model,
      summary.promptVersion,
      summary.previousContext,
      summary.sourceTokens,
      now,
    );
    this.#link(id, sources);
    this.#index.addSummary(id, summary);
    return id;
  }

  #link(id: SummaryId, sources: Sources): void {
    const [table, column, ids] =
      sources.kind === "leaf"
        ? ["summary_messages", "message_id", sources.messages]
        : ["summary_parents", "parent_summary_id", sources.summaries];
    for (const [ordinal, source] of ids.entries()) {
      this.#db.run(
        `INSERT INTO ${table} (summary_id, ordinal, ${column}) VALUES (?, ?, ?)`,
        id,
        ordinal,
        source,
      );
    }
  }

  /** Random, and looked up: an id is never given twice. */
  #freshId(): SummaryId {
    for (;;) {
      const id = `sum_${randomBytes(8).toString("hex")}` as SummaryId;
      if (!this.#db.get("SELECT 1 FROM summaries WHERE summary_id = ?", id)) return id;
    }
  }

  get(id: SummaryId): Summary | undefined {
    return this.many([id])[0];
  }

  /** The nodes of a list, in the list's order. */
  many(ids: readonly SummaryId[]): Summary[] {
    return this.#db
      .all<SummaryRow>(
        `SELECT ${SUMMARY} FROM json_each(?) j JOIN summaries s ON s.summary_id = j.value ORDER BY j.key`,
        JSON.stringify(ids),
      )
      .map((row) => ({ ...row, fileIds: JSON.parse(row.fileIds) as string[] }));
  }

  messageIds(leaf: SummaryId): MessageId[] {
    return this.#db
      .all<{ id: MessageId }>(
        "SELECT message_id AS id FROM summary_messages WHERE summary_id = ? ORDER BY ordinal",
        leaf,
      )
      .map((row) => row.id);
  }

  sourceIds(node: SummaryId): SummaryId[] {
    return this.#db
      .all<{ id: SummaryId }>(
        "SELECT parent_summary_id AS id FROM summary_parents WHERE summary_id = ? ORDER BY ordinal",
        node,
      )
      .map((row) => row.id);
  }

  /**
   * Whole leaves that cover any of the messages, with all of what they cover that goes to a model:
   * leaves of release 0.1.x cover rows that do not.
   */
  leavesOver(messages: readonly MessageId[]): Edge<MessageId>[] {
    return this.#db.all<Edge<MessageId>>(
      `SELECT sm.summary_id AS id, sm.message_id AS source
       FROM summary_messages sm JOIN messages m ON m.message_id = sm.message_id AND m.in_context = 1
       WHERE sm.summary_id IN (
         SELECT o.summary_id FROM json_each(?) j JOIN summary_messages o ON o.message_id = j.value)
       ORDER BY sm.summary_id, sm.ordinal`,
      JSON.stringify(messages),
    );
  }

  /** Condensed nodes built from any of the nodes, with all of their sources. */
  builtFrom(nodes: readonly SummaryId[]): Edge<SummaryId>[] {
    return this.#db.all<Edge<SummaryId>>(
      `SELECT sp.summary_id AS id, sp.parent_summary_id AS source FROM summary_parents sp
       WHERE sp.summary_id IN (
         SELECT o.summary_id FROM json_each(?) j
         JOIN summary_parents o ON o.parent_summary_id = j.value)
       ORDER BY sp.summary_id, sp.ordinal`,
      JSON.stringify(nodes),
    );
  }

  supersede(old: SummaryId, by: SummaryId, reason: string, now: string): void {
    this.#db.run(
      `INSERT INTO supersessions (summary_id, superseded_by, conversation_id, reason, created_at)
       SELECT ?, summary_id, conversation_id, ?, ? FROM summaries WHERE summary_id = ?`,
      old,
      reason,
      now,
      by,
    );
  }

  /** For each of the nodes that was superseded, the node that stands for it now. */
  successors(nodes: readonly SummaryId[]): Map<SummaryId, SummaryId> {
    const rows = this.#db.all<{ id: SummaryId; successor: SummaryId }>(
      `WITH RECURSIVE chain (id, successor) AS (
         SELECT s.summary_id, s.superseded_by FROM json_each(?) j
         JOIN supersessions s ON s.summary_id = j.value
         UNION ALL
         SELECT c.id, s.superseded_by FROM chain c JOIN supersessions s ON s.summary_id = c.successor)
       SELECT id, successor FROM chain c
       WHERE NOT EXISTS (SELECT 1 FROM supersessions s WHERE s.summary_id = c.successor)`,
      JSON.stringify(nodes),
    );
    return new Map(rows.map(({ id, successor }) => [id, successor]));
  }

  /** Marked nodes of a conversation that nothing supersedes, the finest and oldest first. */
  marked(conversation: ConversationId): SummaryId[] {
    return this.#db
      .all<{ id: SummaryId }>(
        `SELECT s.summary_id AS id FROM summaries s
         WHERE s.conversation_id = ? AND s.level = 'deterministic'
           AND NOT EXISTS (SELECT 1 FROM supersessions x WHERE x.summary_id = s.summary_id)
         ORDER BY s.depth, s.rowid`,
        conversation,
      )
      .map((row) => row.id);
  }

  /** Nodes built from something that was superseded, and not superseded themselves; finest first. */
  stale(conversation: ConversationId): SummaryId[] {
    return this.#db
      .all<{ id: SummaryId }>(
        `SELECT DISTINCT s.summary_id AS id FROM supersessions x
         JOIN summary_parents sp ON sp.parent_summary_id = x.summary_id
         JOIN summaries s ON s.summary_id = sp.summary_id
         WHERE x.conversation_id = ?
           AND NOT EXISTS (SELECT 1 FROM supersessions y WHERE y.summary_id = s.summary_id)
         ORDER BY s.depth, s.rowid`,
        conversation,
      )
      .map((row) => row.id);
  }

  /** With everything beneath it: where its branch is cut, its sources stand for themselves. */
  markPublished(node: SummaryId, viewVersion: number, now: string): void {
    this.#db.run(
      `WITH RECURSIVE below (id) AS (
         VALUES (?1)
         UNION
         SELECT sp.parent_summary_id FROM below JOIN summary_parents sp ON sp.summary_id = below.id
         WHERE NOT EXISTS (SELECT 1 FROM publications p WHERE p.summary_id = sp.parent_summary_id))
       INSERT INTO publications (summary_id, view_version, published_at)
       SELECT id, ?2, ?3 FROM below WHERE true ON CONFLICT DO NOTHING`,
      node,
      viewVersion,
      now,
    );
  }

  /** Those of the nodes that were ever part of a view, or beneath one that was. */
  published(nodes: readonly SummaryId[]): Set<SummaryId> {
    const rows = this.#db.all<{ id: SummaryId }>(
      "SELECT p.summary_id AS id FROM json_each(?) j JOIN publications p ON p.summary_id = j.value",
      JSON.stringify(nodes),
    );
    return new Set(rows.map((row) => row.id));
  }
}
