// What the store knows about itself and one session, gathered for people and programs.

import {
  type ContextStatus,
  contextStatus,
  type SummaryStatus,
  summaryStatus,
} from "./context-status.js";
import type { LcmConfig } from "./db/config.js";
import { classifySession, type SessionClass } from "./session-policy.js";
import type { ConversationCounts, DatabaseCounts } from "./store/status-store.js";
import type { Stores } from "./store/index.js";
import type {
  Clock,
  ConversationId,
  SegmentId,
  SessionRef,
  TranscriptEntry,
  TranscriptSource,
  VisiblePage,
} from "./types.js";

/** How our newest stored entry compares with the transcript's. */
export type HeadCheck =
  | { readonly state: "equal"; readonly position: number }
  /** `more`: counting stopped at the first page with something missing. */
  | { readonly state: "behind"; readonly missing: number; readonly more: boolean }
  | { readonly state: "unknown"; readonly reason: string };

export interface SessionStatus {
  readonly key: string;
  readonly class: SessionClass;
  /** Null before the session's first turn through the engine. */
  readonly conversation: ConversationCounts | null;
  readonly head: HeadCheck;
  /** Null before the session's first turn with a budget. */
  readonly context: ContextStatus | null;
}

export interface Status {
  readonly database: DatabaseCounts;
  readonly summaries: SummaryStatus;
  readonly session?: SessionStatus;
  /** The conversations used last, newest first. Empty when a session was asked for. */
  readonly recent: readonly ConversationCounts[];
}

export interface StatusDependencies {
  readonly stores: Stores;
  readonly source: TranscriptSource;
  readonly config: LcmConfig;
  readonly now: Clock;
}

const RECENT = 5;
const MAX_BYTES = 64 * 1024 * 1024;
const NOTHING_STORED: HeadCheck = { state: "unknown", reason: "nothing is stored yet" };

export async function readStatus(deps: StatusDependencies, session?: SessionRef): Promise<Status> {
  const { status } = deps.stores;
  const database = status.database();
  const summaries = summaryStatus(deps.stores, deps.config, deps.now);
  if (session) {
    return { database, summaries, session: await readSession(deps, session), recent: [] };
  }
  const recent = status.recent(RECENT).map((id) => status.conversation(id));
  return { database, summaries, recent };
}

async function readSession(deps: StatusDependencies, session: SessionRef): Promise<SessionStatus> {
  const { stores, config } = deps;
  const found = stores.conversations.find(session);
  const sessionId = session.sessionId || (found?.sessionId ?? "");
  return {
    key: session.sessionKey,
    class: classifySession(session.sessionKey, config),
    conversation: found ? stores.status.conversation(found.id) : null,
    head: found ? await checkHead(deps, { ...session, sessionId }, found.id) : NOTHING_STORED,
    context: found ? contextStatus(stores, config, found.id) : null,
  };
}

/** Reads on from our cursor without storing anything. */
async function checkHead(
  { stores, source }: StatusDependencies,
  session: SessionRef,
  conversation: ConversationId,
): Promise<HeadCheck> {
  const segment = stores.conversations.segment(conversation, session.sessionId);
  const head = segment && stores.messages.head(segment.id);
  if (!segment || !head) return NOTHING_STORED;
  let cursor = segment.visibleCursor ?? undefined;
  for (;;) {
    const from = cursor === undefined ? {} : { cursor };
    const page = await source.visible(session, { ...from, maxItems: 1_000, maxBytes: MAX_BYTES });
    if (page.kind !== "page") return { state: "unknown", reason: whyUnknown(page) };
    const missing = page.entries.filter((entry) => !holds(stores, segment.id, entry)).length;
    if (missing > 0) return { state: "behind", missing, more: page.hasMore };
    if (!page.hasMore) return { state: "equal", position: head.position };
    if (page.cursor === cursor) return { state: "unknown", reason: "its cursor does not move" };
    ({ cursor } = page);
  }
}

function whyUnknown(page: Exclude<VisiblePage, { kind: "page" }>): string {
  switch (page.kind) {
    case "reset":
      return "the transcript was rotated; the next turn reads it again";
    case "missing":
      return "the host has no transcript of this session";
    case "unavailable":
      return page.reason;
  }
}

/** True when the entry stands at its position. Inside a committed turn its id may not be known yet. */
function holds({ messages }: Stores, segment: SegmentId, entry: TranscriptEntry): boolean {
  const place = messages.placeAt(segment, entry.seq - 1);
  return place !== undefined && (place.entryId ?? entry.entryId) === entry.entryId;
}
