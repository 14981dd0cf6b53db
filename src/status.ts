// What the store knows, gathered for people, and said in plain lines.

import type { LcmConfig } from "./db/config.js";
import { classifySession, type SessionClass } from "./session-policy.js";
import type { ConversationCounts, DatabaseCounts } from "./store/status-store.js";
import type { Stores } from "./store/index.js";
import type { SessionRef, TranscriptSource } from "./types.js";

/** How our last stored entry compares with the transcript's newest. */
export type HeadCheck =
  | { state: "equal"; position: number }
  | { state: "behind"; missing: number }
  | { state: "unknown"; reason: string };

export interface Status {
  readonly enabled: boolean;
  readonly database: DatabaseCounts;
  readonly session?: {
    readonly key: string;
    readonly class: SessionClass;
    readonly conversation: ConversationCounts | null;
    readonly head: HeadCheck;
  };
  readonly recent: readonly ConversationCounts[];
  readonly problems: readonly string[];
}

export interface StatusDependencies {
  readonly stores: Stores;
  readonly source: TranscriptSource;
  readonly config: LcmConfig;
  readonly problems?: readonly string[];
}

const RECENT = 5;

export async function readStatus(deps: StatusDependencies, session?: SessionRef): Promise<Status> {
  const { stores, config } = deps;
  const about = session ? { session: await readSession(deps, session) } : {};
  return {
    enabled: config.enabled,
    database: stores.status.database(),
    ...about,
    recent: session ? [] : stores.status.recent(RECENT).map((id) => stores.status.conversation(id)),
    problems: deps.problems ?? [],
  };
}

async function readSession(deps: StatusDependencies, session: SessionRef): Promise<NonNullable<Status["session"]>> {
  const found = deps.stores.conversations.find(session);
  return {
    key: session.sessionKey,
    class: classifySession(session.sessionKey, deps.config),
    conversation: found ? deps.stores.status.conversation(found.id) : null,
    head: found ? await checkHead(deps, { ...session, sessionId: session.sessionId || (found.sessionId ?? "") }, found.id) : { state: "unknown", reason: "nothing is stored for this session yet" },
  };
}

/** Reads on from our cursor without storing anything. */
async function checkHead(
  { stores, source }: StatusDependencies,
  session: SessionRef,
  conversation: ConversationCounts["conversationId"],
): Promise<HeadCheck> {
  const segment = stores.conversations.segment(conversation, session.sessionId);
  const head = segment && stores.messages.head(segment.id);
  if (!segment || !head) return { state: "unknown", reason: "nothing is stored for this session yet" };
  const page = await source.visible(session, {
    ...(segment.visibleCursor === null ? {} : { cursor: segment.visibleCursor }),
    maxItems: 1000,
    maxBytes: 64 * 1024 * 1024,
  });
  if (page.kind !== "page") return { state: "unknown", reason: page.kind === "reset" ? "the host rotated the transcript; the next turn reads it again" : page.kind };
  const newest = page.entries.at(-1)?.seq ?? head.position + 1;
  const missing = newest - 1 - head.position;
  return missing > 0 ? { state: "behind", missing } : { state: "equal", position: head.position };
}

export function renderStatus(status: Status): string {
  const lines = [`Lossless memory: ${status.enabled ? "on" : "off (enabled is false)"}`];
  if (status.session) lines.push(...renderSession(status.session));
  const { database } = status;
  lines.push(
    `Database: ${database.path} (${formatBytes(database.bytes)}; ${count(database.messages, "message")} in ${count(database.conversations, "conversation")}${database.hiddenConversations > 0 ? `, ${database.hiddenConversations} hidden` : ""})`,
  );
  for (const conversation of status.recent) lines.push(`  ${conversation.sessionKey}: ${renderCounts(conversation)}`);
  for (const problem of status.problems) lines.push(`Problem: ${problem}`);
  return lines.join("\n");
}

function renderSession({ key, class: kind, conversation, head }: NonNullable<Status["session"]>): string[] {
  if (kind !== "kept") return [`Session ${key}: ${kind === "ignored" ? "not stored, by design or by ignoreSessionPatterns" : "reads memory, adds nothing (statelessSessionPatterns)"}`];
  if (!conversation) return [`Session ${key}: no turn has run through the engine yet`];
  const since = conversation.activeSince ? `active since ${conversation.activeSince}` : "history imported, no turn served yet";
  const receipt = conversation.lastReceipt
    ? `Last receipt: ${conversation.lastReceipt.committedAt} (${count(conversation.lastReceipt.messageCount, "message")}, entry ${conversation.lastReceipt.entryId})`
    : "Last receipt: none; turns arrive through the transcript";
  return [`Session ${key}: ${since}; ${renderCounts(conversation)}`, `${receipt}; ${renderHead(head)}`];
}

function renderCounts(counts: ConversationCounts): string {
  const gaps = counts.gapsFilled > 0 ? `${count(counts.gapsFilled, "gap")} filled (last ${counts.lastGapAt})` : "no gaps";
  const legacy = counts.legacyTurns > 0 ? `${count(counts.legacyTurns, "turn")} served by legacy (last ${counts.lastLegacyAt})` : "no fall-back to legacy";
  return `${count(counts.messages, "message")} stored, ${gaps}, ${legacy}`;
}

function renderHead(head: HeadCheck): string {
  switch (head.state) {
    case "equal":
      return "equal to the transcript's head";
    case "behind":
      return `${count(head.missing, "message")} behind the transcript, filled in before the next turn`;
    case "unknown":
      return `transcript not compared: ${head.reason}`;
  }
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}
