// Gathers the nodes that could stand for parts of a view.

import type { Stores } from "../store/index.js";
import type { MessageId, SummaryId } from "../types.js";

export type Members = ReadonlyMap<SummaryId, readonly (MessageId | SummaryId)[]>;

/** Every node over the messages and summaries, and over those, with what it was built from in order. */
export function nodesOver(
  { summaries }: Stores,
  messages: readonly MessageId[],
  nodes: readonly SummaryId[],
): Members {
  const leaves = Map.groupBy(summaries.leavesOver(messages), ({ id }) => id);
  const members = new Map<SummaryId, readonly (MessageId | SummaryId)[]>();
  for (const [id, edges] of leaves)
    members.set(
      id,
      edges.map(({ source }) => source),
    );
  const seen = new Set([...nodes, ...members.keys()]);
  for (let level = [...seen]; level.length > 0;) {
    const above = Map.groupBy(summaries.builtFrom(level), ({ id }) => id);
    level = [...above.keys()].filter((id) => !seen.has(id));
    for (const id of level) {
      seen.add(id);
      members.set(
        id,
        (above.get(id) ?? []).map(({ source }) => source),
      );
    }
  }
  return members;
}
