// The view: the ordered context items of a conversation, each in the form it is shown in, and the fold
// over a stretch of them. Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import type { ConversationId, MessageId, SegmentId, SummaryId } from "../types.js";

/** Room between two ordinals, so that a publish can put items in between without renumbering. */
const ORDINAL_GAP = 1024;

/** So many summaries are named by a fold's pointer. */
const FOLDED_IDS = 8;

/** `full`: the message itself. The others show less of it and say how to get the rest. */
export type Form = "full" | "stub" | "reference";

/** An item as it is shown, where that is not the stored message itself. */
export interface Shown {
  /** The message for the model, as JSON. */
  readonly json: string;
  readonly tokens: number;
}

export type NewItem =
  | { readonly messageId: MessageId; readonly tokens: number }
  | { readonly messageId: MessageId; readonly form: Exclude<Form, "full">; readonly shown: Shown }
  | { readonly summaryId: SummaryId; readonly shown: Shown };

interface ItemPlace {
  readonly ordinal: number;
  /** As shown. */
  readonly tokens: number;
}

export interface MessageRow extends ItemPlace {
  readonly messageId: MessageId;
  readonly form: Form;
  readonly role: string;
  readonly startsTurn: boolean;
  /** Of the whole message. */
  readonly fullTokens: number;
}

export interface SummaryRow extends ItemPlace {
  readonly summaryId: SummaryId;
  readonly depth: number;
}

export type ItemRow = MessageRow | SummaryRow;

/** Where an item begins and ends on a segment's branch; null where it is not on it. */
export interface Span {
  readonly ordinal: number;
  readonly first: number | null;
  readonly last: number | null;
}

/** The tool calls a message makes, and the one it answers. */
export interface ToolLinks {
  readonly calls: readonly string[];
  readonly answers: string | null;
}

export interface Fold extends Shown {
  readonly fromOrdinal: number;
  readonly throughOrdinal: number;
}

/** What a fold stands for. */
export interface FoldFacts {
  readonly messages: number;
  readonly summaries: number;
  /** The first few of them. */
  readonly summaryIds: readonly SummaryId[];
  readonly tokens: number;
  readonly first: MessageId | null;
  readonly last: MessageId | null;
  readonly earliestAt: string;
  readonly latestAt: string;
}

export interface BreakdownRow {
  /** Null for messages. */
  readonly depth: number | null;
  readonly form: Form;
  readonly count: number;
  readonly tokens: number;
}

export interface ViewState {
  readonly version: number;
  /** Of all items, folded or not. */
  readonly tokens: number;
  /** More than the view's end has changed since it was published. */
  readonly isStale: boolean;
  /** The model gets our view; before that, the host's own messages. */
  readonly isShown: boolean;
}

const ITEM = `i.ordinal, i.tokens, i.form, i.message_id AS messageId, i.summary_id AS summaryId, m.role,
  m.starts_turn AS startsTurn, m.token_count AS fullTokens, s.depth`;

const ITEM_SOURCE = `context_items i LEFT JOIN messages m ON m.message_id = i.message_id
  LEFT JOIN summaries s ON s.summary_id = i.summary_id`;

type RawRow = ItemPlace & {
  messageId: MessageId | null;
  summaryId: SummaryId | null;
  form: Form;
  role: string;
  startsTurn: number;
  fullTokens: number;
  depth: number;
};

