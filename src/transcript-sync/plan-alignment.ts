// Reads a whole transcript once, for the alignment of a conversation that release 0.1.x left: whether
// an old row is an entry can be told only from both lists in full.

import type { Conversation } from "../store/conversation-store.js";
import { isAgentMessage } from "../message-codec.js";
import type { MessageId, SessionRef } from "../types.js";
import { align, alignmentKey } from "./alignment.js";
import { PageReader } from "./page-reader.js";
import type { DrainOutcome, SyncDependencies } from "./sync-types.js";

/** Nothing is stored from these pages, so they may be large. */
const PAGE = { maxItems: 1_000, maxBytes: 8 * 1024 * 1024 };

export type Alignment = ReadonlyMap<string, MessageId>;

interface Keyed<Id> {
  readonly id: Id;
  readonly key: string;
}

/** Old rows by the entries they are, or why the transcript can not be read. */
export async function planAlignment(
  deps: SyncDependencies,
  session: SessionRef,
  conversation: Conversation,
): Promise<Alignment | DrainOutcome> {
  if (!deps.stores.conversations.isUnaligned(conversation.id)) return new Map();
  const entries = await readEntries(deps, session);
  if ("kind" in entries) return entries;
  const { messages } = deps.stores;
  const unknown = entries.filter(({ id }) => !messages.knowsEntry(conversation.id, id));
  const old = messages
    .unaligned(conversation.id)
    .map(({ id, message }) => ({ id, key: alignmentKey(message) }));
  const pairs = align(
    old.map(({ key }) => key),
    unknown.map(({ key }) => key),
  );
  return new Map(
    pairs.map(([left, right]) => [
      (unknown[right] as Keyed<string>).id,
      (old[left] as Keyed<MessageId>).id,
    ]),
  );
}

async function readEntries(
  { source }: SyncDependencies,
  session: SessionRef,
): Promise<Keyed<string>[] | DrainOutcome> {
  const entries: Keyed<string>[] = [];
  const pages = new PageReader(source, session, PAGE);
  let cursor: string | undefined;
  for (;;) {
    const page = await pages.read(cursor);
    if (page.kind === "missing" || page.kind === "unavailable") return page;
    if (page.kind === "reset") return { kind: "unavailable", reason: page.reason };
    for (const { entryId, message } of page.entries) {
      if (isAgentMessage(message)) entries.push({ id: entryId, key: alignmentKey(message) });
    }
    if (!page.hasMore) return entries;
    if (page.cursor === cursor || page.entries.length === 0) {
      return { kind: "unavailable", reason: "the transcript's cursor does not move" };
    }
    ({ cursor } = page);
  }
}
