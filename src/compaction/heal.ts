// Marked nodes, written without a model, give way to better ones when a model works again: bottom-up,
// a few tries each; a node built on one is rebuilt once its sources are settled, healed or given up. A
// node that gives way stays stored, and a successor enters the view with the next publish.

import type { NewSummary, Summary } from "../store/summary-store.js";
import { isoAt } from "../time-format.js";
import type { SummaryId } from "../types.js";
import { ask, type CompactionContext, insertNode, type ModelContext } from "./make-node.js";
import { condensedRequest, leafRequest, type NodeRequest } from "./node-request.js";
import { BULKY_TOKENS, STUB_TOKENS } from "./view-items.js";

const TRIES = 3;
/** What a source costs in the view beside its text, about. */
const WRAPPER_TOKENS = 75;

/**
 * The nodes to supersede that are worth another try and rest on none that is, the one that has waited
 * longest for its try first: a node that always fails must not keep the others from theirs.
 */
export function nodesToHeal(context: CompactionContext, requestedModel: string): Summary[] {
  const { stores, conversationId, prompts } = context;
  const { summaries, attempts } = stores;
  const candidates = summaries.many([
    ...new Set([...summaries.marked(conversationId), ...summaries.stale(conversationId)]),
  ]);
  const unsettled = new Set<SummaryId>();
  const ready: { readonly node: Summary; readonly last: number }[] = [];
  for (const node of candidates.toSorted((a, b) => a.depth - b.depth)) {
    if (!isLive(context, node)) continue;
    const mustWait = currentSources(context, node.id).some((id) => unsettled.has(id));
    const { tries, last } = attempts.triesToHeal(node.id, requestedModel, prompts.version);
    if (!mustWait && tries >= TRIES) continue;
    unsettled.add(node.id);
    if (!mustWait) ready.push({ node, last });
  }
  return ready.toSorted((a, b) => a.last - b.last).map(({ node }) => node);
}

/** Nodes of other branches wait until their branch comes back. */
function isLive(
  { stores, conversationId }: CompactionContext,
  { lastMessageId, firstMessageId }: NewSummary,
): boolean {
  const { conversations, boundaries, messages } = stores;
  const segment = conversations.currentSegment(conversationId);
  if (segment === undefined || firstMessageId === null) return false;
  const first = messages.positionOf(segment, firstMessageId);
  const start = boundaries.viewStart(segment).position;
  return (
    first !== undefined &&
    first >= start &&
    messages.positionOf(segment, lastMessageId) !== undefined
  );
}

export async function heal(
  context: CompactionContext,
  asking: ModelContext,
  node: Summary,
): Promise<"healed" | "aborted" | "failed"> {
  const request = requestAgain(context, node);
  const result = await ask(context, asking, request.task, node.id);
  if (result.kind === "aborted") return "aborted";
  if (result.kind !== "written" || result.level === "deterministic") return "failed";
  const { db, summaries, attempts } = context.stores;
  return db.transaction(() => {
    if (summaries.successors([node.id]).size > 0) {
      if (result.attempt !== null) attempts.settle(result.attempt, "stale");
      return "failed";
    }
    const successor = insertNode(context, request, result);
    const at = isoAt(context.now());
    summaries.supersede(node.id, successor, "a model works again", at);
    return "healed";
  });
}

/** The request the node would have been made from, over what stands for its sources now. */
function requestAgain(context: CompactionContext, node: Summary): NodeRequest {
  const { stores, conversationId } = context;
  const before = node.previousContext === null ? [] : [node.previousContext];
  if (node.depth === 0) {
    const ids = stores.summaries.messageIds(node.id);
    const shownTokens = stores.messages.sources(ids).reduce((sum, { message, tokens }) => {
      const isBulky = message.role === "toolResult" && tokens > BULKY_TOKENS;
      return sum + (isBulky ? STUB_TOKENS : tokens);
    }, 0);
    return leafRequest(context, { conversationId, shownTokens, before }, ids);
  }
  const ids = currentSources(context, node.id);
  const shownTokens = stores.summaries
    .many(ids)
    .reduce((sum, { tokens }) => sum + tokens + WRAPPER_TOKENS, 0);
  return condensedRequest(context, { conversationId, shownTokens, before }, ids);
}

function currentSources({ stores }: CompactionContext, node: SummaryId): SummaryId[] {
  const ids = stores.summaries.sourceIds(node);
  const successors = stores.summaries.successors(ids);
  return ids.map((id) => successors.get(id) ?? id);
}
