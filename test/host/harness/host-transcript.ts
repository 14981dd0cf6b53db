import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import { isRecord, str, type JsonRecord } from "./loose-json.js";

/** One message of the host's own visible transcript. */
export interface VisibleEntry {
  readonly entryId: string;
  /** 0-based, as in `activeMessagePosition`. */
  readonly position: number;
  readonly message: JsonRecord;
}

function withAgentDatabase<T>(stateDir: string, agentId: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(stateDir, "agents", agentId, "agent", "openclaw-agent.sqlite"), {
    readOnly: true,
  });
  try {
    db.exec("PRAGMA busy_timeout = 5000");
    return use(db);
  } finally {
    db.close();
  }
}

function sessionIdOf(db: DatabaseSync, sessionKey: string): string | undefined {
  const row = db
    .prepare("SELECT current_session_id AS id FROM session_nodes WHERE session_key = ?")
    .get(sessionKey);
  return typeof row?.["id"] === "string" ? row["id"] : undefined;
}

/** The host stores big events compressed. */
function eventOf(row: Readonly<Record<string, unknown>>): JsonRecord {
  const { event_json: json, event_zstd: packed } = row;
  const text =
    packed instanceof Uint8Array ? zstdDecompressSync(packed).toString("utf8") : str(json);
  const event: unknown = JSON.parse(text);
  if (!isRecord(event)) throw new Error(`not a transcript event: ${text.slice(0, 200)}`);
  return event;
}

/** The session id a key stands for now, or `undefined` for an unknown key. */
export function currentSessionId(
  stateDir: string,
  agentId: string,
  sessionKey: string,
): string | undefined {
  return withAgentDatabase(stateDir, agentId, (db) => sessionIdOf(db, sessionKey));
}

/** Accepts a session key (its current session) or the id of any session, earlier ones too. */
export function readVisibleTranscript(
  stateDir: string,
  agentId: string,
  session: string,
): VisibleEntry[] {
  return withAgentDatabase(stateDir, agentId, (db) =>
    db
      .prepare(
        `SELECT active.message_position AS position, event.event_json, event.event_zstd
           FROM session_transcript_active_events AS active
           JOIN transcript_events AS event ON event.session_id = active.session_id AND event.seq = active.event_seq
          WHERE active.session_id = ? AND active.message_position IS NOT NULL
          ORDER BY active.message_position`,
      )
      .all(sessionIdOf(db, session) ?? session)
      .map((row) => {
        const event = eventOf(row);
        const message = event["message"];
        if (!isRecord(message))
          throw new Error(`an event with a position but no message: ${str(event["id"])}`);
        return { entryId: str(event["id"]), position: Number(row["position"]), message };
      }),
  );
}

/** `role: text` lines, for compact assertions. */
export function transcriptLines(entries: readonly VisibleEntry[]): string[] {
  return entries.map(({ message }) => {
    const content = message["content"];
    if (typeof content === "string") return `${str(message["role"])}: ${content}`;
    const parts = (Array.isArray(content) ? content : []).filter(isRecord).map((block) => {
      if (block["type"] === "toolCall") return `<${str(block["name"])}>`;
      return str(block["text"] ?? block["thinking"]);
    });
    return `${str(message["role"])}: ${parts.join(" ")}`;
  });
}
