// Keeps the view equal to the branch: messages that arrive are appended, and after a rewind, a switch,
// a reset or a late gap it is derived anew from where it stopped being true. Nodes that were published
// once come back with their branch; a node that the branch cuts gives way to its sources, level by
// level. Both assume the caller's transaction.

import { shortForm } from "./assembler/forms.js";
import { renderStyle } from "./assembler/render-summary.js";
import { coarsest, type Element, type GraphNode } from "./compaction/frontier.js";
import { nodesOver } from "./compaction/graph.js";
import { showSummary } from "./compaction/load-state.js";
import { isMessage } from "./compaction/view-items.js";
import { currentPolicy } from "./current-policy.js";
import type { LcmConfig } from "./db/config.js";
import type { Stores } from "./store/index.js";
import type { BranchRow } from "./store/message-store.js";
import type { ItemRow, NewItem } from "./store/view-store.js";
import type { ConversationId, MessageId, SegmentId, SummaryId } from "./types.js";

export class ViewKeeper {
  readonly #stores: Stores;
  readonly #config: LcmConfig;

  constructor(stores: Stores, config: LcmConfig) {
    this.#stores = stores;
    this.#config = config;
  }

  /** Adds messages at the end, but for those that never go to a model. */
  append(conversation: ConversationId, messages: readonly MessageId[]): void {
    const { views } = this.#stores;
    const rows = this.#stores.messages.forView(messages);
    const most = this.#mostItemTokens(conversation);
    for (const row of rows) views.append(conversation, this.#toItem(row, most));
  }

  /** Derives the view from a segment's branch. */
  rebuild(conversation: ConversationId, segment: SegmentId, now: string): void {
    const { views, boundaries, messages, work } = this.#stores;
    const start = boundaries.viewStart(segment).position;
    const { next, lastOrdinal } = this.#stillTrue(conversation, segment, start);
    const removed = views.remove(conversation, lastOrdinal + 1, Number.MAX_SAFE_INTEGER);
    const kept = views.oldest(conversation, lastOrdinal + 1, Number.MAX_SAFE_INTEGER);
    const isRaised = this.#goOn(conversation, kept, messages.branchFrom(segment, next));
    const fold = views.fold(conversation);
    if (fold && (isRaised || fold.throughOrdinal > lastOrdinal)) views.clearFold(conversation);
    views.settleRebuild(conversation, { isChanged: removed > 0 || isRaised });
    work.noteDebt(conversation, now);
  }

  /** How far the view still equals the branch: item by item, until one is not where it should be. */
  #stillTrue(
    conversation: ConversationId,
    segment: SegmentId,
    start: number,
  ): { next: number; lastOrdinal: number } {
    const { views, messages } = this.#stores;
    let next = start;
    let lastOrdinal = 0;
    for (const { ordinal, first, last } of views.spans(conversation, segment)) {
      if (first === null || last === null || first < next) break;
      if (first > next && messages.isShownBetween(segment, next, first)) break;
      next = last + 1;
      lastOrdinal = ordinal;
    }
    return { next, lastOrdinal };
  }

  /**
   * Puts the rows behind the kept items, with published nodes in the place of what they cover whole.
   * True when such a node took the place of kept items: what cut it is gone.
   */
  #goOn(
    conversation: ConversationId,
    kept: readonly ItemRow[],
    rows: readonly BranchRow[],
  ): boolean {
    const { views } = this.#stores;
    const most = this.#mostItemTokens(conversation);
    let isRaised = false;
    for (const { ref, depth, from, to } of this.#coarsest(kept, rows)) {
      const row = rows[from - kept.length];
      const [first, last] = [kept[from], kept[Math.min(to, kept.length) - 1]];
      if (depth < 0 && row) views.append(conversation, this.#toItem(row, most));
      if (depth < 0 || isSameItem(first, ref)) continue;
      const node = this.#toSummaryItem(ref as SummaryId);
      if (first && last) {
        isRaised = true;
        views.remove(conversation, first.ordinal, last.ordinal);
        views.insertAt(conversation, first.ordinal, node);
      } else {
        views.append(conversation, node);
      }
    }
    return isRaised;
  }

  #coarsest(kept: readonly ItemRow[], rows: readonly BranchRow[]): Element[] {
    const items = [
      ...kept.map((item) =>
        isMessage(item)
          ? { ref: item.messageId, depth: -1 }
          : { ref: item.summaryId, depth: item.depth },
      ),
      ...rows.map(({ id }) => ({ ref: id, depth: -1 })),
    ];
    const elements = items.map((item, from) => ({ ...item, tokens: 0, from, to: from + 1 }));
    const messages = items.filter(({ depth }) => depth < 0).map(({ ref }) => ref as MessageId);
    const nodes = items.filter(({ depth }) => depth >= 0).map(({ ref }) => ref as SummaryId);
    return coarsest(elements, this.#publishedNodes(messages, nodes));
  }

  #publishedNodes(messages: readonly MessageId[], shown: readonly SummaryId[]): GraphNode[] {
    const { summaries } = this.#stores;
    const members = nodesOver(this.#stores, messages, shown);
    const published = summaries.published([...members.keys()]);
    const successors = summaries.successors([...published]);
    const isReplaced = (id: SummaryId): boolean => {
      const successor = successors.get(id);
      return successor !== undefined && published.has(successor);
    };
    const depths = new Map(summaries.many([...published]).map(({ id, depth }) => [id, depth]));
    return [...published]
      .filter((id) => !isReplaced(id))
      .map((id) => ({ id, depth: depths.get(id) ?? 0, tokens: 0, members: members.get(id) ?? [] }));
  }

  #toItem({ id, tokens }: BranchRow, most: number | null): NewItem {
    if (most === null || tokens <= most) return { messageId: id, tokens };
    const message = this.#stores.messages.get(id);
    return { messageId: id, form: "reference", shown: shortForm(id, message, "reference", tokens) };
  }

  #toSummaryItem(summaryId: SummaryId): NewItem {
    const [summary] = this.#stores.summaries.many([summaryId]);
    if (!summary) throw new TypeError(`${summaryId} is published but not stored`);
    return { summaryId, shown: showSummary(this.#stores, summary, renderStyle(this.#config)) };
  }

  /** Above this a single item is shown as a reference; null while no turn has told a budget. */
  #mostItemTokens(conversation: ConversationId): number | null {
    return currentPolicy(this.#stores, this.#config, conversation)?.itemTokens ?? null;
  }
}

function isSameItem(item: ItemRow | undefined, ref: unknown): boolean {
  return item !== undefined && !isMessage(item) && item.summaryId === ref;
}
