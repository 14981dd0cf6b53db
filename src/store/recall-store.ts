// What the recall tools look at beside the graph: which conversations there are, messages with the
// conversation they belong to, stored files. Reads only.

import type { Database } from "../db/connection.js";
import { decodeMessage } from "../message-codec.js";
import type { AgentMessage, ConversationId, MessageId } from "../types.js";

export interface VisibleConversation {
  readonly id: ConversationId;
  readonly agentId: string;
  readonly sessionKey: string;
}

export interface RecalledMessage {
  readonly id: MessageId;
  readonly conversationId: ConversationId;
  readonly role: string;
  readonly createdAt: string;
  readonly tokens: number;
  readonly message: AgentMessage;
}

export interface StoredFile {
  readonly id: string;
  readonly conversationId: ConversationId;
  readonly fileName: string | null;
  readonly mimeType: string | null;
  readonly byteSize: number | null;
  readonly storageUri: string;
  readonly explorationSummary: string | null;
  readonly createdAt: string;
}

type MessageRow = Omit<RecalledMessage, "message"> & { body: string };

export class RecallStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Every conversation that was not deleted in the host. */
  conversations(): VisibleConversation[] {
    return this.#db.all<VisibleConversation>(
      `SELECT conversation_id AS id, agent_id AS agentId, session_key AS sessionKey
       FROM conversations WHERE hidden_at IS NULL ORDER BY conversation_id`,
    );
  }

  /** Those of the messages that are stored, in the list's order. */
  messages(ids: readonly MessageId[]): RecalledMessage[] {
    return this.#db
      .all<MessageRow>(
        `SELECT m.message_id AS id, m.conversation_id AS conversationId, m.role,
                m.created_at AS createdAt, m.token_count AS tokens, m.body
         FROM json_each(?) j JOIN messages m ON m.message_id = j.value ORDER BY j.key`,
        JSON.stringify(ids),
      )
      .map(({ body, ...row }) => ({ ...row, message: decodeMessage(body) }));
  }

  file(id: string): StoredFile | undefined {
    return this.#db.get<StoredFile>(
      `SELECT file_id AS id, conversation_id AS conversationId, file_name AS fileName,
              mime_type AS mimeType, byte_size AS byteSize, storage_uri AS storageUri,
              exploration_summary AS explorationSummary, created_at AS createdAt
       FROM large_files WHERE lower(file_id) = lower(?)`,
      id,
    );
  }
}
