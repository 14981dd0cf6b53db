// The coarsest list that the nodes made so far allow for a view. The view shows some cut through the
// graph; nodes that were prepared since, and nodes that supersede shown ones, let it be a coarser or
// better one. Pure.

import type { MessageId, SummaryId } from "../types.js";
import { isMessage, leastTokens, type ViewItem } from "./view-items.js";

/** A node that may stand for its members, in order: messages of a leaf, sources of a condensed one. */
export interface GraphNode {
  readonly id: SummaryId;
  readonly depth: number;
  /** As shown. */
  readonly tokens: number;
  readonly members: readonly (MessageId | SummaryId)[];
}

/** One element of the frontier: a view item as it is, or a node in the place of some. */
export interface Element {
  readonly ref: MessageId | SummaryId;
  /** -1 for a message. */
  readonly depth: number;
  readonly tokens: number;
  /** The view items it stands for: from this index, up to and without that one. */
  readonly from: number;
  readonly to: number;
}

export interface Graph {
  /** Nodes over the items or over each other; none of them superseded. */
  readonly nodes: readonly GraphNode[];
  /** The nodes that stand for superseded ones now. */
  readonly successors: ReadonlyMap<SummaryId, GraphNode>;
}

/** With `adopt`, items that were superseded give way to their successors. */
export function frontier(
  items: readonly ViewItem[],
  { nodes, successors }: Graph,
  { adopt }: { readonly adopt: boolean },
): Element[] {
  const elements = items.map((item, index): Element => {
    const place = { from: index, to: index + 1 };
    if (isMessage(item)) {
      return { ref: item.messageId, depth: -1, tokens: leastTokens(item), ...place };
    }
    const { summaryId, depth } = item;
    const successor = adopt ? successors.get(summaryId) : undefined;
    const { id: ref, tokens } = successor ?? { id: summaryId, tokens: item.tokens };
    return { ref, depth, tokens, ...place };
  });
  return coarsest(elements, nodes);
}

/** Puts nodes in the place of their members, the finest first, so that coarser ones find theirs. */
export function coarsest(elements: readonly Element[], nodes: readonly GraphNode[]): Element[] {
  return [...Map.groupBy(nodes, ({ depth }) => depth)]
    .toSorted(([a], [b]) => a - b)
    .reduce((list, [, level]) => raise(list, level), [...elements]);
}

/** Puts each node of one depth in the place of its members, where they stand together. */
function raise(elements: readonly Element[], nodes: readonly GraphNode[]): Element[] {
  // Nodes of two branches may begin alike, and where both are whole the longer one stands for more.
  const longestFirst = nodes.toSorted((a, b) => b.members.length - a.members.length);
  const byFirst = Map.groupBy(longestFirst, ({ members }) => members[0]);
  const raised: Element[] = [];
  for (let index = 0; index < elements.length;) {
    const element = elements[index] as Element;
    const node = byFirst.get(element.ref)?.find((one) => standsAt(one, elements, index));
    if (!node) {
      raised.push(element);
      index += 1;
      continue;
    }
    const { id: ref, depth, tokens, members } = node;
    index += members.length;
    raised.push({
      ref,
      depth,
      tokens,
      from: element.from,
      to: (elements[index - 1] as Element).to,
    });
  }
  return raised;
}

function standsAt({ members }: GraphNode, elements: readonly Element[], index: number): boolean {
  return members.every((member, offset) => elements[index + offset]?.ref === member);
}

/** True for a node that is not in the view as it is. */
export function isPrepared({ ref, depth, from, to }: Element, items: readonly ViewItem[]): boolean {
  if (depth < 0) return false;
  const item = items[from];
  return to - from > 1 || !item || isMessage(item) || item.summaryId !== ref;
}
