// One item, looked up by its id and checked against what the caller may see. Neighbors in the graph are
// named only as far as they may be seen too.

import type { Stores } from "../store/index.js";
import type { RecalledMessage, StoredFile } from "../store/recall-store.js";
import type { Summary } from "../store/summary-store.js";
import type { ConversationId, MessageId, SummaryId } from "../types.js";
import type { ItemId } from "./item-id.js";

export type Visible = ReadonlySet<ConversationId>;

export interface SummaryLinks {
  /** What it was built from, in order. */
  readonly sources: readonly SummaryId[];
  readonly messages: readonly MessageId[];
  /** The nodes built from it. */
  readonly derived: readonly SummaryId[];
  readonly supersededBy: SummaryId | undefined;
}

export type Description =
  | { readonly kind: "summary"; readonly summary: Summary; readonly links: SummaryLinks }
  | {
      readonly kind: "message";
      readonly message: RecalledMessage;
      /** The leaves that cover it. */
      readonly coveredBy: readonly SummaryId[];
    }
  | { readonly kind: "file"; readonly file: StoredFile }
  | { readonly kind: "missing" }
  /** It is stored, and belongs to a conversation that the caller did not ask for or may not see. */
  | { readonly kind: "elsewhere"; readonly conversation: ConversationId };

type ReadStores = Pick<Stores, "summaries" | "recall">;

export function describe(stores: ReadStores, item: ItemId, visible: Visible): Description {
  switch (item.kind) {
    case "summary": {
      const summary = stores.summaries.get(item.id);
      if (!summary) return { kind: "missing" };
      return within(visible, summary.conversationId, () => ({
        kind: "summary",
        summary,
        links: linksOf(stores, summary, visible),
      }));
    }
    case "message": {
      const [message] = stores.recall.messages([item.id]);
      if (!message) return { kind: "missing" };
      return within(visible, message.conversationId, () => ({
        kind: "message",
        message,
        coveredBy: coveringLeaves(stores, item.id, visible),
      }));
    }
    case "file": {
      const file = stores.recall.file(item.id);
      if (!file) return { kind: "missing" };
      return within(visible, file.conversationId, () => ({ kind: "file", file }));
    }
  }
}

function within(
  visible: Visible,
  conversation: ConversationId,
  make: () => Description,
): Description {
  return visible.has(conversation) ? make() : { kind: "elsewhere", conversation };
}

export function linksOf(stores: ReadStores, { id }: Summary, visible: Visible): SummaryLinks {
  const { summaries } = stores;
  const derived = [...new Set(summaries.builtFrom([id]).map((edge) => edge.id))];
  const [supersededBy] = visibleNodes(stores, [...summaries.successors([id]).values()], visible);
  return {
    sources: visibleNodes(stores, summaries.sourceIds(id), visible).map((node) => node.id),
    messages: visibleMessages(stores, summaries.messageIds(id), visible).map((one) => one.id),
    derived: visibleNodes(stores, derived, visible).map((node) => node.id),
    supersededBy: supersededBy?.id,
  };
}

export function visibleNodes(
  { summaries }: ReadStores,
  ids: readonly SummaryId[],
  visible: Visible,
): Summary[] {
  return summaries.many(ids).filter(({ conversationId }) => visible.has(conversationId));
}

/** The nodes that stand for the given ones now, each once. */
export function currentNodes({ summaries }: ReadStores, ids: readonly SummaryId[]): SummaryId[] {
  const successors = summaries.successors(ids);
  return [...new Set(ids.map((id) => successors.get(id) ?? id))];
}

export function visibleMessages(
  { recall }: ReadStores,
  ids: readonly MessageId[],
  visible: Visible,
): RecalledMessage[] {
  return recall.messages(ids).filter(({ conversationId }) => visible.has(conversationId));
}

/** The leaves over a message that nothing supersedes. */
export function coveringLeaves(
  stores: ReadStores,
  message: MessageId,
  visible: Visible,
): SummaryId[] {
  const leaves = [...new Set(stores.summaries.leavesOver([message]).map(({ id }) => id))];
  const old = stores.summaries.successors(leaves);
  return visibleNodes(
    stores,
    leaves.filter((id) => !old.has(id)),
    visible,
  ).map(({ id }) => id);
}
