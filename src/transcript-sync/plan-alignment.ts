// Finds out which entries of a transcript are rows that release 0.1.x left, before it is drained: that
// can be told only from both lists in full. The transcript is read by pages, of which only the keys are
// kept, so that a read goes on where the last one stopped, in whatever process.

import { retryWhileBusy } from "../db/connection.js";
import { isAgentMessage } from "../message-codec.js";
import { messageKey } from "../release-01-key.js";
import type { AlignmentState } from "../store/alignment-store.js";
import { align } from "./alignment.js";
import { PageReader } from "./page-reader.js";
import { endOf, type EntriesPage, PageWalk } from "./page-walk.js";
import type { Budget, DrainOutcome, SyncDependencies } from "./sync-types.js";
import type { DrainTarget } from "./visible-drain.js";

/** Next to nothing is stored from these pages, so they may be larger than others. */
const PAGE = { maxItems: 1_000, maxBytes: 2 * 1024 * 1024 };

/** `current` once the partners are known, and where there is nothing to look for. */
export async function planAlignment(
  deps: SyncDependencies,
  target: DrainTarget,
  budget: Budget,
): Promise<DrainOutcome> {
  const { alignments } = deps.stores;
  if (!alignments.isOpen(target.conversation.id)) return { kind: "current" };
  const state = alignments.state(target.segment.id);
  if (state?.state === "planned") return { kind: "current" };
  if (state?.state !== "read") {
    const read = await readKeys(deps, target, state, budget);
    if (read.kind !== "current" || budget.isSpent()) return { ...read, kind: unfinished(read) };
  }
  await retryWhileBusy(() => pairUp(deps, target), budget.busyMs);
  return { kind: "current" };
}

function unfinished({ kind }: DrainOutcome): DrainOutcome["kind"] {
  return kind === "current" ? "partial" : kind;
}

async function readKeys(
  deps: SyncDependencies,
  target: DrainTarget,
  state: AlignmentState | undefined,
  budget: Budget,
): Promise<DrainOutcome> {
  const { alignments } = deps.stores;
  const { id } = target.segment;
  const { cursor = null, earlierCursor = null } = state ?? {};
  const entryAt = (position: number) => alignments.entryAt(id, position);
  const pages = new PageReader(deps.source, target.session, PAGE);
  const walk = new PageWalk(pages, { cursor, earlierCursor, entryAt });
  for (let saved = cursor; ; saved = walk.cursor ?? null) {
    const page = await walk.next();
    if (page.kind !== "page") return page;
    if (page.hasMore && page.cursor === walk.cursor) {
      return { kind: "unavailable", reason: "the transcript's cursor does not move" };
    }
    const step = { page, saved, earlierCursor: walk.cursor ?? null };
    const kept = await retryWhileBusy(() => keepKeys(deps, target, step), budget.busyMs);
    if (kept !== "reading") return { kind: kept === "read" ? "current" : "partial" };
    walk.take(page);
    if (budget.isSpent()) return { kind: "partial" };
  }
}

interface Step {
  readonly page: EntriesPage;
  /** Where the page begins. */
  readonly earlierCursor: string | null;
  /** Where the read had come to before it. */
  readonly saved: string | null;
}

/** Nothing is kept when the read has come elsewhere meanwhile: another process goes on with it. */
function keepKeys(
  { stores }: SyncDependencies,
  { conversation, segment }: DrainTarget,
  { page, saved, earlierCursor }: Step,
): "reading" | "read" | "taken" {
  const { db, alignments, messages } = stores;
  return db.transaction(() => {
    const before = alignments.state(segment.id);
    const isOurs = (before?.cursor ?? null) === saved && (before?.state ?? "reading") === "reading";
    if (!isOurs || !alignments.isOpen(conversation.id)) return "taken";
    // What was committed to us is younger than the rows that are looked for, and so is all behind it.
    const end = page.entries.findIndex(({ entryId }) =>
      messages.isCommitted(conversation.id, entryId),
    );
    const entries = end < 0 ? page.entries : page.entries.slice(0, end);
    const state = page.hasMore && end < 0 ? "reading" : "read";
    alignments.save(segment.id, { cursor: page.cursor, earlierCursor, state });
    alignments.cutFrom(segment.id, startOf(page));
    for (const { seq, entryId, message } of entries) {
      if (!isAgentMessage(message)) continue;
      alignments.addEntry(segment.id, { position: seq - 1, entryId, key: messageKey(message) });
    }
    return state;
  });
}

/** A page may be read again after a rotation, with other entries on it. */
function startOf(page: EntriesPage): number {
  const first = page.entries[0];
  return first ? first.seq - 1 : (endOf(page) ?? 0);
}

function pairUp({ stores }: SyncDependencies, { conversation, segment }: DrainTarget): void {
  const { db, alignments } = stores;
  db.transaction(() => {
    const state = alignments.state(segment.id);
    if (state?.state !== "read") return;
    const rows = alignments.openRows(conversation.id);
    const entries = alignments.openEntries(conversation.id, segment.id);
    const pairs = align(
      rows.map(({ key }) => key),
      entries.map(({ key }) => key),
    );
    for (const [row, entry] of pairs) {
      const [{ id }, { position }] = [rows[row], entries[entry]] as [
        (typeof rows)[number],
        (typeof entries)[number],
      ];
      alignments.savePartner(segment.id, position, id);
    }
    alignments.save(segment.id, { ...state, state: "planned" });
  });
}
