// Reads for a search: the full-text indexes, the rows behind their hits, and scans for regular
// expressions. Of one moment when the caller reads in a snapshot.

import type { Reader } from "../db/read-only.js";
import { scopeToken } from "../search/index-text.js";
import type { ConversationId, MessageId, SegmentId, SummaryId } from "../types.js";

export type Index = "messages" | "summaries";

/** What a search may look at. */
export interface Bounds {
  readonly conversations: readonly ConversationId[];
  readonly since?: string | undefined;
  readonly before?: string | undefined;
}

export interface Lookup {
  readonly index: Index;
  readonly match: string;
  readonly through: number;
  readonly order: "best" | "newest";
  readonly limit: number;
}

export interface IndexHit {
  readonly id: number;
  /** Of bm25: the lower the better, and never above zero. */
  readonly rank: number;
}

export interface PlacedMessage {
  readonly id: MessageId;
  readonly segment: SegmentId;
  readonly position: number;
  readonly role: string;
  readonly createdAt: string;
}

export interface MessageRow {
  readonly id: MessageId;
  readonly conversationId: ConversationId;
  readonly role: string;
  readonly createdAt: string;
  readonly body: string;
}

export interface SummaryRow {
  readonly documentId: number;
  readonly id: SummaryId;
  readonly conversationId: ConversationId;
  readonly depth: number;
  readonly kind: "leaf" | "condensed";
  readonly createdAt: string;
  readonly earliestAt: string;
  readonly latestAt: string;
  readonly content: string;
}

export interface Window {
  readonly from: number;
  readonly below: number;
  /** Only rows that hold all of these, in JSON as stored; in lower case where case does not count. */
  readonly literals: readonly string[];
  readonly ignoresCase: boolean;
}

/** Above it, rows are looked at one by one. */
const MOST_SCOPE_TOKENS = 16;
const FTS = { messages: "search_messages", summaries: "search_documents_index" } as const;

const EARLIEST = "coalesce(s.earliest_at, s.created_at)";
const LATEST = "coalesce(s.latest_at, s.created_at)";
const SUMMARY = `d.document_id AS documentId, s.summary_id AS id, s.conversation_id AS conversationId,
  s.depth, s.kind, ${LATEST} AS createdAt, ${EARLIEST} AS earliestAt, ${LATEST} AS latestAt, s.content`;
const MESSAGE =
  "m.message_id AS id, m.conversation_id AS conversationId, m.role, m.created_at AS createdAt, m.body";

const ROWS = {
  messages: {
    join: "CROSS JOIN messages m ON m.message_id = search_messages.rowid",
    since: "m.created_at >= ?",
    before: "m.created_at < ?",
    conversation: "m.conversation_id",
    current: "",
  },
  summaries: {
    join: `CROSS JOIN search_documents d ON d.document_id = search_documents_index.rowid
      CROSS JOIN summaries s ON s.summary_id = d.summary_id`,
    since: `${LATEST} >= ?`,
    before: `${EARLIEST} < ?`,
    conversation: "s.conversation_id",
    current: `AND NOT EXISTS (SELECT 1 FROM search_documents o
      JOIN supersessions x ON x.summary_id = o.summary_id
      WHERE o.document_id = search_documents_index.rowid)`,
  },
} as const;

export class SearchStore {
  readonly #db: Reader;

  constructor(db: Reader) {
    this.#db = db;
  }

