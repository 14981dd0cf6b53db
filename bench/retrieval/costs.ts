// What the full-text index costs: bytes beside the text, and time beside the same commits with one plain
// index, each turn a transaction of its own.

import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leaseDatabase } from "../../src/db/registry.js";
import { encodeMessage } from "../../src/message-codec.js";
import { createStores } from "../../src/store/index.js";
import { searchTextOf } from "../../src/search/search-text.js";
import type { AgentMessage } from "../../src/types.js";
import { generate } from "./conversations.js";

const SESSIONS = 400;
const MESSAGES_PER_TURN = 4;

export function indexCosts(): string {
  const directory = mkdtempSync(join(tmpdir(), "lcm-bench-"));
  try {
    const { messages } = generate({ seed: 7, sessions: SESSIONS });
    const turns = Array.from(
      { length: Math.ceil(messages.length / MESSAGES_PER_TURN) },
      (_, index) => messages.slice(index * MESSAGES_PER_TURN, (index + 1) * MESSAGES_PER_TURN),
    );
    const floor = timeFloor(join(directory, "floor.db"), turns);
    const ours = timeOurs(join(directory, "lcm.db"), turns);
    return [
      `${messages.length} messages in ${turns.length} turns`,
      `index bytes per text byte: ${ours.indexShare.toFixed(2)}`,
      `a turn's commit: ${ours.ms.toFixed(2)} ms; bare insert with one index: ${floor.toFixed(2)} ms; ratio ${(ours.ms / floor).toFixed(2)}`,
    ].join("\n");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Milliseconds a turn. */
function timeFloor(path: string, turns: readonly (readonly AgentMessage[])[]): number {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
    CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1,
      tokenize = 'porter unicode61 remove_diacritics 2')`);
  const insert = db.prepare("INSERT INTO messages (body) VALUES (?)");
  const index = db.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
  const started = performance.now();
  for (const turn of turns) {
    db.exec("BEGIN IMMEDIATE");
    for (const message of turn) {
      const { lastInsertRowid } = insert.run(JSON.stringify(message));
      index.run(lastInsertRowid, searchTextOf(message));
    }
    db.exec("COMMIT");
  }
  const ms = (performance.now() - started) / turns.length;
  db.close();
  return ms;
}

function timeOurs(
  path: string,
  turns: readonly (readonly AgentMessage[])[],
): { ms: number; indexShare: number } {
  const lease = leaseDatabase(path);
  const stores = createStores(lease.db);
  const now = new Date().toISOString();
  const session = { agentId: "main", sessionKey: "agent:main:bench", sessionId: "bench" };
  const { id } = stores.conversations.findOrCreate(session, now);
  let texts = 0;
  let entry = 0;
  const started = performance.now();
  for (const turn of turns) {
    lease.db.transaction(() => {
      for (const message of turn) {
        const encoded = encodeMessage(message, now);
        texts += Buffer.byteLength(encoded.searchText);
        stores.messages.insert(id, { entryId: `e${(entry += 1)}` }, encoded);
      }
    });
  }
  const ms = (performance.now() - started) / turns.length;
  while (lease.db.transaction(() => stores.index.merge()));
  const bytes = lease.db.get<{ bytes: number }>(
    "SELECT sum(length(block)) AS bytes FROM search_messages_data",
  );
  lease.release();
  return { ms, indexShare: (bytes?.bytes ?? 0) / texts };
}
