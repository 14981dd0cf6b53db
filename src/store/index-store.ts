// What keeps the full-text indexes: writes of single texts, and the work the background does on them.
// Writes assume the caller's transaction.

import type { Database } from "../db/connection.js";
import { dateWords, indexForm, scopeToken } from "../search/index-text.js";
import { searchTextOfBody } from "../search/search-text.js";
import type { ConversationId, MessageId, SummaryId } from "../types.js";

type IndexName = "search_messages" | "search_documents_index";
type BacklogKind = "messages" | "documents";

interface Indexed {
  readonly conversationId: number;
  readonly createdAt: string;
  readonly text: string;
}

interface Waiting {
  readonly id: number;
  readonly conversationId: number;
  readonly createdAt: string;
  readonly stored: string;
}

/** One step holds up the event loop of a gateway, so it ends at whichever comes first. */
const STEP_ROWS = 500;
const STEP_CHARACTERS = 200_000;
/** Pages of the index that one step may write. */
const MERGE_PAGES = 64;

const WAITING: Record<BacklogKind, string> = {
  messages: `SELECT message_id AS id, conversation_id AS conversationId, created_at AS createdAt,
      body AS stored
    FROM messages WHERE message_id BETWEEN ? AND ? ORDER BY message_id DESC LIMIT ${STEP_ROWS}`,
  documents: `SELECT d.document_id AS id, s.conversation_id AS conversationId,
      coalesce(s.latest_at, s.created_at) AS createdAt, s.content AS stored
    FROM search_documents d JOIN summaries s USING (summary_id)
    WHERE d.document_id BETWEEN ? AND ? ORDER BY d.document_id DESC LIMIT ${STEP_ROWS}`,
};

export class IndexStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  addMessage(
    message: MessageId,
    conversation: ConversationId,
    { createdAt, searchText }: { createdAt: string; searchText: string },
  ): void {
    const text = searchText;
    this.#add("search_messages", message, { conversationId: conversation, createdAt, text });
  }

  addSummary(summary: SummaryId, { conversationId, latestAt, content }: SummaryText): void {
    const { lastId } = this.#db.run(
      "INSERT INTO search_documents (summary_id) VALUES (?)",
      summary,
    );
    const text = { conversationId, createdAt: latestAt, text: content };
    this.#add("search_documents_index", lastId, text);
  }

  /** Replaces what stood under the id, if anything did. */
  #add(index: IndexName, id: number, { conversationId, createdAt, text }: Indexed): void {
    this.#db.run(
      `INSERT OR REPLACE INTO ${index} (rowid, text, dates, scope) VALUES (?, ?, ?, ?)`,
      id,
      indexForm(text),
      dateWords(createdAt),
      scopeToken(conversationId),
    );
  }

  /** True while something that release 0.1.x left is not indexed. */
  hasBacklog(): boolean {
    return this.#db.get("SELECT 1 FROM search_backlog LIMIT 1") !== undefined;
  }

  /** Indexes some of what release 0.1.x left. False when nothing is left to index. */
  workOffBacklog(): boolean {
    const range = this.#db.get<{ kind: BacklogKind; firstId: number; lastId: number }>(
      `SELECT kind, first_id AS firstId, last_id AS lastId FROM search_backlog
       ORDER BY kind DESC, first_id DESC LIMIT 1`,
    );
    if (!range) return false;
    const { kind, firstId, lastId } = range;
    const done = this.#indexDown(kind, firstId, lastId);
    if (done === undefined || done <= firstId) {
      this.#db.run("DELETE FROM search_backlog WHERE kind = ? AND first_id = ?", kind, firstId);
    } else {
      this.#db.run(
        "UPDATE search_backlog SET last_id = ? WHERE kind = ? AND first_id = ?",
        done - 1,
        kind,
        firstId,
      );
    }
    return true;
  }

  /** The lowest id that was indexed; undefined when the range is empty. */
  #indexDown(kind: BacklogKind, firstId: number, lastId: number): number | undefined {
    const index = kind === "messages" ? "search_messages" : "search_documents_index";
    let characters = 0;
    let lowest: number | undefined;
    for (const row of this.#db.iterate<Waiting>(WAITING[kind], firstId, lastId)) {
      const text = kind === "messages" ? searchTextOfBody(row.stored) : row.stored;
      this.#add(index, row.id, { ...row, text });
      lowest = row.id;
      characters += text.length;
      if (characters > STEP_CHARACTERS) break;
    }
    return lowest;
  }

  /** Says how far the index has grown; nothing is to be merged while this stays the same. */
  newest(): number {
    const row = this.#db.get<{ newest: number }>(
      `SELECT coalesce((SELECT max(id) FROM search_messages_docsize), 0)
            + coalesce((SELECT max(id) FROM search_documents_index_docsize), 0) AS newest`,
    );
    return row?.newest ?? 0;
  }

  /** Merges a little of the index. False when it is as merged as it should be. */
  merge(): boolean {
    const names: readonly IndexName[] = ["search_messages", "search_documents_index"];
    return names.some((name) => this.#mergeOne(name));
  }

  #mergeOne(name: IndexName): boolean {
    const before = this.#changes();
    this.#db.run(`INSERT INTO ${name} (${name}, rank) VALUES ('merge', ${MERGE_PAGES})`);
    // The command itself counts as one change; more means that pages were written.
    return this.#changes() - before >= 2;
  }

  #changes(): number {
    return this.#db.get<{ total: number }>("SELECT total_changes() AS total")?.total ?? 0;
  }
}

interface SummaryText {
  readonly conversationId: ConversationId;
  readonly latestAt: string;
  readonly content: string;
}
