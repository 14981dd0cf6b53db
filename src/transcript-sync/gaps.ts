// Turns what the transcript brought into events people can read. Pure.

import type { SyncEvent } from "../store/event-store.js";
import type { FilledEntry } from "./apply-page.js";

/** Clocks of rows and calls differ a little within one process. */
const SLACK_MS = 2_000;

export interface GapFacts {
  /** False while no turn has run through the engine: then all of it is history. */
  readonly wasActive: boolean;
  /** Whether the host asked us for a view between two times (ISO). */
  servedBetween(from: string, to: string): boolean;
}

export function describeGaps(filled: readonly FilledEntry[], facts: GapFacts): SyncEvent[] {
  const first = filled[0];
  if (!first) return [];
  if (!facts.wasActive) return [{ kind: "import", happenedAt: first.createdAt, messageCount: filled.length }];
  return splitTurns(filled).map((turn) => describeTurn(turn, facts));
}

function describeTurn(turn: readonly FilledEntry[], facts: GapFacts): SyncEvent {
  const from = turn[0] as FilledEntry;
  const to = turn.at(-1) as FilledEntry;
  const answered = turn.some((entry) => entry.byModel);
  const legacy = answered && !facts.servedBetween(shift(from.createdAt, -SLACK_MS), shift(to.createdAt, SLACK_MS));
  return { kind: legacy ? "legacy" : "gap", happenedAt: from.createdAt, messageCount: turn.length };
}

function splitTurns(filled: readonly FilledEntry[]): FilledEntry[][] {
  const turns: FilledEntry[][] = [];
  for (const entry of filled) {
    const current = turns.at(-1);
    if (!current || (entry.role === "user" && current.some((other) => other.role !== "user"))) turns.push([entry]);
    else current.push(entry);
  }
  return turns;
}

function shift(iso: string, byMs: number): string {
  return new Date(Date.parse(iso) + byMs).toISOString();
}
