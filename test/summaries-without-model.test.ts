// Models that fail, cost money, come back: the conversation goes on, nothing pretends to be a good
// summary, and nobody is surprised by a bill.

import { describe, expect, it, onTestFinished } from "vitest";
import { renderReport } from "../src/cli/render-report.js";
import { makeReport } from "../src/cli/report.js";
import { LcmError } from "../src/errors.js";
import { openLcm } from "../src/lcm.js";
import type { ModelRequest, SummaryId } from "../src/types.js";
import { Chat } from "./support/chat.js";
import { recordingLog } from "./support/recording-log.js";
import { depthOf, HOSTILE, obedient, sourceOf, type Summarizer } from "./support/summarizers.js";

const MINUTE = 60_000;

/** A model whose state a test decides. */
function switchable(): Summarizer & { works: boolean; calls: number; costUsd?: number } {
  const good = obedient();
  const model = Object.assign(
    async (request: ModelRequest) => {
      model.calls += 1;
      if (!model.works) throw new Error("503 overloaded");
      const text = String(await good(request));
      return model.costUsd === undefined ? text : { text, costUsd: model.costUsd };
    },
    { works: false, calls: 0 } as { works: boolean; calls: number; costUsd?: number },
  );
  return model;
}

async function report(chat: Chat): Promise<string> {
  const { config } = chat.lcm;
  const facts = { slot: "lossless-claw", transcript: chat.host, now: chat.host.now };
  return renderReport(await makeReport(facts, { config, problems: [] }, chat.host.ref(chat.key)));
}

function levels(chat: Chat): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const { level, count } of chat.summaries()) totals[level] = (totals[level] ?? 0) + count;
  return totals;
}

describe("a model that only fails", () => {
  it("does not keep the conversation from going on under its budget", async () => {
    const chat = new Chat({ summarize: HOSTILE["throwing"] });
    for (let turn = 0; turn < 120; turn += 1) {
      const { estimatedTokens } = await chat.turn();
      expect(estimatedTokens).toBeLessThanOrEqual(17_842);
      await chat.work();
    }
    expect(chat.viewTokens).toBeLessThanOrEqual(17_842);
    expect(Object.keys(levels(chat))).toEqual(["deterministic"]);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("is left alone after five failures, longer each time, and the report says so", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    while (model.calls < 5) await chat.turns(1);
    chat.stores.work.noteDebt(chat.conversation, new Date(chat.host.now()).toISOString());
    await chat.work();
    expect(model.calls).toBe(5);
    expect(await report(chat)).toMatch(
      /Summaries are written without a model until .*: the last 5 calls of the model failed \(503 overloaded\)\. Better ones replace them then\./,
    );
    while (model.calls < 9) {
      chat.host.tick(10_000);
      await chat.work();
    }
    const times = chat.stores.db
      .all<{ at: string }>("SELECT started_at AS at FROM summary_attempts ORDER BY attempt_id")
      .map(({ at }) => Date.parse(at) / 30_000);
    const pauses = times.slice(5).map((time, index) => Math.round(time - times[index + 4]!));
    expect(pauses).toEqual([1, 2, 4, 8]);
  });

  it("stays paused across a restart", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    while (model.calls < 5) await chat.turns(1);
    const again = openLcm({
      databasePath: chat.stores.db.path,
      transcript: chat.host,
      now: chat.host.now,
      summarize: model,
    });
    await again.worker.drain();
    again.close();
    expect(model.calls).toBe(5);
  });

  it("does not keep its breaker open when the clock is put back", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    while (model.calls < 5) await chat.turns(1);
    chat.host.tick(-7 * 24 * 60 * MINUTE);
    model.works = true;
    chat.host.tick(2 * MINUTE);
    await chat.turns(3);
    expect(model.calls).toBeGreaterThan(5);
  });
});

