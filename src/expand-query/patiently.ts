// Writes of a question: another process may hold the database for a moment.

import { retryWhileBusy } from "../db/connection.js";
import { COUNTING_BUSY_MS } from "../expansion-auth.js";

export function patiently<T>(work: () => T): Promise<T> {
  return retryWhileBusy(work, COUNTING_BUSY_MS);
}
