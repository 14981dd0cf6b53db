// The search thread: a read-only connection of its own, and one search at a time. It may be ended in the
// middle of anything.

import { statSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { ReadOnlyDatabase } from "../db/read-only.js";
import { errorText } from "../errors.js";
import { SearchStore } from "../store/search-store.js";
import { searchFullText } from "./full-text.js";
import { searchRegex } from "./regex.js";
import { type Job, type Reply, writePlace } from "./thread-protocol.js";
import type { SearchAnswer } from "./types.js";

interface Opened {
  readonly file: string;
  readonly db: ReadOnlyDatabase;
  readonly store: SearchStore;
}

let opened: Opened | undefined;

parentPort?.on("message", (job: Job) => {
  try {
    reply({ id: job.id, kind: "answer", answer: search(job) });
  } catch (error) {
    // The connection may be what is broken.
    close();
    reply({ id: job.id, kind: "failed", reason: errorText(error) });
  }
});

function reply(message: Reply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

function search(job: Job): SearchAnswer {
  const { db, store } = open(job.databasePath);
  if (!store.isReady()) return { kind: "found", hits: [] };
  const { request } = job;
  const isLate = (): boolean => Date.now() >= job.endsAt;
  if (request.mode === "full_text") {
    return db.snapshot(() => searchFullText({ store, now: job.now, isLate }, request));
  }
  return searchRegex(
    {
      store,
      isLate,
      onPlace: (place, examined) => writePlace(job.place, place, examined),
      onHit: (hit) => reply({ id: job.id, kind: "hit", hit }),
    },
    request,
  );
}

/** Kept while the path means the same file. */
function open(path: string): Opened {
  const { dev, ino } = statSync(path);
  const file = `${path}:${dev}:${ino}`;
  if (opened?.file !== file) {
    close();
    const db = new ReadOnlyDatabase(path);
    opened = { file, db, store: new SearchStore(db) };
  }
  return opened;
}

function close(): void {
  opened?.db.close();
  opened = undefined;
}