describe("marked nodes", () => {
  it("are superseded bottom-up when a model works again, and what was built on them once", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    await chat.turns(110, () => chat.talk({ user: 300, result: 300, reply: 300 }));
    const marked = chat.summaries();
    expect(marked.map(({ depth }) => depth)).toEqual([0, 1, 2]);
    model.works = true;
    chat.host.tick(45 * MINUTE);
    await chat.turns(2);
    const { db, summaries } = chat.stores;
    expect(summaries.marked(chat.conversation)).toEqual([]);
    expect(summaries.stale(chat.conversation)).toEqual([]);
    expect(chat.covered()).toEqual(chat.branch());
    // Whatever a successor was built from is settled: it is never rebuilt itself.
    const replaced = db.all<{ old: SummaryId; by: SummaryId }>(
      "SELECT summary_id AS old, superseded_by AS by FROM supersessions",
    );
    const olds = new Set(replaced.map(({ old }) => old));
    const gone = replaced.filter(({ by }) => chat.tree(by).some((id) => olds.has(id)));
    expect(gone).toEqual([]);
    const paid = db.all<{ heals: SummaryId; calls: number }>(
      `SELECT heals, count(*) AS calls FROM summary_attempts
       WHERE heals IS NOT NULL AND outcome = 'accepted' GROUP BY heals`,
    );
    expect(new Set(paid.map(({ heals }) => heals))).toEqual(olds);
    expect(paid.filter(({ calls }) => calls > 1)).toEqual([]);
  });

  it("stay stored and unchanged, and their successors have the same sources", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    while (chat.shownOrNone().length === 0) await chat.turns(1);
    const [old] = chat.shownSummaries();
    const before = chat.stores.summaries.get(old!);
    model.works = true;
    chat.host.tick(45 * MINUTE);
    await chat.work();
    expect(chat.stores.summaries.get(old!)).toEqual(before);
    const successor = chat.stores.summaries.successors([old!]).get(old!);
    expect(chat.expand(successor!)).toEqual(chat.expand(old!));
    expect(chat.stores.summaries.get(successor!)).toMatchObject({ level: "normal" });
  });

  it("give way in the view with the next publish, never lifting it over the threshold", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    while (chat.shownOrNone().length === 0) await chat.turns(1);
    const { version } = chat;
    const old = chat.shownSummaries();
    model.works = true;
    chat.host.tick(45 * MINUTE);
    await chat.work();
    const isBelowHalf = chat.viewTokens <= 0.375 * 17_842;
    expect(!isBelowHalf || chat.version === version).toBe(true);
    while (chat.shownSummaries().some((id) => old.includes(id))) await chat.turns(1);
    expect(chat.viewTokens).toBeLessThanOrEqual(0.75 * 17_842);
  });

  it("are tried three times with a model and its prompts, then left, and again with another model", async () => {
    const calls: string[] = [];
    const lazy: Summarizer = async ({ model }) => {
      calls.push(model);
      return "I would rather not.";
    };
    const chat = new Chat({ summarize: lazy });
    while (chat.summaries().length === 0) await chat.turns(1);
    const visits = async (worker: Chat["lcm"]["worker"]): Promise<void> => {
      for (let visit = 0; visit < 6; visit += 1) {
        const at = new Date(chat.host.tick(MINUTE)).toISOString();
        chat.stores.work.noteDebt(chat.conversation, at);
        await worker.drain();
      }
    };
    await visits(chat.lcm.worker);
    // Two calls to make it, and two for each of three tries.
    expect(calls).toHaveLength(8);
    const other = openLcm({
      databasePath: chat.stores.db.path,
      transcript: chat.host,
      now: chat.host.now,
      summarize: lazy,
      timing: { callMs: 200, gapMs: 0 },
      config: { summaryModel: "other/model" },
    });
    await visits(other.worker);
    other.close();
    expect(calls.slice(8)).toEqual(Array.from({ length: 6 }, () => "other/model"));
  });
});

