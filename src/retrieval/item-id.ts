// Ids as agents write them. Pure.

import { messageRef } from "../assembler/forms.js";
import type { MessageId, SummaryId } from "../types.js";

export type ItemId =
  | { readonly kind: "summary"; readonly id: SummaryId; readonly text: string }
  | { readonly kind: "message"; readonly id: MessageId; readonly text: string }
  | { readonly kind: "file"; readonly id: string; readonly text: string };

/** What stands further behind is no part of an id, and would take long to look through. */
const MOST_LENGTH = 200;
const ITEM = /(?:^|[^a-z0-9])(sum|msg|file)[\s_#:-]*([a-z0-9_-]*[a-z0-9])/i;

/** In any case, with quotes, brackets or blanks around it; undefined when there is no id in it. */
export function parseItemId(written: string): ItemId | undefined {
  const match = ITEM.exec(written.slice(0, MOST_LENGTH));
  const kind = match?.[1]?.toLowerCase();
  const rest = match?.[2]?.toLowerCase() ?? "";
  if (kind === "msg")
    return /^\d{1,15}$/.test(rest) ? messageItem(Number(rest) as MessageId) : undefined;
  if (kind === "sum") return summaryItem(`sum_${rest}` as SummaryId);
  if (kind === "file") return { kind: "file", id: `file_${rest}`, text: `file_${rest}` };
  return undefined;
}

export function summaryItem(id: SummaryId): ItemId {
  return { kind: "summary", id, text: id };
}

export function messageItem(id: MessageId): ItemId {
  return { kind: "message", id, text: messageRef(id) };
}
