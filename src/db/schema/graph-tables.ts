// The summary graph, the view that is a cut through it, and the work on both.

export const GRAPH_TABLES = `
CREATE TABLE summaries (
  summary_id       TEXT PRIMARY KEY,
  conversation_id  INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  kind             TEXT NOT NULL CHECK (kind IN ('leaf', 'condensed')),
  depth            INTEGER NOT NULL DEFAULT 0,
  content          TEXT NOT NULL,
  token_count      INTEGER NOT NULL,
  earliest_at      TEXT,
  latest_at        TEXT,
  descendant_count INTEGER NOT NULL DEFAULT 0,
  file_ids         TEXT NOT NULL DEFAULT '[]',
  level            TEXT NOT NULL DEFAULT 'normal',
  model            TEXT,
  prompt_version   TEXT,
  previous_context TEXT,
  source_tokens    INTEGER NOT NULL DEFAULT 0,
  message_count    INTEGER NOT NULL DEFAULT 0, -- messages it covers, down to the bottom
  first_message_id INTEGER REFERENCES messages,
  last_message_id  INTEGER REFERENCES messages,
  created_at       TEXT NOT NULL
) STRICT;
CREATE INDEX summaries_by_conversation ON summaries (conversation_id, depth, created_at);
CREATE INDEX summaries_marked ON summaries (conversation_id, depth) WHERE level = 'deterministic';

CREATE TABLE summary_messages (
  summary_id TEXT NOT NULL REFERENCES summaries ON DELETE CASCADE,
  ordinal    INTEGER NOT NULL,
  message_id INTEGER NOT NULL REFERENCES messages,
  PRIMARY KEY (summary_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX summary_messages_by_message ON summary_messages (message_id);

-- "Parent" is a node's source: (C, L) says that C was built from L.
CREATE TABLE summary_parents (
  summary_id        TEXT NOT NULL REFERENCES summaries ON DELETE CASCADE,
  ordinal           INTEGER NOT NULL,
  parent_summary_id TEXT NOT NULL REFERENCES summaries,
  PRIMARY KEY (summary_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX summary_parents_by_source ON summary_parents (parent_summary_id);

CREATE TABLE supersessions (
  summary_id      TEXT PRIMARY KEY REFERENCES summaries ON DELETE CASCADE,
  superseded_by   TEXT NOT NULL REFERENCES summaries ON DELETE CASCADE,
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  reason          TEXT NOT NULL,
  created_at      TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX supersessions_by_successor ON supersessions (superseded_by);
CREATE INDEX supersessions_by_conversation ON supersessions (conversation_id);

-- Nodes that were ever part of a view. A branch that comes back brings its published nodes with it.
CREATE TABLE publications (
  summary_id   TEXT PRIMARY KEY REFERENCES summaries ON DELETE CASCADE,
  view_version INTEGER NOT NULL,
  published_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One call of a model. Written before the call, so that a kill can not hide what was spent.
CREATE TABLE summary_attempts (
  attempt_id      INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER REFERENCES conversations ON DELETE SET NULL,
  summary_id      TEXT,                 -- the node it made
  heals           TEXT,                 -- the node it was to supersede
  requested_model TEXT NOT NULL,        -- empty: the host's choice
  model           TEXT,                 -- who answered
  prompt_version  TEXT NOT NULL,
  level           TEXT NOT NULL,
  input_tokens    INTEGER NOT NULL,     -- estimated until the host tells
  output_tokens   INTEGER NOT NULL DEFAULT 0,
  cost_usd        REAL,
  outcome         TEXT NOT NULL,
  detail          TEXT,
  started_at      TEXT NOT NULL,
  ended_at        TEXT
) STRICT;
CREATE INDEX summary_attempts_by_time ON summary_attempts (started_at);
CREATE INDEX summary_attempts_healing ON summary_attempts (heals) WHERE heals IS NOT NULL;

CREATE TABLE context_items (
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  ordinal         INTEGER NOT NULL,     -- gapped: a publish replaces a run in place
  item_type       TEXT NOT NULL CHECK (item_type IN ('message', 'summary')),
  message_id      INTEGER REFERENCES messages,
  summary_id      TEXT REFERENCES summaries,
  form            TEXT NOT NULL DEFAULT 'full' CHECK (form IN ('full', 'stub', 'reference')),
  tokens          INTEGER NOT NULL,     -- as shown
  shown           TEXT,                 -- the message as shown (JSON), where it is not the body itself
  PRIMARY KEY (conversation_id, ordinal),
  CHECK (shown IS NOT NULL OR (item_type = 'message' AND form = 'full')),
  CHECK ((item_type = 'message') = (message_id IS NOT NULL)),
  CHECK ((item_type = 'summary') = (summary_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX context_items_by_message ON context_items (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX context_items_by_summary ON context_items (summary_id) WHERE summary_id IS NOT NULL;
CREATE TRIGGER context_items_count_in AFTER INSERT ON context_items
BEGIN UPDATE conversations SET view_tokens = view_tokens + NEW.tokens
      WHERE conversation_id = NEW.conversation_id; END;
CREATE TRIGGER context_items_count_out AFTER DELETE ON context_items
BEGIN UPDATE conversations SET view_tokens = view_tokens - OLD.tokens
      WHERE conversation_id = OLD.conversation_id; END;
CREATE TRIGGER context_items_count_change AFTER UPDATE OF tokens ON context_items
BEGIN UPDATE conversations SET view_tokens = view_tokens - OLD.tokens + NEW.tokens
      WHERE conversation_id = NEW.conversation_id; END;

-- A stretch of the view that is shown as one pointer while the budget does not hold the whole view.
CREATE TABLE folds (
  conversation_id INTEGER PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
  from_ordinal    INTEGER NOT NULL,
  through_ordinal INTEGER NOT NULL,
  tokens          INTEGER NOT NULL,     -- of the pointer
  shown           TEXT NOT NULL,        -- the pointer as a message (JSON)
  created_at      TEXT NOT NULL
) STRICT;

-- Conversations in which a background pass may find something to do.
CREATE TABLE compaction_debt (
  conversation_id INTEGER PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
  noted           INTEGER NOT NULL,     -- grows with every note, so that a worker sees what came meanwhile
  due_at          TEXT NOT NULL
) STRICT;
CREATE INDEX compaction_debt_due ON compaction_debt (due_at);

-- Who works on a conversation, so that no two processes pay for the same summary.
CREATE TABLE leases (
  conversation_id INTEGER PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
  holder          TEXT NOT NULL,
  expires_at      TEXT NOT NULL
) STRICT;

-- What a model counted against what we estimated, both fading with age.
CREATE TABLE token_calibration (
  model      TEXT PRIMARY KEY,
  estimated  REAL NOT NULL,
  actual     REAL NOT NULL,
  updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;