describe("a model that the host's policy refuses", () => {
  const REFUSAL = 'OpenClaw does not let lossless-claw use "x/y". Set allowModelOverride.';

  it("is asked once, the log and the report say what to do, and the conversation goes on", async () => {
    const log = recordingLog();
    let calls = 0;
    let isAllowed = false;
    const good = obedient();
    const chat = new Chat({
      summarize: async (request) => {
        calls += 1;
        if (!isAllowed) throw new LcmError("MODEL_REFUSED", REFUSAL);
        return good(request);
      },
      open: { log },
    });
    while (chat.stores.attempts.recent(1).length === 0) await chat.turns(1);
    expect(calls).toBe(1);
    expect(levels(chat)).toEqual({ deterministic: 1 });
    expect(log.warnings).toEqual([`summaries are written without a model: ${REFUSAL}`]);
    expect(await report(chat)).toContain(`: ${REFUSAL} Better ones replace them then.`);
    await chat.turns(60);
    expect(calls).toBeGreaterThan(1);
    expect(Object.keys(levels(chat))).toEqual(["deterministic"]);
    expect(log.warnings).toHaveLength(1);
    expect((await chat.look()).estimatedTokens).toBeLessThanOrEqual(17_842);
    isAllowed = true;
    chat.host.tick(45 * MINUTE);
    await chat.turns(2);
    expect(chat.stores.summaries.marked(chat.conversation)).toEqual([]);
  });
});