  /** False for a database that no release with an index has opened yet. */
  isReady(): boolean {
    const found = this.#db.get(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'search_backlog'",
    );
    return found !== undefined;
  }

  /** How many messages and summaries wait to be indexed. */
  backlog(): number {
    const row = this.#db.get<{ count: number }>(
      "SELECT coalesce(sum(last_id - first_id + 1), 0) AS count FROM search_backlog",
    );
    return row?.count ?? 0;
  }

  newestIds(): { message: number; document: number } {
    const row = this.#db.get<{ message: number; document: number }>(
      `SELECT coalesce((SELECT max(message_id) FROM messages), 0) AS message,
              coalesce((SELECT max(document_id) FROM search_documents), 0) AS document`,
    );
    return row ?? { message: 0, document: 0 };
  }

  /** The rows of an index: FTS5 keeps their number at the head of its record of averages. */
  indexedRows(index: Index): number {
    const row = this.#db.get<{ block: Uint8Array }>(
      `SELECT block FROM ${FTS[index]}_data WHERE id = 1`,
    );
    return row ? firstVarint(row.block) : 0;
  }

  matchingRows(index: Index, match: string): number {
    const row = this.#db.get<{ count: number }>(
      `SELECT count(*) AS count FROM ${FTS[index]} WHERE ${FTS[index]} MATCH ?`,
      match,
    );
    return row?.count ?? 0;
  }

  /** No summaries that were superseded: those that stand for them now are found by themselves. */
  lookUp(lookup: Lookup, bounds: Bounds): IndexHit[] {
    const fts = FTS[lookup.index];
    const { scope, ...filter } = this.#narrow(lookup.index, bounds);
    const order = lookup.order === "best" ? `${fts}.rank` : `${fts}.rowid DESC`;
    const rank = lookup.order === "best" ? `${fts}.rank` : "0";
    return this.#db.all<IndexHit>(
      `SELECT ${fts}.rowid AS id, ${rank} AS rank FROM ${fts} ${filter.join}
       WHERE ${fts} MATCH ? AND ${fts}.rowid <= ? ${filter.where} ORDER BY ${order} LIMIT ?`,
      `${scope}(${lookup.match})`,
      lookup.through,
      ...filter.params,
      lookup.limit,
    );
  }

  #narrow(
    index: Index,
    { conversations, since, before }: Bounds,
  ): { scope: string; join: string; where: string; params: (string | number)[] } {
    const rows = ROWS[index];
    const where: string[] = [];
    const params: string[] = [];
    const add = (condition: string, value: string): void => {
      where.push(`AND ${condition}`);
      params.push(value);
    };
    if (since !== undefined) add(rows.since, since);
    if (before !== undefined) add(rows.before, before);
    let scope = "";
    if (!this.#areAll(conversations)) {
      if (conversations.length <= MOST_SCOPE_TOKENS) {
        const tokens = conversations.map((id) => `"${scopeToken(id)}"`).join(" OR ");
        scope = `{scope} : (${tokens}) AND `;
      } else {
        add(
          `${rows.conversation} IN (SELECT value FROM json_each(?))`,
          JSON.stringify(conversations),
        );
      }
    }
    const join = where.length > 0 ? rows.join : "";
    return { scope, join, where: [...where, rows.current].join(" "), params };
  }

  #areAll(conversations: readonly ConversationId[]): boolean {
    const row = this.#db.get<{ others: number }>(
      `SELECT EXISTS (SELECT 1 FROM conversations
         WHERE conversation_id NOT IN (SELECT value FROM json_each(?))) AS others`,
      JSON.stringify(conversations),
    );
    return row?.others === 0;
  }

  /** Where messages stand; those on no branch stand in the order in which they came. */
  places(ids: readonly MessageId[]): PlacedMessage[] {
    return this.#db.all<PlacedMessage>(
      `SELECT m.message_id AS id, coalesce(t.segment_id, -m.conversation_id) AS segment,
              coalesce(t.position, m.message_id) AS position, m.role, m.created_at AS createdAt
       FROM json_each(?) j JOIN messages m ON m.message_id = j.value
       LEFT JOIN transcript_entries t ON t.message_id = m.message_id`,
      JSON.stringify(ids),
    );
  }

  /** What stands within some places before and behind. */
  around(places: readonly { segment: number; position: number }[], reach: number): PlacedMessage[] {
    return this.#db.all<PlacedMessage>(
      `SELECT DISTINCT m.message_id AS id, t.segment_id AS segment, t.position, m.role,
              m.created_at AS createdAt
       FROM json_each(?1) j
       JOIN transcript_entries t ON t.segment_id = j.value ->> 'segment'
         AND t.position BETWEEN (j.value ->> 'position') - ?2 AND (j.value ->> 'position') + ?2
       JOIN messages m ON m.message_id = t.message_id`,
      JSON.stringify(places),
      reach,
    );
  }

  messages(ids: readonly MessageId[]): MessageRow[] {
    return this.#db.all<MessageRow>(
      `SELECT ${MESSAGE} FROM json_each(?) j JOIN messages m ON m.message_id = j.value ORDER BY j.key`,
      JSON.stringify(ids),
    );
  }

  summaries(documents: readonly number[]): SummaryRow[] {
    return this.#db.all<SummaryRow>(
      `SELECT ${SUMMARY} FROM json_each(?) j JOIN search_documents d ON d.document_id = j.value
       JOIN summaries s ON s.summary_id = d.summary_id ORDER BY j.key`,
      JSON.stringify(documents),
    );
  }

  /** For each message the node that shows it in the view, else its newest leaf that is not replaced. */
  covers(ids: readonly MessageId[]): Map<MessageId, SummaryId> {
    const rows = this.#db.all<{ message: MessageId; node: SummaryId }>(
      `WITH RECURSIVE over (message, node, steps) AS (
         SELECT sm.message_id, sm.summary_id, 0
         FROM json_each(?) j JOIN summary_messages sm ON sm.message_id = j.value
         UNION
         SELECT o.message, sp.summary_id, o.steps + 1
         FROM over o JOIN summary_parents sp ON sp.parent_summary_id = o.node
         WHERE o.steps < 50)
       SELECT o.message, o.node,
              EXISTS (SELECT 1 FROM context_items c WHERE c.summary_id = o.node) AS inView,
              EXISTS (SELECT 1 FROM supersessions x WHERE x.summary_id = o.node) AS isOld
       FROM over o JOIN summaries s ON s.summary_id = o.node
       ORDER BY inView, o.steps DESC, isOld DESC, s.created_at`,
      JSON.stringify(ids),
    );
    return new Map(rows.map(({ message, node }) => [message, node]));
  }

  /** Messages of a range of ids, the newest first. */
  scanMessages(window: Window, bounds: Bounds): Generator<MessageRow, void> {
    const { where, params } = filters(window, bounds, "m", "m.body");
    return this.#db.iterate<MessageRow>(
      `SELECT ${MESSAGE} FROM messages m
       WHERE m.message_id >= ? AND m.message_id < ? ${where} ORDER BY m.message_id DESC`,
      window.from,
      window.below,
      ...params,
    );
  }

  /** Without those that were superseded. */
  scanSummaries(window: Window, bounds: Bounds): Generator<SummaryRow, void> {
    const { where, params } = filters(window, bounds, "s", "s.content");
    return this.#db.iterate<SummaryRow>(
      `SELECT ${SUMMARY} FROM search_documents d JOIN summaries s ON s.summary_id = d.summary_id
       WHERE d.document_id >= ? AND d.document_id < ? ${where}
         AND NOT EXISTS (SELECT 1 FROM supersessions x WHERE x.summary_id = s.summary_id)
       ORDER BY d.document_id DESC`,
      window.from,
      window.below,
      ...params,
    );
  }
}

function filters(
  { literals, ignoresCase }: Window,
  { conversations, since, before }: Bounds,
  table: "m" | "s",
  text: string,
): { where: string; params: (string | number)[] } {
  const rows = table === "m" ? ROWS.messages : ROWS.summaries;
  const searched = ignoresCase ? `lower(${text})` : text;
  const conditions: [string, string | undefined][] = [
    // The plus keeps SQLite from an index that would lead it through the whole conversation each time.
    [
      `+${table}.conversation_id IN (SELECT value FROM json_each(?))`,
      JSON.stringify(conversations),
    ],
    [rows.since, since],
    [rows.before, before],
    ...literals.map((literal): [string, string] => [`instr(${searched}, ?) > 0`, literal]),
  ];
  const used = conditions.filter((pair): pair is [string, string] => pair[1] !== undefined);
  return {
    where: used.map(([condition]) => `AND ${condition}`).join(" "),
    params: used.map(([, value]) => value),
  };
}

/** SQLite's variable-length integers: seven bits a byte, the highest first. */
function firstVarint(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes.subarray(0, 8)) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) break;
  }
  return value;
}
