// Makes the store equal to the host's transcript. The transcript is the truth: whatever `commitTurn`
// never delivered (history, steered or killed turns, injected rows, turns on legacy) arrives here.
//
// Reads are asynchronous and paged; each page is applied in one synchronous transaction together with
// the cursor behind it, so a crash between two pages costs nothing.

import { retryWhileBusy } from "../db/connection.js";
import type { HeartbeatPolicy } from "../heartbeat.js";
import type { Conversation, Segment } from "../store/conversation-store.js";
import type { Stores } from "../store/index.js";
import type { Clock, SessionRef, TranscriptSource, VisiblePage } from "../types.js";
import { Alignment } from "./alignment.js";
import { applyPage, startCarry, type Carry, type FilledEntry, type PageContext } from "./apply-page.js";
import { cursorPosition, moveCursor } from "./cursor.js";
import { describeGaps } from "./gaps.js";
import { drainResets } from "./drain-resets.js";

export interface SyncDependencies {
  readonly stores: Stores;
  readonly source: TranscriptSource;
  readonly policy: HeartbeatPolicy;
  readonly now: Clock;
}

export interface SyncReport {
  readonly outcome: "current" | "missing" | "unavailable";
  /** Messages that were not in the store before. */
  readonly added: number;
  readonly reason?: string;
}

const PAGE_MESSAGES = 500;
const PAGE_BYTES = 4 * 1024 * 1024;
/** The host's own upper limit for one page. */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024;
const BUSY_DEADLINE_MS = 10_000;
/** A transcript that is rotated again and again while it is read is left for the next turn. */
const MAX_RESETS = 5;

export async function syncTranscript(deps: SyncDependencies, session: SessionRef): Promise<SyncReport> {
  const opened = await retryWhileBusy(() => openSegment(deps, session), BUSY_DEADLINE_MS);
  const drain = new VisibleDrain(deps, session, opened.conversation, opened.segment);
  const outcome = await drain.run();
  if (outcome.kind !== "current") return { outcome: outcome.kind, added: drain.filled.length, ...(outcome.reason ? { reason: outcome.reason } : {}) };
  const resetsFound = await drainResets(deps, session, opened.segment);
  const viewMoved = drain.viewMoved || opened.viewMoved || resetsFound;
  await retryWhileBusy(() => finish(deps, opened, drain, viewMoved), BUSY_DEADLINE_MS);
  return { outcome: "current", added: drain.filled.length };
}

interface Opened {
  readonly conversation: Conversation;
  readonly segment: Segment;
  readonly viewMoved: boolean;
}

function openSegment({ stores, source, now }: SyncDependencies, session: SessionRef): Opened {
  const at = iso(now);
  const forkedFrom = source.forkedFrom(session);
  return stores.db.transaction(() => {
    const conversation = stores.conversations.findOrCreate(session, at);
    const segment = stores.conversations.segmentOrCreate(conversation.id, session.sessionId, at);
    const viewMoved = stores.conversations.makeCurrent(conversation.id, session.sessionId, at);
    if (forkedFrom) {
      const parent = stores.conversations.find({ agentId: session.agentId, sessionKey: forkedFrom });
      if (parent) stores.conversations.recordForkSource(conversation.id, parent.id);
    }
    return { conversation, segment, viewMoved };
  });
}

function finish({ stores, now }: SyncDependencies, opened: Opened, drain: VisibleDrain, viewMoved: boolean): void {
  const at = iso(now);
  const { conversation, segment } = opened;
  stores.db.transaction(() => {
    const events = describeGaps(drain.filled, {
      wasActive: conversation.activeSince !== null,
      servedBetween: (from, to) => stores.events.hasTurnStartBetween(conversation.id, from, to),
    });
    for (const event of events) stores.events.record(conversation.id, event, at);
    if (viewMoved) stores.views.rebuild(conversation.id, segment.id);
    if (conversation.alignedThrough !== null) stores.conversations.setAlignedThrough(conversation.id, null);
    stores.conversations.markBootstrapped(conversation.id, at);
  });
}

type DrainOutcome = { kind: "current" | "missing" | "unavailable"; reason?: string };

/** Reads the visible transcript from where we stand to its end. */
class VisibleDrain {
  readonly filled: FilledEntry[] = [];
  viewMoved = false;
  #cursor: string | undefined;
  #maxBytes = PAGE_BYTES;
  #carry: Carry | undefined;
  /** Set while a moved cursor has not yet proved to stand at our own place. */
  #toVerify: { position: number; fresh: string } | undefined;
  #triedMoving = false;
  #resets = 0;

  constructor(
    private readonly deps: SyncDependencies,
    private readonly session: SessionRef,
    private readonly conversation: Conversation,
    private readonly segment: Segment,
  ) {
    this.#cursor = segment.visibleCursor ?? undefined;
  }

