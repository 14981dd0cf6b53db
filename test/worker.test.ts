// The background: it works by itself, holds nobody up, stops at once, shares its work between
// processes, and takes up what a killed one left.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { LcmContextEngine } from "../src/engine.js";
import { openLcm } from "../src/lcm.js";
import { isoAt } from "../src/time-format.js";
import { Worker } from "../src/worker.js";
import type { Model, ModelRequest } from "../src/types.js";
import { visit, type VisitOutcome, workSlice } from "../src/work.js";
import { Chat, type ChatOptions } from "./support/chat.js";
import { lockHere } from "./support/lock.js";
import { bundle } from "./support/processes.js";
import { recordingLog } from "./support/recording-log.js";
import { obedient, type Summarizer } from "./support/summarizers.js";

const DAY_MS = 24 * 3_600_000;

/** A chat in which a leaf is due and nobody has worked yet. */
async function withDebt(options: ChatOptions = {}): Promise<Chat> {
  const chat = new Chat(options);
  while ((await chat.turn(), chat.viewTokens < 11_500));
  return chat;
}

function workerOf(chat: Chat, summarize: (request: ModelRequest) => Promise<string>): Worker {
  const { stores, lcm, host } = chat;
  const model = async (request: ModelRequest) => ({ text: await summarize(request) });
  const deps = {
    stores,
    config: lcm.config,
    model,
    now: host.now,
    log: recordingLog(),
    timing: { callMs: 60_000, gapMs: 0 },
  };
  const worker = new Worker({ open: () => deps, log: deps.log, pollMs: 5 });
  onTestFinished(() => worker.stop());
  return worker;
}

function visitBy(holder: string, chat: Chat, summarize: Summarizer): Promise<VisitOutcome> {
  const { stores, lcm, host, conversation } = chat;
  const model = async (request: ModelRequest) => ({ text: String(await summarize(request)) });
  const timing = { callMs: 60_000, gapMs: 0 };
  const { signal } = new AbortController();
  return visit(
    { stores, config: lcm.config, model, now: host.now, log: recordingLog(), timing },
    { conversationId: conversation, mode: "background", signal, forMs: 60_000, holder },
  );
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !holds(); tries += 1) await sleep(10);
  expect(holds()).toBe(true);
}

describe("a started worker", () => {
  it("finds what is due by itself, and what comes later", async () => {
    const chat = await withDebt();
    const model = obedient();
    const worker = workerOf(chat, async (request) => String(await model(request)));
    worker.start();
    await until(() => chat.summaries().length > 0);
    for (let turn = 0; turn < 20; turn += 1) await chat.turn();
    await until(() => chat.shownSummaries().length > 0);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("holds no turn up while a model thinks", async () => {
    const chat = await withDebt();
    let asked = 0;
    const worker = workerOf(chat, () => {
      asked += 1;
      return new Promise(() => undefined);
    });
    worker.start();
    await until(() => asked === 1);
    await chat.turn();
    await chat.turn();
    expect(asked).toBe(1);
  });

  it("ends a call in flight when it is stopped, and stores nothing of it", async () => {
    const chat = await withDebt();
    const seen: AbortSignal[] = [];
    const worker = workerOf(chat, async ({ signal }) => {
      seen.push(signal);
      await once(signal, "abort");
      // What the host does: an aborted call resolves, with nothing in it.
      return "";
    });
    worker.start();
    await until(() => seen.length === 1);
    await worker.stop();
    expect(seen[0]?.aborted).toBe(true);
    expect(chat.summaries()).toEqual([]);
    const attempts = chat.stores.db.all("SELECT outcome FROM summary_attempts");
    expect(attempts).toEqual([{ outcome: "aborted" }]);
    expect(chat.stores.db.all("SELECT * FROM leases")).toEqual([]);
    // It is found again.
    await chat.work();
    expect(chat.summaries()).toHaveLength(1);
  });

  it("waits for a database that is locked, and goes on", async () => {
    const chat = await withDebt();
    const model = obedient();
    const lock = lockHere(chat.stores.db.path, "BEGIN IMMEDIATE");
    const worker = workerOf(chat, async (request) => String(await model(request)));
    worker.start();
    await sleep(150);
    expect(model.requests).toEqual([]);
    lock.release();
    await until(() => chat.summaries().length > 0);
  });

  it("does nothing on its own when automatic compaction is turned off", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize, config: { autocompactDisabled: true } });
    await chat.turns(60);
    expect(summarize.requests).toEqual([]);
    expect(chat.summaries()).toEqual([]);
    const { estimatedTokens } = await chat.look();
    expect(estimatedTokens).toBeLessThanOrEqual(17_842);
  });

  it("leaves deleted sessions alone", async () => {
    const summarize = obedient();
    const chat = await withDebt({ summarize });
    await chat.lcm.createEngine().sessionDeleted(chat.host.ref(chat.key));
    await chat.work();
    expect(summarize.requests).toEqual([]);
  });
});

