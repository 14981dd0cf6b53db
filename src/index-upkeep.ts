// The background's care of the full-text indexes, for when no conversation waits: small steps, so that
// neither a commit nor the event loop meets the whole of it.

import type { Stores } from "./store/index.js";

/** So many new rows make it worth looking for something to merge. */
const GROWTH = 64;

export class IndexUpkeep {
  #mergedAt = 0;

  /** One step. False when there is nothing to do, which is found out without a write. */
  step({ db, index }: Stores): boolean {
    if (index.hasBacklog()) return db.transaction(() => index.workOffBacklog(), "relaxed");
    const newest = index.newest();
    // Another file may have taken the place of the one that was looked at.
    if (newest >= this.#mergedAt && newest < this.#mergedAt + GROWTH) return false;
    if (db.transaction(() => index.merge(), "relaxed")) return true;
    this.#mergedAt = newest;
    return false;
  }
}