  async run(): Promise<DrainOutcome> {
    for (;;) {
      const page = await this.#read();
      if (page.kind === "missing" || page.kind === "unavailable") return page;
      if (page.kind === "reset") {
        this.#resets += 1;
        if (this.#resets > MAX_RESETS) return { kind: "unavailable", reason: "the transcript keeps rotating" };
        this.#afterReset(page.cursor);
      } else if (this.#needsMoreRoom(page)) {
        if ((page.requiredBytes ?? 0) > MAX_PAGE_BYTES) return this.#giveUp(page);
        this.#maxBytes = page.requiredBytes ?? MAX_PAGE_BYTES;
      } else if (this.#isElsewhere(page)) {
        this.#startOver(this.#toVerify?.fresh);
      } else {
        await retryWhileBusy(() => this.#apply(page), BUSY_DEADLINE_MS);
        if (!page.hasMore) return { kind: "current" };
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
  #afterReset(fresh: string): void {
    const earlier = this.segment.earlierCursor;
    const moved = this.#triedMoving || earlier === null ? undefined : moveCursor(fresh, earlier);
    const position = earlier === null ? undefined : cursorPosition(earlier);
    this.#triedMoving = true;
    if (moved === undefined || position === undefined) return this.#startOver(fresh);
    this.#cursor = moved;
    this.#toVerify = { position: position + 1, fresh };
  }

  #startOver(fresh: string | undefined): void {
    this.#cursor = fresh;
    this.#toVerify = undefined;
    this.#carry = undefined;
  }

  #needsMoreRoom(page: Extract<VisiblePage, { kind: "page" }>): boolean {
    return page.entries.length === 0 && page.requiredBytes !== undefined && page.requiredBytes > this.#maxBytes;
  }

  /** True when a moved cursor landed on another entry than the one we know there. */
  #isElsewhere(page: Extract<VisiblePage, { kind: "page" }>): boolean {
    if (!this.#toVerify) return false;
    const first = page.entries[0];
    const known = this.deps.stores.messages.placeAt(this.segment.id, this.#toVerify.position);
    return !first || !known || first.seq - 1 !== this.#toVerify.position || first.entryId !== known.entryId;
  }

  #apply(page: Extract<VisiblePage, { kind: "page" }>): void {
    const { stores, now, policy } = this.deps;
    const at = iso(now);
    const first = page.entries[0];
    stores.db.transaction(() => {
      const conversation = stores.conversations.find(this.session) ?? this.conversation;
      const alignment = this.#alignment(conversation);
      const context: PageContext = {
        stores,
        conversationId: this.conversation.id,
        segmentId: this.segment.id,
        sessionId: this.session.sessionId,
        policy,
        alignment,
        now: at,
      };
      const action = alignment && stores.events.beginOperatorAction("align-release-0.1", this.session.sessionKey, at);
      const carry = this.#carry ?? startCarry(context, first ? first.seq - 1 : 0);
      const result = applyPage(context, page.entries, carry);
      if (alignment && action !== undefined) {
        stores.conversations.setAlignedThrough(conversation.id, alignment.through);
        stores.events.finishOperatorAction(action, `${alignment.matched} messages aligned`, at);
      }
      const cut = page.hasMore ? 0 : this.#cutBehind(page);
      stores.conversations.saveVisibleCursor(this.segment.id, page.cursor, at);
      this.#carry = carry;
      this.filled.push(...result.filled);
      this.viewMoved ||= result.viewMoved || cut > 0;
    });
    this.#cursor = page.cursor;
    this.#toVerify = undefined;
    this.#maxBytes = PAGE_BYTES;
  }

  #alignment(conversation: Conversation): Alignment | undefined {
    if (conversation.alignedThrough === null) return undefined;
    return new Alignment(
      this.deps.stores.messages.unaligned(conversation.id, conversation.alignedThrough),
      conversation.alignedThrough,
    );
  }

  /** At the end of the transcript, what we hold beyond it has left the branch. */
  #cutBehind(page: Extract<VisiblePage, { kind: "page" }>): number {
    const end = page.entries.at(-1)?.seq ?? (cursorPosition(page.cursor) ?? Number.NaN) + 1;
    return Number.isNaN(end) ? 0 : this.deps.stores.messages.cutFrom(this.segment.id, end);
  }

  #giveUp(page: Extract<VisiblePage, { kind: "page" }>): DrainOutcome {
    const at = iso(this.deps.now);
    const detail = `an entry of ${page.requiredBytes} bytes after position ${cursorPosition(page.cursor) ?? "?"} is beyond what the host hands out`;
    this.deps.stores.events.recordOnce(
      this.conversation.id,
      { kind: "unreadable", happenedAt: at, messageCount: 1, detail },
      at,
    );
    return { kind: "unavailable", reason: detail };
  }
}

function iso(now: Clock): string {
  return new Date(now()).toISOString();
}
