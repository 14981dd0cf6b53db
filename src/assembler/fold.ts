// What is left out when the budget does not hold the view: one stretch of it, shown as a pointer that
// says what it stands for and how to get it back. Pure.
//
// Summaries at the beginning stay where they can: they are small, they are the oldest memory there is,
// and a provider's cache of them survives. Then the oldest messages go.

import { cleanCuts, isMessage, totalTokens, type ViewItem } from "../compaction/view-items.js";
import type { FoldFacts, Shown } from "../store/view-store.js";
import type { TimeFormat } from "../time-format.js";
import { messageRef } from "./forms.js";
import { shownAsUser } from "./render-summary.js";
import { attributes } from "./xml.js";

/** Folding stops at this part of the budget, so that the list can grow again before the next fold. */
const FOLD_TO = 0.8;
/** What a pointer costs, about. */
const POINTER_TOKENS = 240;
/** Summaries at the beginning stay while they take no more than this part of the budget. */
const HEAD_SHARE = 0.5;

export interface FoldRange {
  /** Items from this index, up to and without that one. */
  readonly from: number;
  readonly to: number;
}

/**
 * Items may be missing from the list before the one at `gap`: then the fold reaches from before them to
 * behind them. Undefined when there is nothing to fold.
 */
export function planFold(
  items: readonly ViewItem[],
  budget: number,
  gap = 0,
): FoldRange | undefined {
  if (items.length === 0) return undefined;
  const goal = Math.max(0, Math.floor(budget * FOLD_TO) - POINTER_TOKENS);
  const head = headLength(items, gap);
  const headTokens = totalTokens(items.slice(0, head));
  if (head > 0 && headTokens <= budget * HEAD_SHARE) {
    const to = keepFrom(items, goal - headTokens, Math.max(gap, head) + 1);
    if (to < items.length) return { from: head, to };
  }
  return { from: 0, to: keepFrom(items, goal, gap + 1) };
}

/** How many summaries stand at the beginning of a list that holds messages too. */
function headLength(items: readonly ViewItem[], gap: number): number {
  const first = items.findIndex(isMessage);
  if (gap === 0) return Math.max(0, first);
  return Math.min(first < 0 ? gap : first, gap - 1);
}

/** The first index, no less than `least`, from which everything to the end fits. */
function keepFrom(items: readonly ViewItem[], tokens: number, least: number): number {
  const cuts = cleanCuts(items);
  let sum = 0;
  let best = items.length;
  for (let index = items.length - 1; index >= least; index -= 1) {
    sum += (items[index] as ViewItem).tokens;
    if (sum > tokens) break;
    if (cuts[index] === true) best = index;
  }
  return best;
}

/** The pointer that stands for a stretch of the view. */
export function pointer(facts: FoldFacts, time: TimeFormat): Shown {
  const { messages, summaries, summaryIds, tokens, first, last } = facts;
  const open = attributes({
    messages,
    summaries,
    range: time.range(facts.earliestAt, facts.latestAt),
    first: first === null ? undefined : messageRef(first),
    last: last === null ? undefined : messageRef(last),
  });
  const more = summaries > summaryIds.length ? `, and ${summaries - summaryIds.length} more` : "";
  return shownAsUser(
    [
      `<folded${open}>`,
      notShown(tokens),
      ...(summaries > 0 ? [`Summaries among them: ${summaryIds.join(", ")}${more}.`] : []),
      HOW_BACK,
      "</folded>",
    ].join("\n"),
  );
}

/** The same for messages of which we have no more than what the host just told. */
export function plainPointer(messages: number, tokens: number): Shown {
  return shownAsUser(
    [`<folded${attributes({ messages })}>`, notShown(tokens), HOW_BACK, "</folded>"].join("\n"),
  );
}

const HOW_BACK =
  "lcm_grep searches them, lcm_describe(id) shows one of them, lcm_expand_query answers a question from them.";

function notShown(tokens: number): string {
  return `About ${tokens.toLocaleString("en-US")} tokens of this conversation stand here and are not shown: the model's window does not hold them now. Nothing is lost.`;
}
