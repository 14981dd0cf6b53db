// What the parts of the transcript sync share.

import type { HeartbeatPolicy } from "../heartbeat.js";
import type { Stores } from "../store/index.js";
import { isoAt } from "../time-format.js";
import type { Clock, TranscriptSource } from "../types.js";
import type { ViewKeeper } from "../view-keeper.js";

export interface SyncDependencies {
  readonly stores: Stores;
  readonly keeper: ViewKeeper;
  readonly source: TranscriptSource;
  readonly policy: HeartbeatPolicy;
  readonly now: Clock;
}

/** How long a sync may take. Where it stops, the next one goes on. */
export interface SyncLimits {
  /** How long to wait for another process's write lock, in milliseconds. */
  readonly busyMs: number;
  /** After this many milliseconds no further page is read. */
  readonly workMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The limits of a sync that has begun. */
export interface Budget {
  readonly busyMs: number;
  /** True when no further page is to be read. */
  isSpent(): boolean;
}

export function startBudget({ busyMs, workMs, signal }: SyncLimits): Budget {
  const end = performance.now() + workMs;
  return { busyMs, isSpent: () => signal?.aborted === true || performance.now() > end };
}

export interface DrainOutcome {
  /** `partial`: the time was up; the rest waits for the next sync. */
  readonly kind: "current" | "partial" | "missing" | "unavailable";
  readonly reason?: string;
}

export interface SyncReport {
  readonly outcome: DrainOutcome["kind"];
  /** Messages that were not in the store before. */
  readonly added: number;
  readonly reason?: string;
}

/** Small pages: each is applied in one go, and nothing else happens in the process meanwhile. */
export const PAGE_BYTES = 512 * 1024;
/** The host's own upper limit for one page. */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024;

export function isoNow(now: Clock): string {
  return isoAt(now());
}
