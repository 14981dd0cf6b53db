// Views as the planner sees them, written as short as a test can be.

import type { MessageItem, ViewItem } from "../../src/compaction/view-items.js";
import type { SummaryRow } from "../../src/store/view-store.js";
import type { MessageId, SummaryId } from "../../src/types.js";

/** Items number themselves by where they stand; `items` puts the ordinals in. */
type Draft<Item> = Omit<Item, "ordinal">;

export function message(
  id: number,
  tokens: number,
  more: Partial<Draft<MessageItem>> = {},
): Draft<MessageItem> {
  return {
    messageId: id as MessageId,
    tokens,
    fullTokens: tokens,
    form: "full",
    role: "assistant",
    startsTurn: false,
    calls: [],
    answers: null,
    ...more,
  };
}

/** The message that begins a turn. */
export function turn(id: number, tokens: number): Draft<MessageItem> {
  return message(id, tokens, { role: "user", startsTurn: true });
}

export function call(id: number, tokens: number, ...calls: string[]): Draft<MessageItem> {
  return message(id, tokens, { calls });
}

export function answer(id: number, tokens: number, answers: string): Draft<MessageItem> {
  return message(id, tokens, { role: "toolResult", answers });
}

export function summary(name: string, tokens: number, depth = 0): Draft<SummaryRow> {
  return { summaryId: name as SummaryId, tokens, depth };
}

export type ItemDraft = Draft<MessageItem> | Draft<SummaryRow>;

export function items(...drafts: ItemDraft[]): ViewItem[] {
  return drafts.map((draft, index) => ({ ...draft, ordinal: index * 1_024 }));
}
