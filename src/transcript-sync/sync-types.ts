// What the parts of the transcript sync share.

import type { HeartbeatPolicy } from "../heartbeat.js";
import type { Stores } from "../store/index.js";
import type { Clock, TranscriptSource } from "../types.js";

export interface SyncDependencies {
  readonly stores: Stores;
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

/** The host's own upper limit for one page. */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024;
export const PAGE_BYTES = 4 * 1024 * 1024;

export function isoNow(now: Clock): string {
  return new Date(now()).toISOString();
}
