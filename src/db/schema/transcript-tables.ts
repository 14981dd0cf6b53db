// What the host's transcript brought: conversations, messages, and where they stand.

export const TRANSCRIPT_TABLES = `
CREATE TABLE conversations (
  conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id        TEXT NOT NULL,
  session_key     TEXT NOT NULL,
  session_id      TEXT,                 -- the host session that is current under this key
  title           TEXT,
  forked_from     INTEGER REFERENCES conversations ON DELETE SET NULL,
  view_version    INTEGER NOT NULL DEFAULT 0,
  view_stale      INTEGER NOT NULL DEFAULT 0,  -- 1: more than the view's end has changed
  view_shown      INTEGER NOT NULL DEFAULT 0,  -- 1: the model gets our view, not the host's messages
  view_tokens     INTEGER NOT NULL DEFAULT 0,  -- of all context items; kept by triggers
  context_window  INTEGER,              -- of the model that served the last turn
  budget_base     INTEGER,              -- tokens the last turn left for history, its prompt added back
  turn_model      TEXT,
  active_since    TEXT,                 -- first turn that ran through this engine
  unaligned       INTEGER NOT NULL DEFAULT 0,  -- 1: its release 0.1.x rows were not yet looked for in
                                        -- the transcript
  bootstrapped_at TEXT,
  hidden_at       TEXT,                 -- deleted in the host: kept, shown to no tool
  created_at      TEXT NOT NULL,
  updated_at      TEXT NOT NULL
) STRICT;
-- A key deleted in the host may be used again: the hidden conversation stays, a new one begins.
CREATE UNIQUE INDEX conversations_by_key ON conversations (agent_id, session_key)
  WHERE hidden_at IS NULL;
CREATE INDEX conversations_hidden ON conversations (agent_id, session_key)
  WHERE hidden_at IS NOT NULL;
CREATE INDEX conversations_unaligned ON conversations (session_id) WHERE unaligned = 1;

-- A host session id under a conversation's key. Rewinds, switches and some resets bring a new one.
CREATE TABLE segments (
  segment_id      INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  session_id      TEXT NOT NULL,
  visible_cursor  TEXT,
  earlier_cursor  TEXT,                 -- end of the page before, to find our place after a rotation
  raw_cursor      TEXT,
  raw_last_event  TEXT,                 -- last event seen in the raw log
  raw_last_entry  TEXT,                 -- last message event seen in the raw log
  hidden_before   TEXT,                 -- entries up to then belong to a conversation that was deleted
  times_left      INTEGER NOT NULL DEFAULT 0,  -- since it was last read to its end; 0: nothing waits
  created_at      TEXT NOT NULL,
  UNIQUE (conversation_id, session_id)
) STRICT;
CREATE INDEX segments_left ON segments (conversation_id, segment_id) WHERE times_left > 0;

-- One accepted turn, by the host's advancement key.
CREATE TABLE turn_receipts (
  receipt_id      INTEGER PRIMARY KEY AUTOINCREMENT,
  advancement_key TEXT NOT NULL UNIQUE,
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  session_id      TEXT NOT NULL,
  generation      TEXT,
  first_entry_id  TEXT NOT NULL,
  last_entry_id   TEXT NOT NULL,
  first_position  INTEGER,
  message_count   INTEGER NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('stored', 'skipped', 'deferred')),
  entries_known   INTEGER NOT NULL,     -- 1 once every row of the turn has its entry id
  is_heartbeat    INTEGER NOT NULL,
  committed_at    TEXT NOT NULL
) STRICT;
CREATE INDEX turn_receipts_open ON turn_receipts (conversation_id, first_entry_id)
  WHERE entries_known = 0;
CREATE INDEX turn_receipts_recent ON turn_receipts (conversation_id, receipt_id);

CREATE TABLE messages (
  message_id      INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  entry_id        TEXT,                 -- unknown inside a committed turn until the transcript is read
  receipt_id      INTEGER REFERENCES turn_receipts ON DELETE SET NULL,
  receipt_offset  INTEGER,
  role            TEXT NOT NULL,
  in_context      INTEGER NOT NULL,     -- 0: stored and searchable, never sent to the model
  starts_turn     INTEGER NOT NULL,     -- 1: what a user sent, but for words typed into a running turn
  token_count     INTEGER NOT NULL,
  created_at      TEXT NOT NULL,
  body            TEXT                  -- the exact message as JSON
) STRICT;
CREATE UNIQUE INDEX messages_by_entry ON messages (conversation_id, entry_id);
CREATE INDEX messages_by_receipt ON messages (receipt_id, receipt_offset)
  WHERE entry_id IS NULL AND receipt_id IS NOT NULL;

CREATE TABLE message_parts (
  message_id   INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
  ordinal      INTEGER NOT NULL,
  part_type    TEXT NOT NULL,
  tool_call_id TEXT,
  tool_name    TEXT,
  token_count  INTEGER NOT NULL,
  file_id      TEXT,
  PRIMARY KEY (message_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Where a message stands on a segment's branch. A place without a message is a tombstone's; its
-- entry id stays, because a reset may name it.
CREATE TABLE transcript_entries (
  segment_id   INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  message_id   INTEGER REFERENCES messages,
  buried_entry TEXT,
  PRIMARY KEY (segment_id, position),
  CHECK (message_id IS NULL OR buried_entry IS NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX transcript_entries_by_message ON transcript_entries (message_id)
  WHERE message_id IS NOT NULL;
CREATE INDEX transcript_entries_buried ON transcript_entries (segment_id, buried_entry)
  WHERE buried_entry IS NOT NULL;

-- Entries that must never be filled in from the transcript again. Free of content.
CREATE TABLE tombstones (
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  entry_id        TEXT NOT NULL,
  reason          TEXT NOT NULL,
  created_at      TEXT NOT NULL,
  PRIMARY KEY (conversation_id, entry_id)
) STRICT, WITHOUT ROWID;

-- A reset that kept the session id: the view starts after it, or at the tail it keeps. It counts
-- while the entry it follows is on the segment's branch.
CREATE TABLE boundaries (
  boundary_id      INTEGER PRIMARY KEY AUTOINCREMENT,
  segment_id       INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
  event_id         TEXT NOT NULL,
  reason           TEXT NOT NULL,
  after_entry      TEXT NOT NULL,
  first_kept_entry TEXT,
  created_at       TEXT NOT NULL,
  UNIQUE (segment_id, event_id)
) STRICT;

-- Turns for which the host asked us for a view: tells a turn we served from one legacy served.
CREATE TABLE turn_starts (
  turn_start_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
  session_id      TEXT NOT NULL,
  position        INTEGER,              -- where the turn begins; null when we could not tell
  started_at      TEXT NOT NULL
) STRICT;
CREATE INDEX turn_starts_recent ON turn_starts (conversation_id, turn_start_id);

-- What the self-check found and did.
CREATE TABLE sync_events (
  sync_event_id   INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_id INTEGER REFERENCES conversations ON DELETE CASCADE,
  kind            TEXT NOT NULL,
  happened_at     TEXT NOT NULL,        -- the time of the turn or message it is about
  message_count   INTEGER NOT NULL DEFAULT 0,
  detail          TEXT,
  recorded_at     TEXT NOT NULL
) STRICT;
CREATE INDEX sync_events_recent ON sync_events (conversation_id, kind, sync_event_id);

-- What rows of release 0.1.x are looked for by in the transcript, until their conversation is aligned.
CREATE TABLE release_01_keys (
  message_id INTEGER PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
  key        TEXT NOT NULL
) STRICT;

-- How far a transcript was read for that.
CREATE TABLE alignments (
  segment_id     INTEGER PRIMARY KEY REFERENCES segments ON DELETE CASCADE,
  cursor         TEXT NOT NULL,
  earlier_cursor TEXT,                  -- end of the page before, as in segments
  state          TEXT NOT NULL CHECK (state IN ('reading', 'read', 'planned'))
) STRICT;

-- What was read for that, and which old row each entry was found to be.
CREATE TABLE alignment_entries (
  segment_id INTEGER NOT NULL REFERENCES alignments ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  entry_id   TEXT NOT NULL,
  key        TEXT NOT NULL,
  message_id INTEGER REFERENCES messages ON DELETE SET NULL,
  PRIMARY KEY (segment_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX alignment_entries_found ON alignment_entries (entry_id) WHERE message_id IS NOT NULL;
CREATE INDEX alignment_entries_taken ON alignment_entries (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE subagent_links (
  child_session_key  TEXT PRIMARY KEY,
  parent_session_key TEXT NOT NULL,
  context_mode       TEXT,
  created_at         TEXT NOT NULL,
  ended_at           TEXT,
  end_reason         TEXT
) STRICT, WITHOUT ROWID;
`;
