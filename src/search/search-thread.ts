// The main thread's side of a search thread: starts it, gives it one search at a time, and ends it when
// a search does not come to an end by itself. Nothing here touches the database.

import { Worker } from "node:worker_threads";
import { errorText } from "../errors.js";
import type { Clock } from "../types.js";
import { encodeCursor } from "./cursor.js";
import { createPlace, type Job, readPlace, type Reply, TIME_UP } from "./thread-protocol.js";
import type { Hit, SearchAnswer, SearchRequest } from "./types.js";

const DEADLINE_MS = 2_000;
/** The thread stops by itself so much earlier, unless a match runs away. */
const GRACE_MS = 300;
/** A little more than one search can take: whatever runs, the next in line gets its turn. */
const MOST_WAIT_MS = DEADLINE_MS + 200;
const IDLE_MS = 30_000;
const NO_TURN = "Another search was still running; send the same again.";

export interface ThreadOptions {
  readonly file: URL;
  readonly databasePath: string;
}

export class SearchThread {
  readonly #options: ThreadOptions;
  #worker: Worker | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #lastId = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  run(request: SearchRequest, now: Clock, signal: AbortSignal | undefined): Promise<SearchAnswer> {
    this.#waiting += 1;
    clearTimeout(this.#idle);
    const before = this.#turn;
    const answer = isFree(before, signal).then((free) => {
      signal?.throwIfAborted();
      return free ? this.#attempt(request, now, signal) : noTurn(request);
    });
    // One that gave up waiting does not let those behind it in before the one that runs.
    this.#turn = Promise.allSettled([before, answer]).then(() => this.#done());
    return answer;
  }

  /** Waits for searches that run. */
  async close(): Promise<void> {
    await this.#turn;
    clearTimeout(this.#idle);
    await this.#end();
  }

  #done(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#worker?.unref();
    this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): Worker {
    if (!this.#worker) {
      const worker = new Worker(this.#options.file, { name: "lossless-claw-search", execArgv: [] });
      const forget = (): void => {
        if (this.#worker === worker) this.#worker = undefined;
      };
      worker.on("exit", forget);
      worker.on("error", forget);
      this.#worker = worker;
    }
    this.#worker.ref();
    return this.#worker;
  }

  #attempt(
    request: SearchRequest,
    now: Clock,
    signal: AbortSignal | undefined,
  ): Promise<SearchAnswer> {
    const worker = this.#start();
    const job: Job = {
      id: ++this.#lastId,
      databasePath: this.#options.databasePath,
      request,
      now: now(),
      endsAt: Date.now() + DEADLINE_MS - GRACE_MS,
      place: createPlace(),
    };
    const hits: Hit[] = [];
    const listening = new AbortController();
    return new Promise<SearchAnswer>((resolve, reject) => {
      const onReply = (reply: Reply): void => {
        if (reply.id !== job.id) return;
        if (reply.kind === "hit") hits.push(reply.hit);
        if (reply.kind === "failed") reject(new Error(reply.reason));
        if (reply.kind === "answer") resolve(withHits(reply.answer, hits));
      };
      const onError = (error: unknown): void =>
        reject(new Error(`The search thread ended (${errorText(error)}); search again.`));
      const onExit = (): void => reject(new Error("The search thread ended; search again."));
      worker.on("message", onReply);
      worker.on("error", onError);
      worker.on("exit", onExit);
      const timer = setTimeout(() => {
        resolve(brokenOff(job, hits));
        void this.#end();
      }, DEADLINE_MS);
      const onAbort = (): void => {
        reject(signal?.reason as Error);
        void this.#end();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      listening.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        worker.off("message", onReply).off("error", onError).off("exit", onExit);
      });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage(job);
    }).finally(() => listening.abort());
  }
}

/** Whether the turn comes in good time. Rejects as soon as the search is aborted. */
function isFree(before: Promise<unknown>, signal: AbortSignal | undefined): Promise<boolean> {
  const listening = new AbortController();
  return new Promise<boolean>((resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason as Error);
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true, signal: listening.signal });
    const timer = setTimeout(() => resolve(false), MOST_WAIT_MS);
    listening.signal.addEventListener("abort", () => clearTimeout(timer));
    void before.then(() => resolve(true));
  }).finally(() => listening.abort());
}

function noTurn(request: SearchRequest): SearchAnswer {
  const cursor = request.cursor ?? encodeCursor(request, { kind: "start" });
  return { kind: "found", hits: [], stopped: NO_TURN, cursor };
}

function withHits(answer: SearchAnswer, hits: readonly Hit[]): SearchAnswer {
  return answer.kind === "found" && hits.length > 0
    ? { ...answer, hits: [...hits, ...answer.hits] }
    : answer;
}

/** What is known of a search that had to be ended: the row it was at is not looked at again. */
function brokenOff({ request, place }: Job, hits: readonly Hit[]): SearchAnswer {
  const at = request.mode === "regex" ? readPlace(place) : undefined;
  if (!at) return { kind: "found", hits, stopped: TIME_UP, cursor: request.cursor };
  const cursor = encodeCursor(request, at.place);
  return { kind: "found", hits, cursor, stopped: `${TIME_UP}${skipped(at.examined)}` };
}

function skipped(examined: number): string {
  if (examined === 0) return "";
  const what = examined > 0 ? `message ${examined}` : "one summary";
  return ` The pattern came to no end on ${what}, which the cursor skips.`;
}
