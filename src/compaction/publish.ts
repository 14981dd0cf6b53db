// Moves the view to what was prepared for it: nodes in the place of what they cover, stubs for bulky
// tool results, references for single items no view should carry. One transaction, planned inside it,
// so that no plan can be stale.

import { shortForm } from "../assembler/forms.js";
import type { Stores } from "../store/index.js";
import type { SummaryId } from "../types.js";
import type { ViewPolicy } from "../view-policy.js";
import { type Element, frontier, isPrepared } from "./frontier.js";
import { type LoadedState, type LoadOptions, loadState } from "./load-state.js";
import {
  isBulky,
  isMessage,
  leastTokens,
  type MessageItem,
  totalTokens,
  type ViewItem,
} from "./view-items.js";

export interface PublishResult {
  /** Something changed, shown or folded. */
  readonly changed: boolean;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

type Conversation = LoadedState["conversationId"];

export function publish(
  stores: Stores,
  conversationId: Conversation,
  options: LoadOptions,
  now: string,
): PublishResult {
  return stores.db.transaction(() => {
    const { views } = stores;
    const tokensBefore = views.state(conversationId).tokens;
    const state = loadState(stores, conversationId, options);
    const ordinals = [
      ...applyNodes(stores, state, options.policy, now),
      ...applyStubs(stores, state),
      ...applyReferences(stores, state, options.policy),
    ];
    if (ordinals.length > 0) settle(stores, conversationId, ordinals);
    const tokensAfter = views.state(conversationId).tokens;
    return { changed: ordinals.length > 0, tokensBefore, tokensAfter };
  });
}

/** What a fold hides can change without the model seeing it. */
function settle(
  { views }: Stores,
  conversationId: Conversation,
  ordinals: readonly number[],
): void {
  const fold = views.fold(conversationId);
  const isHidden = (ordinal: number): boolean =>
    fold !== undefined && ordinal >= fold.fromOrdinal && ordinal <= fold.throughOrdinal;
  if (ordinals.every(isHidden)) return;
  views.bumpVersion(conversationId);
  views.markShown(conversationId);
}

function applyNodes(
  { views, summaries }: Stores,
  state: LoadedState,
  policy: ViewPolicy,
  now: string,
): number[] {
  const version = views.state(state.conversationId).version + 1;
  const changed: number[] = [];
  for (const { ref, from, to } of nodesToPublish(state, policy)) {
    const id = ref as SummaryId;
    const shown = state.shown.get(id);
    const replaced = state.outside.slice(from, to);
    const [first, last] = [replaced[0], replaced.at(-1)];
    if (!shown || !first || !last) continue;
    views.remove(state.conversationId, first.ordinal, last.ordinal);
    views.insertAt(state.conversationId, first.ordinal, { summaryId: id, shown });
    summaries.markPublished(id, version, now);
    changed.push(first.ordinal, last.ordinal);
  }
  return changed;
}

/**
 * The elements that are not in the view as they are. A successor may be longer than what it replaces,
 * but must not lift the view over the threshold: then the old ones stay.
 */
function nodesToPublish(state: LoadedState, policy: ViewPolicy): Element[] {
  const rest = state.viewTokens - totalTokens(state.outside);
  const before = state.viewTokens;
  for (const adopt of [true, false]) {
    const elements = frontier(state.outside, state.graph, { adopt });
    const after = rest + totalTokens(elements);
    if (after < before || (adopt && after <= policy.threshold)) {
      return elements.filter(
        (element) => isPrepared(element, state.outside) && saves(element, state.outside),
      );
    }
  }
  return [];
}

/** A node is shorter than what it stands for; only the successor of a node may be longer. */
function saves({ tokens, from, to }: Element, items: readonly ViewItem[]): boolean {
  const replaced = items.slice(from, to);
  const isSuccessor = replaced.length === 1 && !replaced.some(isMessage);
  return isSuccessor || tokens < replaced.reduce((sum, item) => sum + leastTokens(item), 0);
}

/** Bulky results outside the tail that no node covers. */
function applyStubs(stores: Stores, state: LoadedState): number[] {
  return shorten(stores, state, stillShown(stores, state).filter(isBulky), "stub");
}

/** Wherever it stands: one item must not take the place of all others. */
function applyReferences(stores: Stores, state: LoadedState, { itemTokens }: ViewPolicy): number[] {
  const isLarge = (item: MessageItem): boolean => item.form === "full" && item.tokens > itemTokens;
  const outside = stillShown(stores, state).filter((item) => isLarge(item) && !isBulky(item));
  const tail = state.tail.filter(isMessage).filter(isLarge);
  return shorten(stores, state, [...outside, ...tail], "reference");
}

function shorten(
  { views, messages }: Stores,
  { conversationId }: LoadedState,
  items: readonly MessageItem[],
  form: "stub" | "reference",
): number[] {
  for (const { ordinal, messageId, fullTokens } of items) {
    const shown = shortForm(messageId, messages.get(messageId), form, fullTokens);
    views.setForm(conversationId, ordinal, form, shown);
  }
  return items.map(({ ordinal }) => ordinal);
}

/** What of the oldest part is a message still, now that nodes have taken their places. */
function stillShown({ views }: Stores, { conversationId, outside }: LoadedState): MessageItem[] {
  const end = (outside.at(-1)?.ordinal ?? 0) + 1;
  const left = new Set(
    views
      .oldest(conversationId, end, outside.length)
      .filter(isMessage)
      .map(({ ordinal }) => ordinal),
  );
  return outside.filter(isMessage).filter(({ ordinal }) => left.has(ordinal));
}
