// The background: works off the debt found in the database, one conversation at a time, and holds no
// session up. Started and stopped by the gateway; what it leaves unfinished is found again.

import { errorText } from "./errors.js";
import { IndexUpkeep } from "./index-upkeep.js";
import { newHolder } from "./lease-holder.js";
import type { Debt } from "./store/work-store.js";
import type { Logger } from "./types.js";
import { VERSION } from "./version.js";
import { visit, type VisitOutcome, type WorkDependencies } from "./work.js";

export interface WorkerOptions {
  /**
   * Asked before every round: the configuration is read live, the database may come back. Undefined
   * while there is nothing to do.
   */
  readonly open: () => WorkDependencies | undefined;
  readonly log: Logger;
  /** Between two looks for work. */
  readonly pollMs?: number;
}

const POLL_MS = 250;
/** One conversation is left for the next after this long; it keeps its place in the queue. */
const VISIT_MS = 5 * 60_000;
const RETRY_MS = 60_000;
const TAKEN_MS = 5_000;
/** Nothing is ever postponed for longer, so a later time was set by a clock that ran ahead. */
const FARTHEST_MS = 2 * 24 * 3_600_000;

export class Worker {
  readonly #options: WorkerOptions;
  readonly #holder = newHolder();
  #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #complaint: string | undefined;
  readonly #upkeep = new IndexUpkeep();
  #round: Promise<unknown> = Promise.resolve();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Timers inherit the caller's async context: call it from where a model may be asked. */
  start(): void {
    this.#stopping = new AbortController();
    running().add(this);
    this.#schedule();
  }

  /** Ends a call in flight and waits for what it leaves behind. */
  async stop(): Promise<void> {
    running().delete(this);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stopping.abort();
    await this.#round;
  }

  /** Works until nothing is due. For tests, demo and bench, where nobody polls. */
  async drain(): Promise<void> {
    while (await this.#work()) if (this.#stopping.signal.aborted) return;
  }

  #schedule(): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#work().then(() => this.#schedule());
    }, this.#options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  /** Visits one conversation. False when none is due. Never rejects. */
  async #work(): Promise<boolean> {
    try {
      const deps = this.#options.open();
      const debt = deps && nextDebt(deps);
      if (!deps) return false;
      if (!debt) return this.#upkeep.step(deps.stores);
      await this.#visit(deps, debt);
      return true;
    } catch (error) {
      this.#complain(errorText(error));
      return false;
    }
  }

  /** Once for each reason: it is met again at every look. */
  #complain(reason: string): void {
    if (reason === this.#complaint) return;
    this.#complaint = reason;
    this.#options.log.warn(`summaries wait: ${reason}`);
  }

  async #visit(deps: WorkDependencies, debt: Debt): Promise<void> {
    try {
      const outcome = await visit(deps, {
        conversationId: debt.conversationId,
        mode: "background",
        signal: this.#stopping.signal,
        forMs: VISIT_MS,
        holder: this.#holder,
      });
      settle(deps, debt, outcome);
    } catch (error) {
      deps.log.warn(`summaries of conversation ${debt.conversationId} wait: ${errorText(error)}`);
      deps.stores.work.postpone(debt, later(deps, RETRY_MS));
    }
  }
}

/** True when a worker of any copy of this release runs in the process. */
export function isWorkerRunning(): boolean {
  return running().size > 0;
}

/** The host evaluates this plugin several times in one process, so module state would not do. */
const RUNNING = Symbol.for(`lossless-claw.workers.${VERSION}`);

function running(): Set<unknown> {
  const holder = globalThis as { [RUNNING]?: Set<unknown> };
  holder[RUNNING] ??= new Set();
  return holder[RUNNING];
}

function nextDebt({ stores, now }: WorkDependencies): Debt | undefined {
  const [at, farthest] = [now(), now() + FARTHEST_MS].map((ms) => new Date(ms).toISOString());
  return stores.work.due(at as string, farthest as string, 1)[0];
}

function settle(deps: WorkDependencies, debt: Debt, outcome: VisitOutcome): void {
  const { work } = deps.stores;
  switch (outcome.kind) {
    case "done":
      return work.settle(debt);
    case "waiting":
      return work.postpone(debt, outcome.until);
    case "taken":
      return work.postpone(debt, later(deps, TAKEN_MS));
    case "stopped":
      // It stays due, behind those that have waited meanwhile.
      return work.postpone(debt, later(deps, 0));
  }
}

function later({ now }: WorkDependencies, ms: number): string {
  return new Date(now() + ms).toISOString();
}
