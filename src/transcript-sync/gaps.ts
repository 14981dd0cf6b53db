// Turns what the transcript brought into events people can read. Pure.

import type { Stretch, SyncEvent, SyncEventKind } from "../store/event-store.js";
import type { FilledEntry } from "./apply-page.js";

export interface GapFacts {
  /** False while no turn has run through the engine: then all of it is history. */
  readonly wasActive: boolean;
  /** Whether the host asked us for the view of this turn. */
  wasServed(turn: Stretch): boolean;
}

export function describeGaps(filled: readonly FilledEntry[], facts: GapFacts): SyncEvent[] {
  const first = filled[0];
  if (!first) return [];
  if (!facts.wasActive) {
    return [{ kind: "import", happenedAt: first.createdAt, messageCount: filled.length }];
  }
  return splitTurns(filled).map((turn) => describeTurn(turn, facts));
}

function describeTurn(turn: readonly FilledEntry[], facts: GapFacts): SyncEvent {
  const first = turn[0] as FilledEntry;
  const last = turn.at(-1) as FilledEntry;
  const stretch = {
    firstPosition: first.position,
    lastPosition: last.position,
    from: first.createdAt,
    to: last.createdAt,
  };
  return {
    kind: classify(turn, () => facts.wasServed(stretch)),
    happenedAt: first.createdAt,
    messageCount: turn.length,
  };
}

function classify(turn: readonly FilledEntry[], wasServed: () => boolean): SyncEventKind {
  if (turn.some((entry) => entry.author === "model")) return wasServed() ? "gap" : "legacy";
  return turn.some((entry) => entry.author === "host") ? "aside" : "gap";
}

function splitTurns(filled: readonly FilledEntry[]): FilledEntry[][] {
  const turns: FilledEntry[][] = [];
  for (const entry of filled) {
    const turn = turns.at(-1);
    const before = turn?.at(-1);
    if (!turn || !before || entry.startsTurn || entry.position !== before.position + 1) {
      turns.push([entry]);
    } else {
      turn.push(entry);
    }
  }
  return turns;
}
