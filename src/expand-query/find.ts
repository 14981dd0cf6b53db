// Looks for what may answer a question: the nodes the caller named, and what a search finds.

import {
  coveringLeaves,
  currentNodes,
  visibleMessages,
  visibleNodes,
} from "../retrieval/describe.js";
import { parseItemId } from "../retrieval/item-id.js";
import type { Hit, Search } from "../search/types.js";
import type { ConversationId, MessageId, SummaryId } from "../types.js";
import { InputError, listed, shown } from "../errors.js";
import type { OpenScope } from "../open-scope.js";
import { type Candidates, planCandidates } from "./candidates.js";

export interface FindRequest {
  /** As the caller wrote them. */
  readonly ids: readonly string[];
  readonly query: string | undefined;
}

export interface Found extends Candidates {
  readonly hits: readonly Hit[];
  /** Why not everything was searched. */
  readonly stopped: string | undefined;
}

const MOST_HITS = 30;

/**
 * Throws an `InputError` that names each id which can not be used. The scope is opened again behind the
 * search, because what may be read can have become less while it ran.
 */
export async function findCandidates(
  search: Search,
  open: () => OpenScope,
  { ids, query }: FindRequest,
  signal?: AbortSignal,
): Promise<Found> {
  const before = open();
  readIds(before, ids);
  const { found, stopped } =
    query === undefined
      ? { found: [], stopped: undefined }
      : await searchFor(search, before, query, signal);
  const scope = open();
  const named = readIds(scope, ids);
  const hits = found.filter(({ conversationId }) => scope.visible.has(conversationId));
  const plan = planCandidates({
    named: named.named,
    hits,
    leafOf: leavesOf(scope, hits),
    current: (nodes) => currentNodes(scope.stores, nodes),
  });
  const messages = [...new Set([...named.messages, ...plan.messages])];
  return { ...plan, messages, hits, stopped };
}

async function searchFor(
  search: Search,
  { conversations }: OpenScope,
  query: string,
  signal: AbortSignal | undefined,
): Promise<{ found: readonly Hit[]; stopped: string | undefined }> {
  const answer = await search.run(
    {
      pattern: query,
      mode: "full_text",
      scope: "both",
      conversations,
      limit: MOST_HITS,
      sort: "relevance",
    },
    signal,
  );
  if (answer.kind === "refused") throw new InputError(answer.reason);
  return { found: answer.hits, stopped: answer.stopped };
}

/** What may still be read of it. */
export function stillInScope({ stores, visible }: OpenScope, found: Found): Found {
  const open = new Set<MessageId | SummaryId>();
  for (const { id } of visibleMessages(stores, found.messages, visible)) open.add(id);
  for (const { id } of visibleNodes(stores, found.summaries, visible)) open.add(id);
  const messages = found.messages.filter((id) => open.has(id));
  const summaries = found.summaries.filter((id) => open.has(id));
  const hits = found.hits.filter(({ conversationId }) => visible.has(conversationId));
  return { ...found, messages, summaries, hits };
}

function leavesOf({ stores, visible }: OpenScope, hits: readonly Hit[]): Map<MessageId, SummaryId> {
  const leaves = new Map<MessageId, SummaryId>();
  for (const hit of hits) {
    if (hit.type !== "message") continue;
    const leaf = coveringLeaves(stores, hit.id, visible)[0] ?? hit.coveredBy;
    if (leaf !== null) leaves.set(hit.id, leaf);
  }
  return leaves;
}

/** Every id must be one of a node or message that is stored and may be read. */
function readIds(
  { stores, visible, label }: OpenScope,
  ids: readonly string[],
): { named: SummaryId[]; messages: MessageId[] } {
  const named: SummaryId[] = [];
  const messages: MessageId[] = [];
  const wrong: string[] = [];
  for (const written of ids) {
    const item = parseItemId(written);
    if (item?.kind === "summary" && isVisible(stores.summaries.get(item.id))) named.push(item.id);
    else if (item?.kind === "message" && isVisible(stores.recall.messages([item.id])[0]))
      messages.push(item.id);
    else wrong.push(shown(written));
  }
  if (wrong.length === 0) return { named, messages };
  throw new InputError(
    `summaryIds holds ${listed(wrong)}, which ${wrong.length === 1 ? "is no summary" : "are no summaries"} of ${label}. Take ids (sum_…) from lcm_grep or from the summaries in your context; for one of another conversation that you may read send its conversationId or allConversations: true.`,
  );

  function isVisible(row: { readonly conversationId: ConversationId } | undefined): boolean {
    return row !== undefined && visible.has(row.conversationId);
  }
}
