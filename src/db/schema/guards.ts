// Content columns are guarded by triggers: only a transaction that has opened an `operator_actions` row
// may change or delete what was stored (docs/guarantees.md, G2).

const NO_OPERATOR = "NOT EXISTS (SELECT 1 FROM operator_actions WHERE finished_at IS NULL)";

export const GUARDS = `
CREATE TRIGGER messages_keep_content
BEFORE UPDATE OF conversation_id, role, in_context, starts_turn, token_count, created_at, body ON messages
WHEN ${NO_OPERATOR}
BEGIN SELECT RAISE(ABORT, 'messages are never altered'); END;
CREATE TRIGGER messages_keep_identity
BEFORE UPDATE OF entry_id ON messages
WHEN OLD.entry_id IS NOT NULL AND ${NO_OPERATOR}
BEGIN SELECT RAISE(ABORT, 'a message keeps its transcript entry'); END;
CREATE TRIGGER messages_keep_rows
BEFORE DELETE ON messages
WHEN ${NO_OPERATOR}
BEGIN SELECT RAISE(ABORT, 'messages are never deleted'); END;
CREATE TRIGGER messages_need_a_body
BEFORE INSERT ON messages
WHEN NEW.body IS NULL
BEGIN SELECT RAISE(ABORT, 'a message needs its body'); END;
CREATE TRIGGER summaries_keep_content
BEFORE UPDATE ON summaries
WHEN ${NO_OPERATOR}
BEGIN SELECT RAISE(ABORT, 'summaries are never altered'); END;
CREATE TRIGGER summaries_keep_rows
BEFORE DELETE ON summaries
WHEN ${NO_OPERATOR}
BEGIN SELECT RAISE(ABORT, 'summaries are never deleted'); END;
CREATE TRIGGER conversations_keep_rows
BEFORE DELETE ON conversations
WHEN ${NO_OPERATOR}
BEGIN SELECT RAISE(ABORT, 'conversations are never deleted'); END;
CREATE TRIGGER operator_actions_stay
BEFORE DELETE ON operator_actions
BEGIN SELECT RAISE(ABORT, 'the record of operator actions is kept'); END;
CREATE TRIGGER operator_actions_keep_content
BEFORE UPDATE ON operator_actions
WHEN OLD.finished_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the record of operator actions is kept'); END;
`;
