// Full-text indexes over what was stored. They hold no second copy of any text: what they find is read
// from the messages and summaries themselves.
//
// `scope` holds a token of the conversation, so that a search of one pays nothing for the others; it
// does not count in the ranking. `dates` holds the day on which the text was written, in UTC: an index
// must not depend on a setting, and the zone of the operator is one.

const index = (name: string): string => `
CREATE VIRTUAL TABLE ${name} USING fts5 (
  text, dates, scope,
  content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO ${name} (${name}, rank) VALUES ('rank', 'bm25(1.0, 1.0, 0.0)');
-- A commit merges only what the background left too long, in small steps; see src/store/index-store.ts.
INSERT INTO ${name} (${name}, rank) VALUES ('automerge', 8);
INSERT INTO ${name} (${name}, rank) VALUES ('crisismerge', 64);
`;

export const SEARCH_TABLES = `
${index("search_messages")}
${index("search_documents_index")}
-- Gives what is not a message the integer that an index needs.
CREATE TABLE search_documents (
  document_id INTEGER PRIMARY KEY AUTOINCREMENT,
  summary_id  TEXT UNIQUE REFERENCES summaries ON DELETE CASCADE,
  file_id     TEXT UNIQUE REFERENCES large_files ON DELETE CASCADE,
  CHECK ((summary_id IS NULL) <> (file_id IS NULL))
) STRICT;

-- Ranges of ids that wait to be indexed, because they came from release 0.1.x; the highest goes first.
CREATE TABLE search_backlog (
  kind     TEXT NOT NULL CHECK (kind IN ('messages', 'documents')),
  first_id INTEGER NOT NULL,
  last_id  INTEGER NOT NULL,
  PRIMARY KEY (kind, first_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER messages_leave_search AFTER DELETE ON messages
BEGIN DELETE FROM search_messages WHERE rowid = OLD.message_id; END;
CREATE TRIGGER documents_leave_search AFTER DELETE ON search_documents
BEGIN DELETE FROM search_documents_index WHERE rowid = OLD.document_id; END;
`;
