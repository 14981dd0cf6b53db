// Reads the visible transcript from where we stand to its end. Each page is applied in one
// transaction together with the cursor behind it and the report of what was missing, so a crash
// between two pages costs nothing.

import { retryWhileBusy } from "../db/connection.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { MessageId, SessionRef, TranscriptEntry, VisiblePage } from "../types.js";
import { applyPage, type FilledEntry, splitOpenHeartbeat } from "./apply-page.js";
import { cursorPosition, moveVisibleCursor } from "./cursor.js";
import { recordGaps, setLastTurnAside } from "./gaps.js";
import { PageReader } from "./page-reader.js";
import {
  type Budget,
  type DrainOutcome,
  isoNow,
  PAGE_BYTES,
  type SyncDependencies,
} from "./sync-types.js";

type EntriesPage = Extract<VisiblePage, { kind: "page" }>;

const PAGE = { maxItems: 500, maxBytes: PAGE_BYTES };
/** A transcript that is rotated again and again while it is read is left for the next turn. */
const MAX_ROTATIONS = 5;
/** A heartbeat turn longer than this did something; it is not waited for. */
const MOST_HELD = 500;

export interface DrainTarget {
  readonly session: SessionRef;
  readonly conversation: Conversation;
  readonly segment: Segment;
  /** Rows of release 0.1.x by the entries they were found to be. */
  readonly aligned: ReadonlyMap<string, MessageId>;
}

export class VisibleDrain {
  #added = 0;
  /** Filled entries of a turn that goes on behind the last page. */
  #unreported: readonly FilledEntry[] = [];
  /** A turn that goes on behind the last page and is judged whole; no cursor is saved beyond it. */
  #held: readonly TranscriptEntry[] = [];
  #cursor: string | undefined;
  readonly #pages: PageReader;
  #rotations = 0;
  /** Set while a moved cursor has not yet proved to stand at our own place. */
  #toVerify: { position: number; fallback: string } | undefined;

  constructor(
    private readonly deps: SyncDependencies,
    private readonly target: DrainTarget,
    private readonly budget: Budget,
  ) {
    this.#cursor = target.segment.visibleCursor ?? undefined;
    this.#pages = new PageReader(deps.source, target.session, PAGE);
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
      const page = await this.#pages.read(this.#cursor);
      if (page.kind === "missing" || page.kind === "unavailable") {
        await retryWhileBusy(() => this.#recordUnreadable(), this.budget.busyMs);
        return page;
      }
      if (page.kind === "reset") {
        this.#rotations += 1;
        if (this.#rotations > MAX_ROTATIONS) {
          return { kind: "unavailable", reason: "the transcript keeps rotating" };
        }
        this.#afterRotation(page.cursor);
      } else if (this.#isElsewhere(page)) {
        this.#startOver(this.#toVerify?.fallback);
      } else {
        const stuck = page.hasMore && page.cursor === this.#cursor;
        await retryWhileBusy(() => this.#apply(page), this.budget.busyMs);
        if (!page.hasMore && this.#held.length === 0) return { kind: "current" };
        if (stuck) return { kind: "unavailable", reason: "the transcript's cursor does not move" };
        if (this.#held.length === 0 && this.budget.isSpent()) return { kind: "partial" };
      }
    }
  }

  /** The host rotated the transcript. It mostly kept its beginning: try to go on near our place. */
  #afterRotation(fresh: string): void {
    const { earlierCursor } = this.target.segment;
    const known = this.#rotations > 1 ? null : earlierCursor;
    const moved = known === null ? undefined : moveVisibleCursor(fresh, known);
    const position = known === null ? undefined : cursorPosition(known);
    if (moved === undefined || position === undefined) return this.#startOver(fresh);
    this.#cursor = moved;
    this.#toVerify = { position: position + 1, fallback: fresh };
  }

  #startOver(fresh: string | undefined): void {
    this.#cursor = fresh;
    this.#toVerify = undefined;
    this.#held = [];
  }

  /** True when a moved cursor landed on another entry than the one we know there. */
  #isElsewhere(page: EntriesPage): boolean {
    if (!this.#toVerify) return false;
    const { position } = this.#toVerify;
    const first = page.entries[0];
    const known = this.deps.stores.messages.placeAt(this.target.segment.id, position);
    return !first || first.seq - 1 !== position || first.entryId !== known?.entryId;
  }

  #apply(page: EntriesPage): void {
    const { visibleCursor } = this.target.segment;
    const brought = page.entries.length > 0 || page.cursor !== visibleCursor;
    if (brought || this.#held.length > 0 || this.#endsBeforeUs(page)) this.#store(page);
    this.#cursor = page.cursor;
    this.#toVerify = undefined;
  }

  #store(page: EntriesPage): void {
    const { stores, now } = this.deps;
    const { segment } = this.target;
    const at = isoNow(now);
    const { whole, open } = this.#takeEntries(page);
    const { filled, held, unreported } = stores.db.transaction(() => {
      const { filled, rest } = this.#aligning(at, () => this.#applyEntries(whole, page, at));
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
    page: EntriesPage,
    now: string,
  ): ReturnType<typeof applyPage> {
    const { stores, keeper, policy } = this.deps;
    const { conversation, segment, aligned } = this.target;
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

  /** Aligned rows take the transcript's exact body: an operator action, and recorded as one. */
  #aligning<T>(at: string, work: () => T): T {
    const { aligned, session, conversation } = this.target;
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
    const { messages, views, conversations, left } = this.deps.stores;
    const { conversation, segment } = this.target;
    const end = endOf(page);
    const cuts = end !== undefined && messages.cutFrom(segment.id, end) > 0;
    if (cuts && this.#isCurrent()) views.markStale(conversation.id);
    // A session that was left may be the one that the rows of release 0.1.x came from.
    const waiting = left.next(conversation.id, 0);
    if (!waiting || waiting.id === segment.id) conversations.markAligned(conversation.id);
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

/** The position behind the last entry of a transcript whose last page this is. */
function endOf(page: EntriesPage): number | undefined {
  const last = page.entries.at(-1);
  if (last) return last.seq;
  const position = cursorPosition(page.cursor);
  return position === undefined ? undefined : position + 1;
}
