// Searches over stored text, off the main thread. The host evaluates this plugin several times in one
// process, so its copies share one thread for each database, under a global symbol.

import { existsSync } from "node:fs";
import { type Clock, type Logger, silentLogger } from "../types.js";
import { VERSION } from "../version.js";
import { SearchThread } from "./search-thread.js";
import type { Search } from "./types.js";

export interface SearchOptions {
  /** Asked at every search: the configuration is read live. */
  readonly databasePath: () => string;
  readonly now?: Clock;
  readonly log?: Logger;
}

export function createSearch({
  databasePath: currentPath,
  now = Date.now,
  log = silentLogger,
}: SearchOptions): Search {
  return {
    run: async (request, signal) => {
      signal?.throwIfAborted();
      const databasePath = currentPath();
      // A search makes no database: what was never written holds nothing.
      if (request.conversations.length === 0 || !existsSync(databasePath)) {
        return { kind: "found", hits: [] };
      }
      const started = performance.now();
      const answer = await threadOf(databasePath).run(request, now, signal);
      if (answer.kind === "found" && answer.stopped !== undefined) {
        const ms = Math.round(performance.now() - started);
        log.info(`a ${request.mode} search stopped after ${ms} ms: ${answer.stopped}`);
      }
      return answer;
    },
    close: async () => {
      const thread = threads().get(currentPath());
      threads().delete(currentPath());
      await thread?.close();
    },
  };
}

const THREADS = Symbol.for(`lossless-claw.search.${VERSION}`);

function threads(): Map<string, SearchThread> {
  const holder = globalThis as { [THREADS]?: Map<string, SearchThread> };
  holder[THREADS] ??= new Map();
  return holder[THREADS];
}

function threadOf(databasePath: string): SearchThread {
  let thread = threads().get(databasePath);
  if (!thread) {
    thread = new SearchThread({ file: threadFile(), databasePath });
    threads().set(databasePath, thread);
  }
  return thread;
}

/** Built beside the plugin; run from the sources, it is where the build puts it. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "../../dist/search-thread.js" : "./search-thread.js", import.meta.url);
}
