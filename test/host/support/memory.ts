// What the plugin stored, read from its database file as a stranger would.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { OpenClawHost } from "../harness/openclaw-host.js";

export interface StoredRow {
  readonly entryId: string | null;
  readonly position: number;
  /** The exact JSON text. */
  readonly body: string;
}

export interface Receipt {
  readonly firstEntryId: string;
  readonly lastEntryId: string;
}

export class Memory {
  readonly #path: string;

  constructor(host: OpenClawHost) {
    this.#path = join(host.stateDir, "lcm.db");
  }

  /** The branch of a session id, in order. */
  branch(sessionId: string): StoredRow[] {
    return this.all<StoredRow>(
      `SELECT m.entry_id AS entryId, t.position, m.body
       FROM segments s JOIN transcript_entries t USING (segment_id) JOIN messages m USING (message_id)
       WHERE s.session_id = ? ORDER BY t.position`,
      sessionId,
    );
  }

  /** The entries of the view of a session key, in order. */
  view(sessionKey: string): string[] {
    return this.all<{ entryId: string }>(
      `SELECT m.entry_id AS entryId FROM conversations c
       JOIN context_items i USING (conversation_id) JOIN messages m USING (message_id)
       WHERE c.session_key = ? AND c.hidden_at IS NULL ORDER BY i.ordinal`,
      sessionKey,
    ).map((row) => row.entryId);
  }

  receipts(sessionKey: string): Receipt[] {
    return this.all<Receipt>(
      `SELECT r.first_entry_id AS firstEntryId, r.last_entry_id AS lastEntryId
       FROM turn_receipts r JOIN conversations c USING (conversation_id)
       WHERE c.session_key = ? ORDER BY r.receipt_id`,
      sessionKey,
    );
  }

  /** How often each kind of sync event was recorded for a session key. */
  events(sessionKey: string): Record<string, number> {
    const rows = this.all<{ kind: string; count: number }>(
      `SELECT e.kind, count(*) AS count FROM sync_events e JOIN conversations c USING (conversation_id)
       WHERE c.session_key = ? GROUP BY e.kind`,
      sessionKey,
    );
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
  }

  /** Bodies that stand more than once in one conversation. */
  duplicates(): string[] {
    return this.all<{ body: string }>(
      "SELECT body FROM messages GROUP BY conversation_id, body HAVING count(*) > 1",
    ).map((row) => row.body);
  }

  all<T>(sql: string, ...params: (string | number)[]): T[] {
    if (!existsSync(this.#path)) return [];
    const db = new DatabaseSync(this.#path, { readOnly: true, timeout: 5_000 });
    try {
      return db.prepare(sql).all(...params) as T[];
    } finally {
      db.close();
    }
  }
}
