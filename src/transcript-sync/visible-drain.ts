// Reads the visible transcript from where we stand to its end. Each page is applied in one
// transaction together with the cursor behind it and the report of what was missing, so a crash
// between two pages costs nothing.

import { retryWhileBusy } from "../db/connection.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { SessionRef, VisiblePage } from "../types.js";
import { Alignment } from "./alignment.js";
import {
  applyPage,
  startCarry,
  type Carry,
  type FilledEntry,
  type PageResult,
} from "./apply-page.js";
import { cursorPosition, moveVisibleCursor } from "./cursor.js";
import { recordGaps, setLastTurnAside } from "./gaps.js";
import {
  isoNow,
  MAX_PAGE_BYTES,
  PAGE_BYTES,
  type SyncDependencies,
  type SyncLimits,
} from "./sync-types.js";

type EntriesPage = Extract<VisiblePage, { kind: "page" }>;

export interface DrainOutcome {
  /** `partial`: the time was up; the rest waits for the next sync. */
  readonly kind: "current" | "partial" | "missing" | "unavailable";
  readonly reason?: string;
}

const PAGE_MESSAGES = 500;
/** A transcript that is rotated again and again while it is read is left for the next turn. */
const MAX_ROTATIONS = 5;

export class VisibleDrain {
  #added = 0;
  /** Filled entries of a turn that goes on behind the last page. */
  #unreported: readonly FilledEntry[] = [];
  #cursor: string | undefined;
  #maxBytes = PAGE_BYTES;
  #carry: Carry | undefined;
  #rotations = 0;
  /** Set while a moved cursor has not yet proved to stand at our own place. */
  #toVerify: { position: number; fallback: string } | undefined;

  constructor(
    private readonly deps: SyncDependencies,
    private readonly session: SessionRef,
    private readonly conversation: Conversation,
    private readonly segment: Segment,
    private readonly limits: SyncLimits,
  ) {
    this.#cursor = segment.visibleCursor ?? undefined;
  }

  /** How many messages were not in the store before. */
  get added(): number {
    return this.#added;
  }

  get unreported(): readonly FilledEntry[] {
    return this.#unreported;
  }

  async run(): Promise<DrainOutcome> {
    const end = performance.now() + this.limits.workMs;
    for (;;) {
      const page = await this.#read();
      if (page.kind === "missing" || page.kind === "unavailable") return page;
      if (page.kind === "reset") {
        this.#rotations += 1;
        if (this.#rotations > MAX_ROTATIONS) {
          return { kind: "unavailable", reason: "the transcript keeps rotating" };
        }
        this.#afterRotation(page.cursor);
      } else if (this.#needsMoreRoom(page)) {
        if ((page.requiredBytes ?? 0) > MAX_PAGE_BYTES) return this.#giveUp(page);
        this.#maxBytes = page.requiredBytes ?? MAX_PAGE_BYTES;
      } else if (this.#isElsewhere(page)) {
        this.#startOver(this.#toVerify?.fallback);
      } else {
        await retryWhileBusy(() => this.#apply(page), this.limits.busyMs);
        if (!page.hasMore) return { kind: "current" };
        if (this.limits.signal?.aborted || performance.now() > end) return { kind: "partial" };
      }
    }
  }

  #read(): Promise<VisiblePage> {
    return this.deps.source.visible(this.session, {
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
      maxItems: PAGE_MESSAGES,
      maxBytes: this.#maxBytes,
    });
  }

