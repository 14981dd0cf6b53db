// Keeps the view equal to the branch: messages that arrive are appended, and after a rewind, a switch,
// a reset or a late gap it is derived anew from where it stopped being true. Nodes that were published
// once come back with their branch; a node that the branch cuts gives way to its sources, level by
// level. Both assume the caller's transaction.

import { shortForm } from "./assembler/forms.js";
import { renderStyle } from "./assembler/render-summary.js";
import { coarsest, type GraphNode } from "./compaction/frontier.js";
import { nodesOver } from "./compaction/graph.js";
import { showSummary } from "./compaction/load-state.js";
import { currentPolicy } from "./current-policy.js";
import type { LcmConfig } from "./db/config.js";
import type { Stores } from "./store/index.js";
import type { BranchRow } from "./store/message-store.js";
import type { NewItem } from "./store/view-store.js";
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
    const kept = this.#stillTrue(conversation, segment, start);
    const rows = messages.branchFrom(segment, kept.next);
    const removed = views.remove(conversation, kept.lastOrdinal + 1, Number.MAX_SAFE_INTEGER);
    const most = this.#mostItemTokens(conversation);
    for (const item of this.#cover(rows, most)) views.append(conversation, item);
    const fold = views.fold(conversation);
    if (fold && fold.throughOrdinal > kept.lastOrdinal) views.clearFold(conversation);
    views.settleRebuild(conversation, { isChanged: removed > 0 });
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

  /** The rows as items, with published nodes in the place of what they cover whole. */
  #cover(rows: readonly BranchRow[], most: number | null): NewItem[] {
    const elements = rows.map(({ id: ref, tokens }, from) => {
      return { ref, depth: -1, tokens, from, to: from + 1 };
    });
    const nodes = this.#publishedNodes(rows.map(({ id }) => id));
    return coarsest(elements, nodes).map(({ ref, depth, from }) =>
      depth < 0
        ? this.#toItem(rows[from] as BranchRow, most)
        : this.#toSummaryItem(ref as SummaryId),
    );
  }

  #publishedNodes(messages: readonly MessageId[]): GraphNode[] {
    const { summaries } = this.#stores;
    const members = nodesOver(this.#stores, messages, []);
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
