// What the store could not do: said in the log, and remembered for the report until something is
// stored again.

import type { LcmConfig } from "./db/config.js";
import { forgetFailure, noteFailure } from "./db/registry.js";
import { errorText, isStoreFault } from "./errors.js";
import { isoAt } from "./time-format.js";
import type { Clock, Logger } from "./types.js";

interface TroubleDependencies {
  readonly config: Pick<LcmConfig, "databasePath">;
  readonly log: Logger;
  readonly now: Clock;
}

/** `what` begins the sentence that the error ends. Returns the error's own. */
export function tellTrouble(
  { config, log, now }: TroubleDependencies,
  what: string,
  error: unknown,
): string {
  const reason = errorText(error);
  log.error(`${what}: ${reason}`);
  if (isStoreFault(error)) noteFailure(config.databasePath, { at: isoAt(now()), error: reason });
  return reason;
}

/** Messages were stored. */
export function endTrouble({ config }: Pick<TroubleDependencies, "config">): void {
  forgetFailure(config.databasePath);
}
