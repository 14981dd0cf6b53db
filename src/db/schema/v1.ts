// The first schema.

import { GRAPH_TABLES } from "./graph-tables.js";
import { GUARDS } from "./guards.js";
import { SEARCH_TABLES } from "./search-tables.js";
import { TRANSCRIPT_TABLES } from "./transcript-tables.js";

const OTHER_TABLES = `
CREATE TABLE large_files (
  file_id             TEXT PRIMARY KEY,
  conversation_id     INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  file_name           TEXT,
  mime_type           TEXT,
  byte_size           INTEGER,
  storage_uri         TEXT NOT NULL,
  exploration_summary TEXT,
  created_at          TEXT NOT NULL
) STRICT;
CREATE INDEX large_files_by_conversation ON large_files (conversation_id, created_at);

-- What a session may read beside its own conversation, and how much of it.
CREATE TABLE expansion_grants (
  grant_id         TEXT PRIMARY KEY,
  parent_grant_id  TEXT REFERENCES expansion_grants ON DELETE CASCADE,
  session_key      TEXT NOT NULL,
  conversation_ids TEXT NOT NULL,       -- JSON
  token_cap        INTEGER NOT NULL,
  tokens_used      INTEGER NOT NULL DEFAULT 0,
  expires_at       TEXT NOT NULL,
  revoked_at       TEXT,
  created_at       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX expansion_grants_by_session ON expansion_grants (session_key, created_at);
CREATE INDEX expansion_grants_by_parent ON expansion_grants (parent_grant_id)
  WHERE parent_grant_id IS NOT NULL;
CREATE INDEX expansion_grants_by_expiry ON expansion_grants (expires_at);

-- What was read under a grant, so that a citation can be checked.
CREATE TABLE expansion_reads (
  grant_id TEXT NOT NULL REFERENCES expansion_grants ON DELETE CASCADE,
  item_id  TEXT NOT NULL,               -- sum_…, msg_…, file_…
  tokens   INTEGER NOT NULL,            -- 0 where no more than a snippet was seen
  PRIMARY KEY (grant_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE operator_actions (
  action_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  action      TEXT NOT NULL,
  target      TEXT NOT NULL,
  detail      TEXT,
  started_at  TEXT NOT NULL,
  finished_at TEXT                      -- null only inside the action's own transaction
) STRICT;
CREATE INDEX operator_actions_open ON operator_actions (action_id) WHERE finished_at IS NULL;
`;

export const SCHEMA_V1 = [
  TRANSCRIPT_TABLES,
  GRAPH_TABLES,
  OTHER_TABLES,
  SEARCH_TABLES,
  GUARDS,
].join("\n");
