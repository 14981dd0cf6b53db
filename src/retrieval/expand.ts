// From nodes down to what they were built from: texts of finer nodes, and at the bottom the original
// messages. A plain walk, source by source in order; what was superseded gives way to what stands for it
// now; each item is given once and checked against what the caller may see.

import type { Stores } from "../store/index.js";
import type { RecalledMessage } from "../store/recall-store.js";
import type { Summary } from "../store/summary-store.js";
import type { SummaryId } from "../types.js";
import { currentNodes, visibleMessages, visibleNodes, type Visible } from "./describe.js";
import { messageItem, parseItemId } from "./item-id.js";

export interface ExpandRequest {
  readonly roots: readonly SummaryId[];
  /** Layers below the roots: 1 gives what they were built from. */
  readonly maxDepth: number;
  readonly visible: Visible;
}

export type ExpandedItem =
  | {
      readonly kind: "summary";
      readonly ref: string;
      readonly level: number;
      readonly summary: Summary;
    }
  | {
      readonly kind: "message";
      readonly ref: string;
      readonly level: number;
      /** The leaf over it, if there is one. */
      readonly leaf: SummaryId | undefined;
      readonly message: RecalledMessage;
      /** True for what must be shown whole, whatever is said of messages in general. */
      readonly isWhole?: boolean;
    };

type ReadStores = Pick<Stores, "summaries" | "recall">;

/** The roots themselves come first, at level 0, each followed by what is beneath it. */
export function* walk(stores: ReadStores, request: ExpandRequest): Generator<ExpandedItem, void> {
  const seen = new Set<string>();
  const roots = currentNodes(stores, request.roots);
  for (const root of visibleNodes(stores, roots, request.visible)) {
    yield* walkNode(stores, root, 0, request, seen);
  }
}

function* walkNode(
  stores: ReadStores,
  summary: Summary,
  level: number,
  request: ExpandRequest,
  seen: Set<string>,
): Generator<ExpandedItem, void> {
  if (seen.has(summary.id)) return;
  seen.add(summary.id);
  yield { kind: "summary", ref: summary.id, level, summary };
  if (level >= request.maxDepth) return;
  const sourceIds = currentNodes(stores, stores.summaries.sourceIds(summary.id));
  const sources = visibleNodes(stores, sourceIds, request.visible);
  for (const source of sources) yield* walkNode(stores, source, level + 1, request, seen);
  if (sources.length === 0) yield* walkLeaf(stores, summary.id, level + 1, request, seen);
}

function* walkLeaf(
  stores: ReadStores,
  leaf: SummaryId,
  level: number,
  { visible }: ExpandRequest,
  seen: Set<string>,
): Generator<ExpandedItem, void> {
  for (const message of visibleMessages(stores, stores.summaries.messageIds(leaf), visible)) {
    const ref = messageItem(message.id).text;
    if (seen.has(ref)) continue;
    seen.add(ref);
    yield { kind: "message", ref, level, leaf, message };
  }
}

/**
 * The rest of a walk behind the item that was given last, or behind what stands for it now; all of it
 * when there is no such item.
 */
export function* after(
  stores: ReadStores,
  items: Iterable<ExpandedItem>,
  last: string | undefined,
): Generator<ExpandedItem, void> {
  const item = last === undefined ? undefined : parseItemId(last);
  const ref = item?.kind === "summary" ? currentNodes(stores, [item.id])[0] : item?.text;
  let isBehind = ref === undefined;
  for (const next of items) {
    if (isBehind) yield next;
    else if (next.ref === ref) isBehind = true;
  }
}
