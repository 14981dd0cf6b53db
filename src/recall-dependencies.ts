// What recall stands on: handed in from outside, so that it runs with and without a host.

import type { LcmConfig } from "./db/config.js";
import type { Search } from "./search/types.js";
import type { Stores } from "./store/index.js";
import type { Clock, Logger, Model, SubagentHost } from "./types.js";

/** How long lcm_expand_query may take. */
export interface RecallTiming {
  /** For the whole answer, cleaning up aside. */
  readonly limitMs: number;
  /** For each step of cleaning up. */
  readonly cleanUpMs: number;
}

export interface RecallDependencies {
  /** Reaches the stores; throws an `LcmError` while they can not be reached. */
  readonly stores: () => Stores;
  readonly search: Search;
  readonly config: () => LcmConfig;
  readonly now: Clock;
  readonly log: Logger;
  readonly model?: (() => Model | undefined) | undefined;
  /** The host's way to start sub-agents, where there is one. */
  readonly subagents?: SubagentHost | undefined;
  readonly recallTiming?: RecallTiming | undefined;
}
