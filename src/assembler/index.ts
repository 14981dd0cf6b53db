// Context items -> messages under a budget. Driven from the store, the same for the same view; what it
// writes is a publish: taking the view over from the host, and making it fit when it does not.

import { publish } from "../compaction/index.js";
import { withLinks } from "../compaction/load-state.js";
import { totalTokens, type ViewItem } from "../compaction/view-items.js";
import { blocksOf, decodeMessage, roughTokens } from "../message-codec.js";
import type { Stores } from "../store/index.js";
import type { Shown } from "../store/view-store.js";
import { isoAt } from "../time-format.js";
import { repairToolPairs } from "../transcript-repair.js";
import type { AgentMessage, Clock, ConversationId, MessageId } from "../types.js";
import type { ViewPolicy } from "../view-policy.js";
import { plainPointer, planFold, pointer } from "./fold.js";
import type { SummaryStyle } from "./render-summary.js";
import { spliceHost } from "./splice-host.js";

export interface AssembleContext {
  readonly stores: Stores;
  readonly policy: ViewPolicy;
  readonly style: SummaryStyle;
  readonly now: Clock;
  readonly conversationId: ConversationId;
}

export interface Assembled {
  /** Undefined when the host's own list is right as it is. */
  readonly messages: readonly AgentMessage[] | undefined;
  /** In our estimate. */
  readonly tokens: number;
  readonly hasSummaries: boolean;
}

/** Items that are looked at for a fold: some of the oldest, and all of the newest that could fit. */
const FOLD_HEAD = 200;
const FOLD_TAIL = 4_000;

/**
 * What the model is to see of a conversation that equals its transcript. Below half the threshold, and
 * while nothing is summarized, that is the host's own list, untouched.
 */
export function assembleView(context: AssembleContext, budget: number): Assembled {
  const { stores, conversationId, policy } = context;
  const { views } = stores;
  const state = views.state(conversationId);
  const isSmall = state.tokens <= Math.min(policy.threshold / 2, budget);
  if (!state.isShown && isSmall && !views.hasShortForms(conversationId)) {
    return { messages: undefined, tokens: state.tokens, hasSummaries: false };
  }
  if (!state.isShown) takeOver(context);
  return read(context, fit(context, state.tokens, budget));
}

function takeOver({ stores, conversationId }: AssembleContext): void {
  const { db, views } = stores;
  db.transaction(() => {
    views.markShown(conversationId);
    views.bumpVersion(conversationId);
  }, "relaxed");
}

/** The shown items, once they fit. */
function fit(context: AssembleContext, viewTokens: number, budget: number): Shown[] {
  const { stores, conversationId } = context;
  const { db, views } = stores;
  if (viewTokens <= budget && views.fold(conversationId)) {
    db.transaction(() => {
      views.clearFold(conversationId);
      views.bumpVersion(conversationId);
    }, "relaxed");
  }
  const shown = views.shown(conversationId);
  if (totalTokens(shown) <= budget) return shown;
  db.transaction(() => shrink(context, budget));
  return views.shown(conversationId);
}

/** What is prepared and stubs first; what then does not fit is folded, and noted as debt. */
function shrink(context: AssembleContext, budget: number): void {
  const { stores, conversationId, style, now } = context;
  const { views, work } = stores;
  const at = isoAt(now());
  publish(stores, conversationId, context, at);
  work.noteDebt(conversationId, at);
  if (totalTokens(views.shown(conversationId)) <= budget) return;
  views.clearFold(conversationId);
  views.bumpVersion(conversationId);
  const { items, gap } = itemsToFold(stores, conversationId);
  if (views.state(conversationId).tokens <= budget) return;
  const range = planFold(items, budget, gap);
  if (!range) return;
  const fromOrdinal = (items[range.from] as ViewItem).ordinal;
  const throughOrdinal = (items[range.to - 1] as ViewItem).ordinal;
  const facts = views.foldFacts(conversationId, fromOrdinal, throughOrdinal);
  views.setFold(conversationId, { fromOrdinal, throughOrdinal, ...pointer(facts, style.time) }, at);
}

/** All items, or the two ends of very many. */
function itemsToFold(
  stores: Stores,
  conversationId: ConversationId,
): { items: ViewItem[]; gap: number } {
  const { views } = stores;
  const newest = views.newest(conversationId, FOLD_TAIL);
  const first = newest[0]?.ordinal ?? 0;
  const oldest = views.oldest(conversationId, first, FOLD_HEAD);
  const isWhole = oldest.length < FOLD_HEAD;
  return { items: withLinks(stores, [...oldest, ...newest]), gap: isWhole ? 0 : oldest.length };
}

function read({ stores, conversationId }: AssembleContext, shown: readonly Shown[]): Assembled {
  return {
    messages: repairToolPairs(shown.map(({ json }) => decodeMessage(json))),
    tokens: totalTokens(shown),
    hasSummaries: stores.views.hasSummaries(conversationId),
  };
}

/**
 * What the model is to see when the transcript could not be read to its end: as far as we know it, and
 * then what the host has. Stores nothing.
 */
export function assembleUnread(
  { stores, conversationId }: Pick<AssembleContext, "stores" | "conversationId">,
  hostMessages: readonly AgentMessage[],
  budget: number,
): Assembled {
  const { views } = stores;
  const isShown = views.state(conversationId).isShown;
  const ours = isShown ? views.shown(conversationId).map(({ json }) => decodeMessage(json)) : [];
  const joined = spliceHost(ours, hostMessages);
  const hasSummaries = isShown && joined !== undefined && views.hasSummaries(conversationId);
  const trimmed = { ...trim(joined ?? hostMessages, budget), hasSummaries };
  const isHosts = joined === undefined && trimmed.messages === hostMessages;
  return isHosts ? { ...trimmed, messages: undefined } : trimmed;
}

/** A list whose items are not ours to fold: the oldest give way to a pointer that is not kept. */
function trim(messages: readonly AgentMessage[], budget: number): Omit<Assembled, "hasSummaries"> {
  const items = messages.map(toItem);
  const tokens = totalTokens(items);
  if (tokens <= budget) return { messages, tokens };
  const range = planFold(items, budget);
  if (!range) return { messages, tokens };
  const kept = items.slice(range.to);
  const folded = tokens - totalTokens(kept);
  const note = plainPointer(range.to, folded);
  return {
    messages: repairToolPairs([decodeMessage(note.json), ...messages.slice(range.to)]),
    tokens: totalTokens(kept) + note.tokens,
  };
}

function toItem(message: AgentMessage, index: number): ViewItem {
  const tokens = roughTokens(message);
  const calls = blocksOf(message)
    .filter((block) => block["type"] === "toolCall")
    .map((block) => String(block["id"]));
  const { toolCallId } = message;
  return {
    ordinal: index,
    messageId: index as MessageId,
    tokens,
    fullTokens: tokens,
    form: "full",
    role: message.role,
    startsTurn: message.role === "user",
    calls,
    answers: typeof toolCallId === "string" ? toolCallId : null,
  };
}