describe("two processes", () => {
  it("do not pay for the same summary, and one takes up what a killed one left", async () => {
    const script = await bundle(new URL("support/summarizing.ts", import.meta.url));
    const summarize = obedient();
    let ahead = 0;
    const chat = new Chat({ open: { now: () => Date.now() + ahead } });
    while ((await chat.turn(), chat.viewTokens < 11_500));
    const { path } = chat.stores.db;
    const child = spawn(process.execPath, ["--no-warnings", script, path], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(createInterface({ input: child.stdout }), "line");
    const mine = (): ReturnType<typeof openLcm> =>
      openLcm({ databasePath: path, summarize, now: () => Date.now() + ahead });
    const during = mine();
    await during.worker.drain();
    expect(summarize.requests).toEqual([]);

    child.kill("SIGKILL");
    await once(child, "close");
    await during.worker.drain();
    expect(summarize.requests).toEqual([]);

    ahead = 3 * 60_000;
    await during.worker.drain();
    expect(summarize.requests).toHaveLength(1);
    expect(chat.summaries()).toEqual([{ depth: 0, level: "normal", count: 1 }]);
    during.close();
  });

  it("share no conversation, however long one step of the other takes within its calls' limits", async () => {
    const paid = obedient();
    const outcomes: unknown[] = [];
    const chat: Chat = await withDebt({
      summarize: async () => {
        // The first call takes its minute, the second most of its.
        chat.host.tick(58_000);
        outcomes.push(await visitBy("other", chat, paid));
        return "an answer without a footer";
      },
    });
    await chat.work();
    expect(outcomes.slice(0, 2)).toEqual([{ kind: "taken" }, { kind: "taken" }]);
    expect(paid.requests).toEqual([]);
  });

  it("can not take a lease from each other by a clock that was read a little earlier", async () => {
    const chat = await withDebt();
    const outcomes: unknown[] = [];
    await visitBy("first", chat, async () => {
      chat.host.tick(-5);
      outcomes.push(await visitBy("second", chat, obedient()));
      return "";
    });
    expect(outcomes[0]).toEqual({ kind: "taken" });
  });

  it.each([1, 2, 3])("publish what is prepared once (round %i)", async () => {
    const script = await bundle(new URL("support/compacting.ts", import.meta.url));
    const config = { contextThreshold: 0.6 };
    const chat = new Chat({ config });
    const threshold = 0.6 * 17_842;
    await chat.turn();
    while (chat.viewTokens <= threshold || chat.summaries().length === 0) {
      if (chat.viewTokens <= threshold) await chat.work();
      await chat.turn();
    }
    const [prepared, version] = [chat.allSummaries(), chat.version];
    expect(chat.shownSummaries()).toEqual([]);
    const facts = [JSON.stringify(chat.host.ref(chat.key)), JSON.stringify(config)];
    const children = [1, 2].map(() => {
      const args = ["--no-warnings", script, chat.stores.db.path, ...facts];
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      return { child, lines };
    });
    await Promise.all(children.map(({ lines }) => lines.next()));
    for (const { child } of children) child.stdin.write(String(Date.now() + 100));
    const answers = await Promise.all(
      children.map(async ({ lines }) => JSON.parse(String((await lines.next()).value))),
    );
    // Whoever comes second finds the space free, or waits for the lock and sees it become so.
    expect(answers).toContainEqual({ ok: true, compacted: true, result: expect.anything() });
    for (const answer of answers) {
      expect(answer.compacted || answer.reason === "below threshold").toBe(true);
    }
    expect(chat.version).toBe(version + 1);
    expect(chat.allSummaries()).toEqual(prepared);
    expect(chat.shownSummaries()).toEqual(prepared);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("are not kept waiting by a lease or a debt from a clock that ran ahead", async () => {
    const chat = await withDebt();
    const { work, db } = chat.stores;
    const far = "2031-01-01T00:00:00.000Z";
    db.run("INSERT INTO leases VALUES (?, 'somebody', ?)", chat.conversation, far);
    work.postpone(work.debtOf(chat.conversation)!, far);
    await chat.work();
    expect(chat.summaries()).toHaveLength(1);
  });
});

describe("a clock that ran ahead and is put right", () => {
  it("leaves nodes that wait for an idle hour waiting, and the worker at rest", async () => {
    const chat = new Chat();
    while (chat.summaries().length === 0) await chat.turns(1);
    expect(chat.shownSummaries()).toEqual([]);
    chat.stores.work.noteDebt(chat.conversation, isoAt(chat.host.tick(-3 * DAY_MS)));
    let looks = 0;
    const deps = { ...chat.lcm, now: chat.host.now, log: recordingLog() };
    const visit = { ...deps, model: undefined, timing: { callMs: 200, gapMs: 0 } };
    const open = () => ((looks += 1) <= 20 ? visit : undefined);
    await new Worker({ open, log: deps.log }).drain();
    // One of them finds the index to be merged.
    expect(looks).toBeLessThanOrEqual(4);
    chat.host.tick(DAY_MS);
    await chat.turns(1);
    chat.host.tick(3_600_000);
    await chat.work();
    expect(chat.shownSummaries()).toHaveLength(1);
  });
});

describe("without a worker", () => {
  it("a turn's maintenance does a little, and stops when the host says so", async () => {
    const summarize = obedient();
    const chat = await withDebt({ summarize });
    const { stores, lcm, host } = chat;
    const engine = new LcmContextEngine({
      stores: () => stores,
      config: lcm.config,
      source: host,
      log: recordingLog(),
      now: host.now,
      model: () => async (request) => ({ text: String(await summarize(request)) }),
      hasWorker: () => false,
      timing: { callMs: 1_000, gapMs: 0 },
      release: () => undefined,
    });
    const stopped = AbortSignal.abort();
    await engine.maintain({ ...host.ref(chat.key), abortSignal: stopped });
    expect(summarize.requests).toEqual([]);
    await engine.maintain({ ...host.ref(chat.key), runtimeSettings: {} });
    expect(summarize.requests).toEqual([]);
    await engine.maintain({ ...host.ref(chat.key) });
    expect(chat.summaries()).toEqual([{ depth: 0, level: "normal", count: 1 }]);
  });

  it("a call that was begun may end, however slow the model is, and no further one begins", async () => {
    const chat = await withDebt();
    const summarize = obedient();
    const slow = async (request: ModelRequest) => {
      await sleep(100);
      return { text: String(await summarize(request)) };
    };
    await slice(chat, slow);
    expect(chat.summaries()).toEqual([{ depth: 0, level: "normal", count: 1 }]);
    for (let turn = 0; turn < 20; turn += 1) await chat.turn();
    await slice(chat, slow);
    expect(summarize.requests).toHaveLength(2);
    expect(chat.summaries()).toEqual([{ depth: 0, level: "normal", count: 2 }]);
  });

  it("a slow answer that is not good is not asked for again while the next turn waits", async () => {
    const chat = await withDebt();
    let calls = 0;
    await slice(chat, async () => {
      calls += 1;
      await sleep(100);
      return { text: "an answer without a footer" };
    });
    expect(calls).toBe(1);
    expect(chat.summaries()).toEqual([{ depth: 0, level: "deterministic", count: 1 }]);
  });

  it("the host can end a call, and nothing of it is stored", async () => {
    const chat = await withDebt();
    const stop = new AbortController();
    await slice(
      chat,
      () => {
        stop.abort();
        return new Promise(() => undefined);
      },
      stop.signal,
    );
    expect(chat.stores.attempts.recent(9)).toMatchObject([{ outcome: "aborted" }]);
    expect(chat.summaries()).toEqual([]);
  });
});

/** A slice of maintenance in which no call is begun after 50 ms. */
function slice(chat: Chat, model: Model, signal?: AbortSignal): Promise<void> {
  const { stores, lcm, host } = chat;
  const timing = { callMs: 60_000, gapMs: 0 };
  const deps = { stores, config: lcm.config, model, now: host.now, log: recordingLog(), timing };
  return workSlice(deps, host.ref(chat.key), signal, 50);
}

describe("a lease", () => {
  it("of a process that has ended keeps nobody out", async () => {
    const chat = new Chat();
    await chat.turns(1);
    for (let turn = 0; turn < 20; turn += 1) await chat.turn();
    const ended = spawnSync(process.execPath, ["--version"]).pid;
    const times = { now: "", expiresAt: isoAt(chat.host.now() + 100_000), farthest: "9999" };
    const lease = (pid: number) =>
      chat.stores.work.lease(chat.conversation, `${hostname()}#${pid}#x`, times);
    expect(lease(process.pid)).toBe(true);
    await chat.work();
    expect(chat.summaries()).toEqual([]);
    chat.stores.work.revokeLease(chat.conversation);
    chat.host.tick(10_000);
    expect(lease(ended)).toBe(true);
    await chat.work();
    expect(chat.summaries()).not.toEqual([]);
  });
});
