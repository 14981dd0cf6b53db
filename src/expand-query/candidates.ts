// Which nodes and messages may hold an answer, the likeliest first. Pure.

import type { Hit } from "../search/types.js";
import type { MessageId, SummaryId } from "../types.js";

export interface Candidates {
  readonly summaries: readonly SummaryId[];
  /** Messages that were found themselves: to be read first. */
  readonly messages: readonly MessageId[];
}

export interface CandidateInput {
  /** Named by the caller; they come first. */
  readonly named: readonly SummaryId[];
  readonly hits: readonly Hit[];
  /** The leaf over a message, where there is one that may be seen. */
  readonly leafOf: ReadonlyMap<MessageId, SummaryId>;
  /** What stands for nodes now, none of them twice. */
  readonly current: (nodes: readonly SummaryId[]) => SummaryId[];
}

const MOST_SUMMARIES = 8;
const MOST_MESSAGES = 6;

/** A message leads to the leaf over it, which is nearer to it than the node that the view shows. */
export function planCandidates({ named, hits, leafOf, current }: CandidateInput): Candidates {
  const found = hits.flatMap((hit): SummaryId[] => {
    if (hit.type === "summary") return [hit.id];
    const leaf = leafOf.get(hit.id);
    return leaf === undefined ? [] : [leaf];
  });
  const most = Math.max(MOST_SUMMARIES, named.length);
  return {
    summaries: current([...named, ...found]).slice(0, most),
    messages: hits
      .flatMap((hit) => (hit.type === "message" ? [hit.id] : []))
      .slice(0, MOST_MESSAGES),
  };
}