  /** The host rotated the transcript. It mostly kept its beginning: try to go on near our place. */
  #afterRotation(fresh: string): void {
    const { earlierCursor } = this.segment;
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
    this.#carry = undefined;
  }

  #needsMoreRoom(page: EntriesPage): boolean {
    const { entries, requiredBytes } = page;
    return entries.length === 0 && requiredBytes !== undefined && requiredBytes > this.#maxBytes;
  }

  /** True when a moved cursor landed on another entry than the one we know there. */
  #isElsewhere(page: EntriesPage): boolean {
    if (!this.#toVerify) return false;
    const { position } = this.#toVerify;
    const first = page.entries[0];
    const known = this.deps.stores.messages.placeAt(this.segment.id, position);
    return !first || first.seq - 1 !== position || first.entryId !== known?.entryId;
  }

  #apply(page: EntriesPage): void {
    const brought = page.entries.length > 0 || page.cursor !== this.segment.visibleCursor;
    const result = brought || this.#endsBeforeUs(page) ? this.#store(page) : undefined;
    if (result) {
      this.#carry = result.carry;
      this.#added += result.filled.length;
      this.#unreported = result.unreported;
    }
    this.#cursor = page.cursor;
    this.#toVerify = undefined;
    this.#maxBytes = PAGE_BYTES;
  }

  #store(page: EntriesPage): PageResult & { unreported: readonly FilledEntry[] } {
    const { stores, now, policy } = this.deps;
    const at = isoNow(now);
    return stores.db.transaction(() => {
      const alignment = this.#alignment();
      const context = {
        stores,
        conversationId: this.conversation.id,
        segmentId: this.segment.id,
        sessionId: this.session.sessionId,
        policy,
        alignment,
        now: at,
      };
      const result = this.#aligning(alignment, at, () => {
        const position = (page.entries[0]?.seq ?? 1) - 1;
        return applyPage(context, page.entries, this.#carry ?? startCarry(context, position));
      });
      if (!page.hasMore) this.#settle(page);
      stores.conversations.saveVisibleCursor(this.segment.id, page.cursor);
      return { ...result, unreported: this.#report(result.filled, page, at) };
    });
  }

  /** Records what was filled, but for a last turn that may go on in the next page. */
  #report(filled: readonly FilledEntry[], page: EntriesPage, at: string): readonly FilledEntry[] {
    const entries = [...this.#unreported, ...filled];
    const { ended, open } = page.hasMore ? setLastTurnAside(entries) : { ended: entries, open: [] };
    recordGaps(this.deps.stores, this.conversation, this.segment, ended, at);
    return open;
  }

  #alignment(): Alignment | undefined {
    const { conversations, messages } = this.deps.stores;
    const through = conversations.alignedThrough(this.conversation.id);
    if (through === null) return undefined;
    return new Alignment(
      (after, limit) => messages.unaligned(this.conversation.id, after, limit),
      through,
    );
  }

  /** Aligned rows take the transcript's exact body: an operator action, and recorded as one. */
  #aligning<T>(alignment: Alignment | undefined, at: string, work: () => T): T {
    if (!alignment) return work();
    const { events, conversations, views } = this.deps.stores;
    const action = events.beginOperatorAction("align-release-0.1", this.session.sessionKey, at);
    const result = work();
    // The rows' places in the old view are not places on the branch.
    views.markStale(this.conversation.id);
    conversations.setAlignedThrough(this.conversation.id, alignment.through);
    events.finishOperatorAction(action, `${alignment.matched} messages aligned`, at);
    return result;
  }

  /** The end of the transcript: what we hold beyond it has left the branch. */
  #settle(page: EntriesPage): void {
    const { messages, views, conversations } = this.deps.stores;
    const end = endOf(page);
    if (end !== undefined && messages.cutFrom(this.segment.id, end) > 0) {
      views.markStale(this.conversation.id);
    }
    conversations.setAlignedThrough(this.conversation.id, null);
  }

  #endsBeforeUs(page: EntriesPage): boolean {
    const end = endOf(page);
    const head = this.deps.stores.messages.head(this.segment.id);
    return !page.hasMore && end !== undefined && head !== undefined && head.position >= end;
  }

  async #giveUp(page: EntriesPage): Promise<DrainOutcome> {
    const at = isoNow(this.deps.now);
    const reason = `an entry of ${page.requiredBytes} bytes after position ${cursorPosition(page.cursor) ?? "?"} is beyond what the host hands out`;
    const event = { kind: "unreadable", happenedAt: at, messageCount: 1, detail: reason } as const;
    await retryWhileBusy(
      () => this.deps.stores.events.recordOnce(this.conversation.id, event, at),
      this.limits.busyMs,
    );
    return { kind: "unavailable", reason };
  }
}

/** The position behind the last entry of a transcript whose last page this is. */
function endOf(page: EntriesPage): number | undefined {
  const last = page.entries.at(-1);
  if (last) return last.seq;
  const position = cursorPosition(page.cursor);
  return position === undefined ? undefined : position + 1;
}
