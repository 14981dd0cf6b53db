// Reads the visible transcript from where we stand to its end. Each page is applied in one
// transaction together with the cursor behind it and the report of what was missing, so a crash
// between two pages costs nothing.

import { retryWhileBusy } from "../db/connection.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { MessageId, SessionRef, TranscriptEntry } from "../types.js";
import { applyPage, type FilledEntry, splitOpenHeartbeat } from "./apply-page.js";
import { recordGaps, setLastTurnAside } from "./gaps.js";
import { PageReader } from "./page-reader.js";
import { endOf, type EntriesPage, PageWalk } from "./page-walk.js";
import {
  type Budget,
  type DrainOutcome,
  isoNow,
  PAGE_BYTES,
  type SyncDependencies,
} from "./sync-types.js";

const PAGE = { maxItems: 500, maxBytes: PAGE_BYTES };
/** A heartbeat turn longer than this did something; it is not waited for. */
const MOST_HELD = 500;

export interface DrainTarget {
  readonly session: SessionRef;
  readonly conversation: Conversation;
  readonly segment: Segment;
}

/** Rows of release 0.1.x by the entries they were found to be. */
type Aligned = ReadonlyMap<string, MessageId>;

const NONE_ALIGNED: Aligned = new Map();

export class VisibleDrain {
  #added = 0;
  /** Filled entries of a turn that goes on behind the last page. */
  #unreported: readonly FilledEntry[] = [];
  /** A turn that goes on behind the last page and is judged whole; no cursor is saved beyond it. */
  #held: readonly TranscriptEntry[] = [];
  readonly #pages: PageReader;
  readonly #walk: PageWalk;

  constructor(
    private readonly deps: SyncDependencies,
    private readonly target: DrainTarget,
    private readonly budget: Budget,
  ) {
    const { id, visibleCursor: cursor, earlierCursor } = target.segment;
    const entryAt = (position: number) => deps.stores.messages.placeAt(id, position)?.entryId;
    this.#pages = new PageReader(deps.source, target.session, PAGE);
    this.#walk = new PageWalk(this.#pages, { cursor, earlierCursor, entryAt });
  }

  /** How many messages were not in the store before. */
  get added(): number {
    return this.#added;
  }

  get unreported(): readonly FilledEntry[] {
    return this.#unreported;
  }

