// What an answer can be made from without a sub-agent: the messages that were found with their
// neighbors, then what is beneath the candidates, as much as may be read.

import { InputError } from "../errors.js";
import { type Allowance, notGiven } from "../expansion-auth.js";
import type { ExpansionDecision, ExpansionQuestion } from "../expansion-policy.js";
import { coveringLeaves, visibleMessages } from "../retrieval/describe.js";
import { type ExpandedItem, walk } from "../retrieval/expand.js";
import { type Excerpt, fill } from "../retrieval/expand-text.js";
import { messageItem } from "../retrieval/item-id.js";
import type { TimeFormat } from "../time-format.js";
import type { OpenScope } from "../open-scope.js";
import type { MessageId } from "../types.js";
import type { Candidates } from "./candidates.js";

export interface Material {
  readonly excerpts: readonly Excerpt[];
  readonly tokens: number;
  readonly isCut: boolean;
}

export function expansionInput(
  { stores, visible }: OpenScope,
  { summaries, messages }: Candidates,
  question: string,
  tokenCap: number,
): ExpansionQuestion {
  const uncovered = visibleMessages(stores, messages, visible).filter(
    ({ id }) => coveringLeaves(stores, id, visible).length === 0,
  );
  return {
    question,
    candidates: stores.summaries
      .many(summaries)
      .map(({ depth, tokens, sourceTokens }) => ({ depth, tokens, sourceTokens })),
    messages: {
      count: uncovered.length,
      tokens: uncovered.reduce((sum, { tokens }) => sum + tokens, 0),
    },
    tokenCap,
  };
}

/** Reads no more than the allowance holds, and counts it there. */
export function gather(
  scope: OpenScope,
  candidates: Candidates,
  { maxDepth, includeMessages }: Pick<ExpansionDecision, "maxDepth" | "includeMessages">,
  { allowance, time }: { allowance: Allowance; time: TimeFormat },
): Material {
  const room = { tokens: allowance.remaining(), characters: Number.POSITIVE_INFINITY };
  const { excerpts, tokens, isCut } = fill(itemsOf(scope, candidates, maxDepth), room, {
    includeMessages,
    time,
  });
  const taken = allowance.take(excerpts.map((one) => ({ itemId: one.ref, tokens: one.tokens })));
  if (!taken) throw new InputError(notGiven(allowance));
  return { excerpts, tokens, isCut };
}

function* itemsOf(
  scope: OpenScope,
  { summaries, messages }: Candidates,
  maxDepth: number,
): Generator<ExpandedItem, void> {
  const seen = new Set<string>();
  yield* unseen(seen, foundItems(scope, messages));
  yield* unseen(seen, walk(scope.stores, { roots: summaries, maxDepth, visible: scope.visible }));
}

function* unseen(seen: Set<string>, items: Iterable<ExpandedItem>): Generator<ExpandedItem, void> {
  for (const item of items) {
    if (seen.has(item.ref)) continue;
    seen.add(item.ref);
    yield item;
  }
}

/** Each found message between its neighbors: an answer often stands beside the words it is found by. */
function* foundItems(
  scope: OpenScope,
  messages: readonly MessageId[],
): Generator<ExpandedItem, void> {
  const { stores, visible } = scope;
  for (const id of messages) {
    const [leaf] = coveringLeaves(stores, id, visible);
    const beside = leaf === undefined ? [id] : neighbors(stores.summaries.messageIds(leaf), id);
    for (const message of visibleMessages(stores, beside, visible)) {
      const { text: ref } = messageItem(message.id);
      yield { kind: "message", ref, level: 0, leaf, message, isWhole: true };
    }
  }
}

function neighbors(ids: readonly MessageId[], id: MessageId): MessageId[] {
  const at = ids.indexOf(id);
  return ids.slice(Math.max(0, at - 1), at + 2);
}
