// The view as the planner sees it, and where it may be cut. Pure.

import type { ItemRow, MessageRow, SummaryRow, ToolLinks } from "../store/view-store.js";
import type { ViewPolicy } from "../view-policy.js";

export type MessageItem = MessageRow & ToolLinks;
export type ViewItem = MessageItem | SummaryRow;

/** A tool result above this many tokens is bulky: outside the fresh tail a stub stands for it. */
export const BULKY_TOKENS = 500;
/** What a stub costs, about. */
export const STUB_TOKENS = 90;

export function isMessage<Row extends ItemRow>(item: Row): item is Extract<Row, MessageRow> {
  return "messageId" in item;
}

export function isSummary(item: ItemRow): item is SummaryRow {
  return "summaryId" in item;
}

export function isBulky(item: MessageRow): boolean {
  return item.role === "toolResult" && item.form === "full" && item.fullTokens > BULKY_TOKENS;
}

/** What an item outside the tail costs at the least, with no model asked. */
export function leastTokens(item: ItemRow): number {
  return isMessage(item) && isBulky(item) ? Math.min(STUB_TOKENS, item.tokens) : item.tokens;
}

export function totalTokens(items: readonly { readonly tokens: number }[]): number {
  return items.reduce((sum, { tokens }) => sum + tokens, 0);
}

/**
 * Where a list may be cut: `cuts[i]` says that a cut before item `i` leaves every tool call together
 * with its results, whatever stands between them. A result whose call is not in the list stays with
 * the message before it, if there is one.
 */
export function cleanCuts(items: readonly ViewItem[]): boolean[] {
  const cuts = Array.from({ length: items.length + 1 }, () => true);
  const calls = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!isMessage(item)) continue;
    if (item.answers !== null) {
      const before = items[index - 1];
      const alone = before && isMessage(before) ? index - 1 : index;
      cuts.fill(false, (calls.get(item.answers) ?? alone) + 1, index + 1);
    }
    for (const id of item.calls) calls.set(id, index);
  }
  return cuts;
}

/**
 * Where the fresh tail begins: the newest messages that fit its count and its tokens, cut between two
 * turns, or between tool pairs where a single turn is longer than the tail.
 */
export function freshTailStart(
  items: readonly ViewItem[],
  { tailCount, tailTokens }: Pick<ViewPolicy, "tailCount" | "tailTokens">,
): number {
  let start = items.length;
  let tokens = 0;
  while (start > 0 && items.length - start < tailCount) {
    const item = items[start - 1] as ViewItem;
    if (!isMessage(item) || tokens + item.tokens > tailTokens) break;
    tokens += item.tokens;
    start -= 1;
  }
  const before = items[start - 1];
  if (!before || !isMessage(before)) return start;
  const cuts = cleanCuts(items);
  const isTurn = (index: number): boolean => {
    const item = items[index];
    return cuts[index] === true && item !== undefined && isMessage(item) && item.startsTurn;
  };
  return (
    first(start, items.length, isTurn) ??
    first(start, items.length, (at) => cuts[at] === true) ??
    items.length
  );
}

function first(from: number, to: number, fits: (index: number) => boolean): number | undefined {
  for (let index = from; index <= to; index += 1) if (fits(index)) return index;
  return undefined;
}
