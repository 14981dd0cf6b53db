// A fork begins with its parent's summaries: every node whose messages are all on the fork's branch is
// copied, so that a fork costs no model call. Assumes the caller's transaction.

import { nodesOver } from "./compaction/graph.js";
import type { Stores } from "./store/index.js";
import type { Sources, Summary } from "./store/summary-store.js";
import type { ConversationId, MessageId, SegmentId, SummaryId } from "./types.js";

/** Returns how many nodes were copied. */
export function copyParentsNodes(
  stores: Stores,
  { child, parent, segment }: { child: ConversationId; parent: ConversationId; segment: SegmentId },
  now: string,
): number {
  const { summaries } = stores;
  const own = new Map(
    stores.messages.sharedWith(parent, segment).map((pair) => [pair.parents, pair.own]),
  );
  const members = nodesOver(stores, [...own.keys()], []);
  const superseded = summaries.successors([...members.keys()]);
  const published = summaries.published([...members.keys()]);
  const copies = new Map<SummaryId, SummaryId>();
  const nodes = summaries
    .many([...members.keys()].filter((id) => !superseded.has(id)))
    .toSorted((a, b) => a.depth - b.depth);
  for (const node of nodes) {
    const sources = translate(members.get(node.id) ?? [], node.depth === 0 ? own : copies);
    if (!sources) continue;
    const copy = summaries.insert(asChilds(node, child, own), asSources(node, sources), now);
    copies.set(node.id, copy);
    if (published.has(node.id)) summaries.markPublished(copy, 0, now);
  }
  return copies.size;
}

/** Undefined when something of it is not on the fork's branch. */
function translate(
  members: readonly (MessageId | SummaryId)[],
  translations: ReadonlyMap<unknown, MessageId | SummaryId>,
): (MessageId | SummaryId)[] | undefined {
  const translated = members.map((member) => translations.get(member));
  return translated.every((one) => one !== undefined) ? translated : undefined;
}

function asSources({ depth }: Summary, ids: readonly (MessageId | SummaryId)[]): Sources {
  return depth === 0
    ? { kind: "leaf", messages: ids as MessageId[] }
    : { kind: "condensed", summaries: ids as SummaryId[] };
}

function asChilds(
  { id: _id, createdAt: _createdAt, ...node }: Summary,
  conversationId: ConversationId,
  own: ReadonlyMap<MessageId, MessageId>,
): Omit<Summary, "id" | "createdAt"> {
  return {
    ...node,
    conversationId,
    firstMessageId: own.get(node.firstMessageId) ?? node.firstMessageId,
    lastMessageId: own.get(node.lastMessageId) ?? node.lastMessageId,
  };
}