export class ViewStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  state(conversation: ConversationId): ViewState {
    const row = this.#db.get<{ version: number; tokens: number; stale: number; shown: number }>(
      `SELECT view_version AS version, view_tokens AS tokens, view_stale AS stale, view_shown AS shown
       FROM conversations WHERE conversation_id = ?`,
      conversation,
    );
    return {
      version: row?.version ?? 0,
      tokens: row?.tokens ?? 0,
      isStale: row?.stale === 1,
      isShown: row?.shown === 1,
    };
  }

  append(conversation: ConversationId, item: NewItem): void {
    this.insertAt(conversation, this.#lastOrdinal(conversation) + ORDINAL_GAP, item);
  }

  insertAt(conversation: ConversationId, ordinal: number, item: NewItem): void {
    const isSummary = "summaryId" in item;
    const shown = "shown" in item ? item.shown : undefined;
    this.#db.run(
      `INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, summary_id, form, tokens, shown)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      conversation,
      ordinal,
      isSummary ? "summary" : "message",
      isSummary ? null : item.messageId,
      isSummary ? item.summaryId : null,
      "form" in item ? item.form : "full",
      shown?.tokens ?? ("tokens" in item ? item.tokens : 0),
      shown?.json ?? null,
    );
  }

  #lastOrdinal(conversation: ConversationId): number {
    return (
      this.#db.get<{ ordinal: number | null }>(
        "SELECT max(ordinal) AS ordinal FROM context_items WHERE conversation_id = ?",
        conversation,
      )?.ordinal ?? 0
    );
  }

  /** Takes the items from one ordinal to another, both included, out of the view. */
  remove(conversation: ConversationId, from: number, through: number): number {
    return this.#db.run(
      "DELETE FROM context_items WHERE conversation_id = ? AND ordinal BETWEEN ? AND ?",
      conversation,
      from,
      through,
    ).changes;
  }

  setForm(conversation: ConversationId, ordinal: number, form: Form, shown: Shown): void {
    this.#db.run(
      `UPDATE context_items SET form = ?, tokens = ?, shown = ?
       WHERE conversation_id = ? AND ordinal = ?`,
      form,
      shown.tokens,
      shown.json,
      conversation,
      ordinal,
    );
  }

  /** Items in order from the oldest. */
  oldest(conversation: ConversationId, before: number, limit: number): ItemRow[] {
    return this.#db
      .all<RawRow>(
        `SELECT ${ITEM} FROM ${ITEM_SOURCE}
         WHERE i.conversation_id = ? AND i.ordinal < ? ORDER BY i.ordinal LIMIT ?`,
        conversation,
        before,
        limit,
      )
      .map(toItemRow);
  }

  /** The newest items, in order. */
  newest(conversation: ConversationId, limit: number): ItemRow[] {
    return this.#db
      .all<RawRow>(
        `SELECT ${ITEM} FROM ${ITEM_SOURCE}
         WHERE i.conversation_id = ? ORDER BY i.ordinal DESC LIMIT ?`,
        conversation,
        limit,
      )
      .map(toItemRow)
      .toReversed();
  }

  /** Where the items stand on a segment's branch, in order. */
  spans(conversation: ConversationId, segment: SegmentId): Span[] {
    return this.#db.all<Span>(
      `SELECT i.ordinal, f.position AS first, l.position AS last
       FROM context_items i LEFT JOIN summaries s ON s.summary_id = i.summary_id
       LEFT JOIN transcript_entries f
         ON f.message_id = coalesce(i.message_id, s.first_message_id) AND f.segment_id = ?2
       LEFT JOIN transcript_entries l
         ON l.message_id = coalesce(i.message_id, s.last_message_id) AND l.segment_id = ?2
       WHERE i.conversation_id = ?1 ORDER BY i.ordinal`,
      conversation,
      segment,
    );
  }

  /** Which messages of the items make or answer tool calls. */
  toolLinks(messages: readonly MessageId[]): Map<MessageId, ToolLinks> {
    const rows = this.#db.all<{ id: MessageId; type: string; call: string }>(
      `SELECT p.message_id AS id, p.part_type AS type, p.tool_call_id AS call
       FROM json_each(?) j JOIN message_parts p ON p.message_id = j.value
       WHERE p.tool_call_id IS NOT NULL ORDER BY p.message_id, p.ordinal`,
      JSON.stringify(messages),
    );
    const links = new Map<MessageId, { calls: string[]; answers: string | null }>();
    for (const { id, type, call } of rows) {
      const link = links.get(id) ?? { calls: [], answers: null };
      if (type === "toolCall") link.calls.push(call);
      else link.answers ??= call;
      links.set(id, link);
    }
    return links;
  }

  /** What the model is shown: each item's message as JSON, with the fold's pointer in its place. */
  shown(conversation: ConversationId): (Shown & { readonly ordinal: number })[] {
    const fold = this.fold(conversation);
    const rows = this.#db.all<Shown & { ordinal: number }>(
      `SELECT i.ordinal, i.tokens, coalesce(i.shown, m.body) AS json
       FROM context_items i LEFT JOIN messages m ON m.message_id = i.message_id
       WHERE i.conversation_id = ?1 AND (?2 IS NULL OR i.ordinal < ?2 OR i.ordinal > ?3)
       ORDER BY i.ordinal`,
      conversation,
      fold?.fromOrdinal ?? null,
      fold?.throughOrdinal ?? null,
    );
    if (!fold) return rows;
    const at = rows.findIndex(({ ordinal }) => ordinal > fold.fromOrdinal);
    const pointer = { ordinal: fold.fromOrdinal, tokens: fold.tokens, json: fold.json };
    return rows.toSpliced(at < 0 ? rows.length : at, 0, pointer);
  }

  /** How many items of each sort there are, and what they cost. */
  breakdown(conversation: ConversationId): BreakdownRow[] {
    return this.#db.all<BreakdownRow>(
      `SELECT s.depth, i.form, count(*) AS count, sum(i.tokens) AS tokens
       FROM context_items i LEFT JOIN summaries s ON s.summary_id = i.summary_id
       WHERE i.conversation_id = ? GROUP BY s.depth, i.form ORDER BY s.depth, i.form`,
      conversation,
    );
  }

  /** True when any item is shown as something else than its message. */
  hasShortForms(conversation: ConversationId): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM context_items WHERE conversation_id = ? AND shown IS NOT NULL LIMIT 1",
      conversation,
    );
    return row !== undefined;
  }

  hasSummaries(conversation: ConversationId): boolean {
    const row = this.#db.get(
      "SELECT 1 FROM context_items WHERE conversation_id = ? AND item_type = 'summary' LIMIT 1",
      conversation,
    );
    return row !== undefined;
  }

  /** What stands between two ordinals, both included. */
  foldFacts(conversation: ConversationId, from: number, through: number): FoldFacts {
    const range = "i.conversation_id = ? AND i.ordinal BETWEEN ? AND ?";
    const row = this.#db.get<Omit<FoldFacts, "summaryIds">>(
      `SELECT count(i.message_id) AS messages, count(i.summary_id) AS summaries,
              coalesce(sum(i.tokens), 0) AS tokens,
              min(coalesce(i.message_id, s.first_message_id)) AS first,
              max(coalesce(i.message_id, s.last_message_id)) AS last,
              coalesce(min(coalesce(m.created_at, s.earliest_at)), '') AS earliestAt,
              coalesce(max(coalesce(m.created_at, s.latest_at)), '') AS latestAt
       FROM ${ITEM_SOURCE} WHERE ${range}`,
      conversation,
      from,
      through,
    );
    const ids = this.#db.all<{ id: SummaryId }>(
      `SELECT i.summary_id AS id FROM context_items i
       WHERE ${range} AND i.summary_id IS NOT NULL ORDER BY i.ordinal LIMIT ${FOLDED_IDS}`,
      conversation,
      from,
      through,
    );
    return { ...(row as Omit<FoldFacts, "summaryIds">), summaryIds: ids.map(({ id }) => id) };
  }

  fold(conversation: ConversationId): Fold | undefined {
    return this.#db.get<Fold>(
      `SELECT from_ordinal AS fromOrdinal, through_ordinal AS throughOrdinal, tokens, shown AS json
       FROM folds WHERE conversation_id = ?`,
      conversation,
    );
  }

  setFold(conversation: ConversationId, fold: Fold, now: string): void {
    this.#db.run(
      `INSERT OR REPLACE INTO folds (conversation_id, from_ordinal, through_ordinal, tokens, shown, created_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      conversation,
      fold.fromOrdinal,
      fold.throughOrdinal,
      fold.tokens,
      fold.json,
      now,
    );
  }

  clearFold(conversation: ConversationId): boolean {
    return this.#db.run("DELETE FROM folds WHERE conversation_id = ?", conversation).changes > 0;
  }

  /** Says that what the model sees has changed other than by growing. Returns the new version. */
  bumpVersion(conversation: ConversationId): number {
    this.#db.run(
      "UPDATE conversations SET view_version = view_version + 1 WHERE conversation_id = ?",
      conversation,
    );
    return this.state(conversation).version;
  }

  markShown(conversation: ConversationId): void {
    this.#db.run("UPDATE conversations SET view_shown = 1 WHERE conversation_id = ?", conversation);
  }

  /** Says that more than the view's end has changed. It is published anew once the sync is through. */
  markStale(conversation: ConversationId): void {
    this.#db.run(
      "UPDATE conversations SET view_stale = 1 WHERE conversation_id = ? AND view_stale = 0",
      conversation,
    );
  }

  /** The view equals its branch again. One without any short form or summary is not yet shown. */
  settleRebuild(conversation: ConversationId, { isChanged }: { isChanged: boolean }): void {
    this.#db.run(
      `UPDATE conversations SET view_stale = 0, view_version = view_version + ?2,
         view_shown = view_shown AND EXISTS (
           SELECT 1 FROM context_items WHERE conversation_id = ?1 AND shown IS NOT NULL)
       WHERE conversation_id = ?1`,
      conversation,
      isChanged ? 1 : 0,
    );
  }
}

function toItemRow(row: RawRow): ItemRow {
  const { ordinal, tokens, summaryId, depth } = row;
  if (summaryId !== null) return { ordinal, tokens, summaryId, depth };
  const { form, role, fullTokens } = row;
  const messageId = row.messageId as MessageId;
  return { ordinal, tokens, messageId, form, role, fullTokens, startsTurn: row.startsTurn === 1 };
}
