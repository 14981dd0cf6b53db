// Reads what the planner looks at from the stores: the view's oldest part, the tail it must leave
// alone, and every node that could stand in the view.

import { renderSummary, type SummaryStyle } from "../assembler/render-summary.js";
import type { Stores } from "../store/index.js";
import type { Summary } from "../store/summary-store.js";
import type { ItemRow, Shown, ToolLinks } from "../store/view-store.js";
import type { ConversationId, SummaryId } from "../types.js";
import type { ViewPolicy } from "../view-policy.js";
import { frontier, type Graph, type GraphNode } from "./frontier.js";
import { nodesOver } from "./graph.js";
import type { PlanState } from "./plan.js";
import {
  cleanCuts,
  freshTailStart,
  isMessage,
  isSummary,
  totalTokens,
  type ViewItem,
} from "./view-items.js";

/** A view holds far fewer items; only an imported history that was never compacted has more. */
const MOST_OUTSIDE = 1_500;
/** Items read beyond the tail's count, so that a tool call is met whose results begin the tail. */
const BEFORE_TAIL = 64;
/** Items read beyond the most that are used, so that the list does not end inside a tool pair. */
const BEYOND_OUTSIDE = 64;

/** A plan state with what is needed to carry a plan out. */
export interface LoadedState extends PlanState {
  readonly conversationId: ConversationId;
  readonly tail: readonly ViewItem[];
  readonly graph: Graph;
  /** The summaries of the view's oldest part and of every node that could stand there. */
  readonly summaries: ReadonlyMap<SummaryId, Summary>;
  /** How each node of the graph is shown. */
  readonly shown: ReadonlyMap<SummaryId, Shown>;
}

export interface LoadOptions {
  readonly policy: ViewPolicy;
  readonly style: SummaryStyle;
  readonly hopeless?: ReadonlySet<unknown>;
}

export function loadState(
  stores: Stores,
  conversationId: ConversationId,
  { policy, style, hopeless = new Set() }: LoadOptions,
): LoadedState {
  const { views } = stores;
  const newest = withLinks(stores, views.newest(conversationId, policy.tailCount + BEFORE_TAIL));
  const tail = newest.slice(freshTailStart(newest, policy));
  const tailOrdinal = tail[0]?.ordinal ?? Number.MAX_SAFE_INTEGER;
  const outside = oldestWhole(
    withLinks(stores, views.oldest(conversationId, tailOrdinal, MOST_OUTSIDE + BEYOND_OUTSIDE)),
  );
  const loaded = loadGraph(stores, outside, style);
  return {
    conversationId,
    outside,
    tail,
    elements: frontier(outside, loaded.graph, { adopt: true }),
    tailTokens: totalTokens(tail),
    viewTokens: views.state(conversationId).tokens,
    breaks: resetBreaks(stores, conversationId, outside),
    hopeless,
    ...loaded,
  };
}

function oldestWhole(items: readonly ViewItem[]): readonly ViewItem[] {
  if (items.length <= MOST_OUTSIDE) return items;
  return items.slice(0, cleanCuts(items).lastIndexOf(true, MOST_OUTSIDE));
}

export function withLinks({ views }: Stores, rows: readonly ItemRow[]): ViewItem[] {
  const links = views.toolLinks(rows.filter(isMessage).map(({ messageId }) => messageId));
  return rows.map((row) =>
    isMessage(row) ? { ...row, ...(links.get(row.messageId) ?? NO_LINKS) } : row,
  );
}

const NO_LINKS: ToolLinks = { calls: [], answers: null };

/** The first message behind a reset, when the view keeps some from before it. */
function resetBreaks(
  { conversations, boundaries, messages }: Stores,
  conversationId: ConversationId,
  items: readonly ViewItem[],
): Set<number> {
  const segment = conversations.currentSegment(conversationId);
  const resetAt = segment === undefined ? null : boundaries.viewStart(segment).resetAt;
  if (segment === undefined || resetAt === null) return new Set();
  const isBehind = (item: ViewItem): boolean =>
    isMessage(item) && (messages.positionOf(segment, item.messageId) ?? -1) >= resetAt;
  return new Set([items.findIndex(isBehind)]);
}

type LoadedGraph = Pick<LoadedState, "graph" | "summaries" | "shown">;

function loadGraph(stores: Stores, items: readonly ViewItem[], style: SummaryStyle): LoadedGraph {
  const inView = items.filter(isSummary).map(({ summaryId }) => summaryId);
  const messages = items.filter(isMessage).map(({ messageId }) => messageId);
  const heads = stores.summaries.successors(inView);
  const members = nodesOver(stores, messages, [...inView, ...heads.values()]);
  const superseded = stores.summaries.successors([...members.keys()]);
  const live = [...members.keys()].filter((id) => !superseded.has(id));
  const standIns = [...new Set([...live, ...heads.values()])];
  const summaries = new Map(
    stores.summaries.many([...new Set([...inView, ...standIns])]).map((one) => [one.id, one]),
  );
  const shown = new Map(
    standIns.map((id) => [id, showSummary(stores, summaries.get(id) as Summary, style)]),
  );
  const toNode = (id: SummaryId): GraphNode => ({
    id,
    depth: (summaries.get(id) as Summary).depth,
    tokens: (shown.get(id) as Shown).tokens,
    members: members.get(id) ?? [],
  });
  const graph: Graph = {
    nodes: live.map(toNode),
    successors: new Map([...heads].map(([old, head]) => [old, toNode(head)])),
  };
  return { graph, summaries, shown };
}

export function showSummary({ summaries }: Stores, summary: Summary, style: SummaryStyle): Shown {
  return renderSummary(summary, summary.depth === 0 ? [] : summaries.sourceIds(summary.id), style);
}