describe("a node that no call gets better", () => {
  /** A chat with marked nodes, and a model that works but for one of their sources. */
  async function withBadNode(fail: () => Promise<string>) {
    let works = false;
    let bad = 0;
    const good = obedient();
    const summarize: Summarizer = async (request) => {
      if (!works) throw new Error("503 overloaded");
      const isBad = depthOf(request) === 0 && sourceOf(request).includes("PLANTED-1 ");
      if (!isBad) return good(request);
      bad += 1;
      return fail();
    };
    const chat = new Chat({ summarize });
    await chat.turns(50);
    works = true;
    chat.host.tick(45 * MINUTE);
    return { chat, good, badCalls: () => bad };
  }

  async function visits(chat: Chat, count: number): Promise<void> {
    for (let visit = 0; visit < count; visit += 1) {
      const at = new Date(chat.host.tick(5 * MINUTE)).toISOString();
      chat.stores.work.noteDebt(chat.conversation, at);
      await chat.work();
    }
  }

  it.each<[string, () => Promise<string>]>([
    ["fails", () => Promise.reject(new Error("400 content policy"))],
    ["never ends", () => new Promise(() => undefined)],
  ])("does not keep the others from healing when its call %s", async (_how, fail) => {
    const { chat, badCalls } = await withBadNode(fail);
    const { summaries } = chat.stores;
    expect(summaries.marked(chat.conversation).length).toBeGreaterThan(3);
    await visits(chat, 2);
    const left = summaries.many(summaries.marked(chat.conversation));
    expect(left.filter(({ depth }) => depth === 0)).toHaveLength(1);
    expect(badCalls()).toBeGreaterThan(0);
  });

  it("is left when the model has answered others three times meanwhile", async () => {
    const { chat, good, badCalls } = await withBadNode(() => Promise.reject(new Error("400 no")));
    const answers: number[] = [];
    for (let turn = 0; turn < 80; turn += 1) {
      const before = badCalls();
      await chat.turns(1);
      await visits(chat, 1);
      if (badCalls() > before) answers.push(good.requests.length);
    }
    expect(new Set(answers).size).toBeGreaterThan(1);
    expect(good.requests.length).toBeGreaterThan(answers.at(-1)!);
    const bad = badCalls();
    await visits(chat, 20);
    expect(badCalls()).toBe(bad);
    expect(chat.stores.summaries.marked(chat.conversation)).toHaveLength(1);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("is healed after an outage, during which it is asked for less and less", async () => {
    const model = switchable();
    const chat = new Chat({ summarize: model });
    await chat.turns(50);
    const before = model.calls;
    await visits(chat, 24 * 12);
    expect(model.calls - before).toBeLessThan(20);
    model.works = true;
    await chat.turns(20);
    await visits(chat, 12);
    expect(chat.stores.summaries.marked(chat.conversation)).toEqual([]);
  });
});

describe("the daily budget", () => {
  it("in tokens ends the calls for the day, and the next day begins anew in the operator's zone", async () => {
    const model = switchable();
    model.works = true;
    const chat = new Chat({
      summarize: model,
      config: { summaryTokensPerDay: 12_000, timezone: "Asia/Kolkata" },
    });
    await chat.turns(80);
    const spent = model.calls;
    expect(spent).toBeGreaterThan(1);
    expect(spent).toBeLessThan(5);
    expect(await report(chat)).toMatch(
      /Summaries today: \d calls, 1\d,\d{3} of 12,000 tokens\.\nSummaries are written without a model until 2026-11-19 00:00 GMT\+5:30: today's summaries have used 1\d,\d{3} of 12,000 tokens \(summaryTokensPerDay\)/,
    );
    // Midnight in Kolkata is 18:30 UTC.
    chat.host.tick(Date.parse("2026-11-18T18:29:00Z") - chat.host.now());
    await chat.work();
    expect(model.calls).toBe(spent);
    chat.host.tick(2 * MINUTE);
    await chat.work();
    expect(model.calls).toBeGreaterThan(spent);
  });

  it("is remembered across a restart", async () => {
    const model = switchable();
    model.works = true;
    const config = { summaryTokensPerDay: 12_000 };
    const chat = new Chat({ summarize: model, config });
    await chat.turns(80);
    const spent = model.calls;
    const again = openLcm({
      databasePath: chat.stores.db.path,
      transcript: chat.host,
      now: chat.host.now,
      summarize: model,
      config,
    });
    onTestFinished(() => again.close());
    chat.stores.work.noteDebt(chat.conversation, new Date(chat.host.now()).toISOString());
    await again.worker.drain();
    expect(model.calls).toBe(spent);
    chat.host.tick(24 * 60 * MINUTE);
    await again.worker.drain();
    expect(model.calls).toBeGreaterThan(spent);
  });

  it("is not used up by calls of a day that has not come, when a clock ran ahead", async () => {
    const model = switchable();
    model.works = true;
    const chat = new Chat({ summarize: model, config: { summaryTokensPerDay: 12_000 } });
    chat.host.tick(7 * 24 * 60 * MINUTE);
    await chat.turns(80);
    const spent = model.calls;
    chat.host.tick(-6 * 24 * 60 * MINUTE);
    await chat.turns(1);
    expect(model.calls).toBeGreaterThan(spent);
    expect(await report(chat)).toMatch(/Summaries today: \d calls?, /);
  });

  it("in dollars counts what the host tells", async () => {
    const model = switchable();
    Object.assign(model, { works: true, costUsd: 0.4 });
    const chat = new Chat({ summarize: model, config: { summaryCostPerDay: 1 } });
    await chat.turns(80);
    expect(model.calls).toBe(3);
    expect(await report(chat)).toMatch(
      /\$1\.20 of \$1\.00\.\n.*cost \$1\.20 of \$1\.00 \(summaryCostPerDay\)/,
    );
  });

  it("tells what the debt would cost before it is spent", async () => {
    const model = switchable();
    Object.assign(model, { works: true, costUsd: 0.01 });
    const chat = new Chat({ summarize: model });
    await chat.turns(30);
    for (let turn = 0; turn < 12; turn += 1) await chat.turn();
    expect(await report(chat)).toMatch(
      /Not summarized yet: \d+ messages, [\d,]+ tokens; all of it would take about \d calls?, about \$0\.0\d\./,
    );
  });

  it("counts a call that a kill cut off", async () => {
    const chat = new Chat({
      summarize: HOSTILE["hanging"],
      open: { timing: { callMs: 60_000, gapMs: 0 } },
    });
    while ((await chat.turn(), chat.viewTokens < 11_500));
    const working = chat.work();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { calls, inputTokens } = chat.stores.attempts.spendBetween("2026", "2027");
    expect(calls).toBe(1);
    expect(inputTokens).toBeGreaterThan(3_000);
    await chat.lcm.worker.stop();
    await working;
  });
});

describe("importing a long history", () => {
  it("costs nothing until summaries are needed", async () => {
    const model = switchable();
    model.works = true;
    const chat = new Chat({ summarize: model, budget: 150_000, window: 200_000 });
    for (let turn = 0; turn < 60; turn += 1) chat.host.turn(chat.key, chat.talk());
    await chat.turns(1);
    expect(chat.branch()).toHaveLength(61 * 4);
    expect(model.calls).toBe(1);
    expect(chat.shownSummaries()).toEqual([]);
  });
});
