// Turns what the transcript brought into events people can read.

import type { Conversation, Segment } from "../store/conversation-store.js";
import type { Stretch, SyncEvent, SyncEventKind } from "../store/event-store.js";
import type { Stores } from "../store/index.js";
import type { FilledEntry } from "./apply-page.js";

/** Records what was filled. Assumes the caller's transaction. */
export function recordGaps(
  { events }: Stores,
  conversation: Conversation,
  segment: Segment,
  filled: readonly FilledEntry[],
  at: string,
): void {
  const { id, activeSince } = conversation;
  const gaps = describeGaps(filled, {
    activeSince,
    wasServed: (turn) => events.wasServed(id, segment.sessionId, turn),
  });
  for (const gap of gaps) events.record(id, gap, at);
}

interface GapFacts {
  /** When the engine was first used (ISO), or null. What ended before, without us, is history. */
  readonly activeSince: string | null;
  /** Whether the host asked us for the view of this turn. */
  wasServed(turn: Stretch): boolean;
}

function describeGaps(filled: readonly FilledEntry[], facts: GapFacts): SyncEvent[] {
  const history: FilledEntry[] = [];
  const missed: SyncEvent[] = [];
  for (const turn of splitTurns(filled)) {
    if (isHistory(turn, facts)) history.push(...turn);
    else missed.push(describeTurn(turn, facts));
  }
  return [...describeImport(history), ...missed];
}

/** The filled entries up to their last turn, which may go on in what is read next, and that turn. */
export function setLastTurnAside(filled: readonly FilledEntry[]): {
  readonly ended: readonly FilledEntry[];
  readonly open: readonly FilledEntry[];
} {
  const turns = splitTurns(filled).filter((group) => commandAt(group, 0).length < 2);
  const last = turns.at(-1);
  // A lone message of the user may prove to be a command, sent while the turn before it runs.
  const isOpen = last?.length === 1 && last[0]?.startsTurn === true;
  const first = (isOpen ? (turns.at(-2) ?? last) : last)?.[0];
  const start = first === undefined ? filled.length : filled.indexOf(first);
  return { ended: filled.slice(0, start), open: filled.slice(start) };
}

function isHistory(turn: readonly FilledEntry[], facts: GapFacts): boolean {
  const { activeSince } = facts;
  const stretch = stretchOf(turn);
  return activeSince === null || (stretch.to < activeSince && !facts.wasServed(stretch));
}

function describeImport(history: readonly FilledEntry[]): SyncEvent[] {
  const first = history[0];
  if (!first) return [];
  return [{ kind: "import", happenedAt: first.createdAt, messageCount: history.length }];
}

function describeTurn(turn: readonly FilledEntry[], facts: GapFacts): SyncEvent {
  const stretch = stretchOf(turn);
  return {
    kind: classify(turn, () => facts.wasServed(stretch)),
    happenedAt: stretch.from,
    messageCount: turn.length,
  };
}

function stretchOf(turn: readonly FilledEntry[]): Stretch {
  const first = turn[0] as FilledEntry;
  const last = turn.at(-1) as FilledEntry;
  return {
    firstPosition: first.position,
    lastPosition: last.position,
    from: first.createdAt,
    to: last.createdAt,
  };
}

function classify(turn: readonly FilledEntry[], wasServed: () => boolean): SyncEventKind {
  if (turn.some((entry) => entry.author === "model")) return wasServed() ? "gap" : "legacy";
  return turn.some((entry) => entry.author === "host") ? "aside" : "gap";
}

/**
 * Groups entries into turns, in the order they begin. A command and its reply are a group of their own:
 * sent while a turn runs, they do not end it.
 */
function splitTurns(filled: readonly FilledEntry[]): FilledEntry[][] {
  const groups: FilledEntry[][] = [];
  let turn: FilledEntry[] | undefined;
  for (let index = 0; index < filled.length; index += 1) {
    const entry = filled[index] as FilledEntry;
    const command = commandAt(filled, index);
    if (!follows(filled[index - 1], entry)) turn = undefined;
    if (command.length > 1) {
      groups.push(command);
      index += command.length - 1;
    } else if (turn && !entry.startsTurn) {
      turn.push(entry);
    } else {
      turn = [entry];
      groups.push(turn);
    }
  }
  return groups;
}

/** A user's row and what the host itself answered at once: more than one entry if it did. */
function commandAt(filled: readonly FilledEntry[], start: number): FilledEntry[] {
  const rows = filled.slice(start, start + 1).filter((entry) => entry.startsTurn);
  for (let index = start + 1; rows.length > 0; index += 1) {
    const entry = filled[index];
    if (entry?.author !== "host" || !follows(filled[index - 1], entry)) break;
    rows.push(entry);
  }
  return rows;
}

function follows(before: FilledEntry | undefined, entry: FilledEntry): boolean {
  return before !== undefined && entry.position === before.position + 1;
}