  async run(): Promise<DrainOutcome> {
    for (;;) {
      const page = await this.#walk.next();
      if (page.kind !== "page") {
        await retryWhileBusy(() => this.#recordUnreadable(), this.budget.busyMs);
        return page;
      }
      if (this.#walk.hasJumped) this.#held = [];
      const stuck = page.hasMore && page.cursor === this.#walk.cursor;
      await retryWhileBusy(() => this.#apply(page), this.budget.busyMs);
      if (!page.hasMore && this.#held.length === 0) return { kind: "current" };
      if (stuck) return { kind: "unavailable", reason: "the transcript's cursor does not move" };
      if (this.#held.length === 0 && this.budget.isSpent()) return { kind: "partial" };
    }
  }

  #apply(page: EntriesPage): void {
    const { visibleCursor } = this.target.segment;
    const brought = page.entries.length > 0 || page.cursor !== visibleCursor;
    if (brought || this.#held.length > 0 || this.#endsBeforeUs(page)) this.#store(page);
    this.#walk.take(page);
  }

  #store(page: EntriesPage): void {
    const { stores, now } = this.deps;
    const { segment } = this.target;
    const at = isoNow(now);
    const { whole, open } = this.#takeEntries(page);
    const { filled, held, unreported } = stores.db.transaction(() => {
      const aligned = this.#alignedOf(whole);
      const { filled, rest } = this.#aligning(aligned, at, () =>
        this.#applyEntries(whole, aligned, page, at),
      );
      this.#recordUnreadable();
      if (filled.length > 0) stores.work.noteDebt(this.target.conversation.id, at);
      const held = [...rest, ...open];
      const isEnd = !page.hasMore && held.length === 0;
      if (isEnd) this.#settle(page);
      if (held.length === 0) stores.conversations.saveVisibleCursor(segment.id, page.cursor);
      return { filled, held, unreported: this.#report(filled, isEnd, at) };
    });
    this.#held = held;
    this.#added += filled.length;
    this.#unreported = unreported;
  }

  #takeEntries(page: EntriesPage): ReturnType<typeof splitOpenHeartbeat> {
    const entries = [...this.#held, ...page.entries];
    const split = splitOpenHeartbeat(entries, this.deps.policy);
    const waits = page.hasMore && split.open.length <= MOST_HELD;
    return waits ? split : { whole: entries, open: [] };
  }

  #applyEntries(
    entries: readonly TranscriptEntry[],
    aligned: Aligned,
    page: EntriesPage,
    now: string,
  ): ReturnType<typeof applyPage> {
    const { stores, keeper, policy } = this.deps;
    const { conversation, segment } = this.target;
    const context = {
      stores,
      keeper,
      conversationId: conversation.id,
      segment,
      isCurrent: this.#isCurrent(),
      policy,
      aligned,
      now,
    };
    // A turn may have been committed after a page with half of it was read. One more read brings the
    // rest, or nothing: then the branch has left the turn.
    const goesOn = page.hasMore || page.entries.length > 0;
    return applyPage(context, entries, goesOn);
  }

  /** Records what was filled, but for a last turn that may go on in the next page. */
  #report(filled: readonly FilledEntry[], isEnd: boolean, at: string): readonly FilledEntry[] {
    const { conversation, segment } = this.target;
    const entries = [...this.#unreported, ...filled];
    const { ended, open } = isEnd ? { ended: entries, open: [] } : setLastTurnAside(entries);
    recordGaps(this.deps.stores, conversation, segment, ended, at);
    return open;
  }

  /** Once: an entry that stays unreadable is met again whenever the transcript is read anew. */
  #recordUnreadable(): void {
    const at = isoNow(this.deps.now);
    for (const detail of this.#pages.unreadable) {
      const event = { kind: "unreadable", happenedAt: at, messageCount: 1, detail } as const;
      this.deps.stores.events.recordOnce(this.target.conversation.id, event, at);
    }
  }

  #alignedOf(entries: readonly TranscriptEntry[]): Aligned {
    const { alignments } = this.deps.stores;
    const { id } = this.target.conversation;
    if (!alignments.isOpen(id)) return NONE_ALIGNED;
    const ids = entries.map(({ entryId }) => entryId);
    return alignments.partners(id, ids);
  }

  /** Aligned rows take the transcript's exact body: an operator action, and recorded as one. */
  #aligning<T>(aligned: Aligned, at: string, work: () => T): T {
    const { session, conversation } = this.target;
    if (aligned.size === 0) return work();
    const { events, views } = this.deps.stores;
    const action = events.beginOperatorAction("align-release-0.1", session.sessionKey, at);
    const result = work();
    // The rows' places in the old view are not places on the branch.
    views.markStale(conversation.id);
    events.finishOperatorAction(action, `${aligned.size} messages found in the transcript`, at);
    return result;
  }

  /** The end of the transcript: what we hold beyond it has left the branch. */
  #settle(page: EntriesPage): void {
    const { messages, views, alignments, left } = this.deps.stores;
    const { conversation, segment } = this.target;
    const end = endOf(page);
    const cuts = end !== undefined && messages.cutFrom(segment.id, end) > 0;
    if (cuts && this.#isCurrent()) views.markStale(conversation.id);
    // A session that was left may be the one that the rows of release 0.1.x came from.
    const first = left.next(conversation.id, 0);
    const other = first?.id === segment.id ? left.next(conversation.id, segment.id) : first;
    if (!other) alignments.close(conversation.id);
  }

  /** Asked anew for every page: the view may move while a transcript is read. */
  #isCurrent(): boolean {
    const { conversation, session } = this.target;
    return this.deps.stores.conversations.isCurrent(conversation.id, session.sessionId);
  }

  #endsBeforeUs(page: EntriesPage): boolean {
    const end = endOf(page);
    const head = this.deps.stores.messages.head(this.target.segment.id);
    return !page.hasMore && end !== undefined && head !== undefined && head.position >= end;
  }
}
