// The host's demands for space: `/compact` by hand, a budget that is too small, an overflow.

import { describe, expect, it } from "vitest";
import { compactByHand } from "../src/compact-call.js";
import type { AgentMessage, Model } from "../src/types.js";
import { Chat } from "./support/chat.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { prose } from "./support/prose.js";
import { recordingLog } from "./support/recording-log.js";
import { depthOf, HOSTILE, obedient } from "./support/summarizers.js";

interface Demand {
  readonly trigger: "manual" | "budget" | "overflow";
  readonly attempt?: number;
  readonly used?: number;
  readonly instructions?: string;
  readonly signal?: AbortSignal;
}

function compact(chat: Chat, demand: Demand, engine = chat.lcm.createEngine()) {
  const { trigger, attempt, used, instructions, signal } = demand;
  return engine.compact({
    ...chat.host.ref(chat.key),
    tokenBudget: chat.window,
    ...(used === undefined ? {} : { currentTokenCount: used }),
    ...(instructions === undefined ? {} : { customInstructions: instructions }),
    ...(signal ? { abortSignal: signal } : {}),
    runtimeContext: { trigger, attempt },
  });
}

async function uncompacted(turns: number, options: ConstructorParameters<typeof Chat>[0] = {}) {
  const chat = new Chat(options);
  for (let turn = 0; turn < turns; turn += 1) await chat.turn();
  return chat;
}

/** What a `/compact` leaves at the most when its model takes too long. */
const CUT_SHORT = (0.75 * 17_842) / 2;

function outcomes({ stores }: Chat): string[] {
  return stores.attempts.recent(100).map(({ outcome }) => outcome);
}

describe("/compact", () => {
  it("summarizes everything outside the tail, condenses, and reports honest numbers", async () => {
    const summarize = obedient();
    const chat = await uncompacted(24, { summarize });
    const before = chat.viewTokens;
    const answer = await compact(chat, { trigger: "manual" });
    expect(answer).toEqual({
      ok: true,
      compacted: true,
      result: { tokensBefore: before, tokensAfter: chat.viewTokens },
    });
    expect(chat.viewTokens).toBeLessThan(before / 2);
    const raw = chat.stores.views
      .newest(chat.conversation, 999)
      .filter((item) => "messageId" in item);
    expect(raw).toHaveLength(32);
    expect(summarize.requests.map(depthOf)).toEqual([0, 0, 1]);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("passes the operator's words on to every prompt", async () => {
    const summarize = obedient();
    const chat = await uncompacted(24, {
      summarize,
      config: { customInstructions: "Keep names." },
    });
    await compact(chat, { trigger: "manual", instructions: "Forget the weather." });
    for (const { prompt } of summarize.requests) {
      expect(prompt).toContain("<operator_instructions>\nKeep names.\nForget the weather.\n");
    }
  });

  it("says that there is nothing to compact, before anything was stored and when all is fresh", async () => {
    const chat = new Chat();
    expect(await compact(chat, { trigger: "manual" })).toMatchObject({
      ok: true,
      compacted: false,
      reason: expect.stringMatching(/^nothing to compact: nothing of this session is stored yet/),
    });
    await chat.turns(3);
    expect(await compact(chat, { trigger: "manual" })).toMatchObject({
      ok: true,
      compacted: false,
      reason: expect.stringMatching(/^nothing to compact: the view is as short as it can be/),
    });
  });

  it("falls back to the last level when the model fails", async () => {
    const chat = await uncompacted(24, { summarize: HOSTILE["throwing"] });
    const answer = await compact(chat, { trigger: "manual" });
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(chat.summaries().every(({ level }) => level === "deterministic")).toBe(true);
  });

  it("stops when it is told to, keeps what it has, and frees the rest without a model", async () => {
    const stop = new AbortController();
    let calls = 0;
    const model = obedient();
    const chat = await uncompacted(40, {
      summarize: async (request) => {
        calls += 1;
        if (calls === 2) stop.abort();
        return model(request);
      },
    });
    const answer = await compact(chat, { trigger: "manual", signal: stop.signal });
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(calls).toBe(2);
    expect(answer.result!.tokensAfter).toBeLessThanOrEqual(CUT_SHORT);
    const shown = chat.shownSummaries().flatMap((node) => chat.tree(node));
    expect(shown).toContain(chat.allSummaries()[0]);
    expect(chat.summaries()).toContainEqual({ depth: 0, level: "normal", count: 1 });
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("frees space also when it is told to stop in its first call", async () => {
    const stop = new AbortController();
    const chat = await uncompacted(40, {
      summarize: async () => {
        stop.abort();
        return "";
      },
    });
    const answer = await compact(chat, { trigger: "manual", signal: stop.signal });
    expect(answer).toMatchObject({
      ok: true,
      compacted: true,
      reason: "the rest is done in the background",
    });
    expect(answer.result!.tokensAfter).toBe(chat.viewTokens);
    expect(chat.viewTokens).toBeLessThanOrEqual(CUT_SHORT);
    expect(outcomes(chat)).toEqual(["aborted"]);
  });

  it("ends in time with a model that never answers, in the middle of a call", async () => {
    const chat = await uncompacted(40);
    const { stores, lcm, host, conversation } = chat;
    const model: Model = () => new Promise(() => undefined);
    const timing = { callMs: 60_000, gapMs: 0 };
    const answer = await compactByHand(
      { stores, config: lcm.config, model, now: host.now, log: recordingLog(), timing },
      conversation,
      { ...host.ref(chat.key), runtimeContext: { trigger: "manual" } },
      50,
    );
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(chat.viewTokens).toBeLessThanOrEqual(CUT_SHORT);
    expect(outcomes(chat)).toEqual(["aborted"]);
  });

  it("first reads what the transcript has and we have not", async () => {
    const chat = await uncompacted(24);
    chat.host.turn(chat.key, chat.talk());
    await compact(chat, { trigger: "manual" });
    expect(chat.branch()).toHaveLength(100);
    expect(chat.covered()).toEqual(chat.branch());
  });
});

describe("an overflow", () => {
  it("is freed without a model, and the turn goes on with the smaller view", async () => {
    const summarize = obedient();
    const chat = await uncompacted(36, { summarize });
    const engine = chat.lcm.createEngine();
    const before = await chat.begin(engine);
    const answer = await compact(chat, { trigger: "overflow", used: 34_000 }, engine);
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(answer.result!.tokensAfter).toBeLessThan(answer.result!.tokensBefore);
    const after = await chat.begin(engine);
    expect(after.estimatedTokens).toBeLessThanOrEqual(before.estimatedTokens - 2_000);
    expect(after.estimatedTokens).toBeLessThanOrEqual(answer.result!.tokensAfter);
    expect(summarize.requests).toEqual([]);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("gives up more with every try", async () => {
    const chat = await uncompacted(36);
    const engine = chat.lcm.createEngine();
    await chat.begin(engine);
    const sizes: number[] = [];
    for (const attempt of [1, 2, 3]) {
      await compact(chat, { trigger: "overflow", attempt, used: 33_000 }, engine);
      sizes.push((await chat.begin(engine)).estimatedTokens);
    }
    expect(sizes[1]).toBeLessThan(sizes[0]!);
    expect(sizes[2]).toBeLessThan(sizes[1]!);
  });

  it("publishes prepared nodes first, and marks what it had to write itself", async () => {
    const chat = new Chat();
    while (chat.summaries().length === 0) await chat.turns(1);
    const before = new Set(chat.allSummaries());
    for (let turn = 0; turn < 9; turn += 1) await chat.turn();
    await compact(chat, { trigger: "overflow", used: 33_000 });
    const shown = chat.shownSummaries().flatMap((node) => chat.tree(node));
    for (const id of before) expect(shown).toContain(id);
    const made = chat.stores.summaries.many(shown.filter((id) => !before.has(id)));
    expect(new Set(made.map(({ level }) => level))).toEqual(new Set(["deterministic"]));
  });

  it("may come before anything was stored", async () => {
    const chat = new Chat();
    const answer = await compact(chat, { trigger: "overflow", used: 917_000 });
    expect(answer).toMatchObject({
      ok: true,
      compacted: false,
      reason: expect.stringContaining("nothing to compact"),
    });
  });
});

describe("a budget that is exceeded", () => {
  it("is met without a model", async () => {
    const summarize = obedient();
    const chat = await uncompacted(40, { summarize });
    const answer = await compact(chat, { trigger: "budget", used: 25_321 });
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(chat.viewTokens).toBeLessThanOrEqual(0.75 * 17_842);
    expect(summarize.requests).toEqual([]);
  });

  it("takes what is prepared while that is enough, and leaves the rest to the background", async () => {
    const chat = new Chat({ config: { contextThreshold: 0.6 } });
    const threshold = 0.6 * 17_842;
    await chat.turn();
    while (chat.viewTokens <= threshold || chat.summaries().length === 0) {
      if (chat.viewTokens <= threshold) await chat.work();
      await chat.turn();
    }
    const before = chat.summaries();
    expect(before).toMatchObject([{ level: "normal" }]);
    expect(chat.shownSummaries()).toEqual([]);
    const answer = await compact(chat, { trigger: "budget", used: 25_321 });
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(answer.result?.tokensAfter).toBe(chat.viewTokens);
    expect(chat.summaries()).toEqual(before);
    expect(chat.shownSummaries().length).toBeGreaterThan(0);
  });

  it("is the smaller model's after a switch, before any turn of its own", async () => {
    const chat = await uncompacted(20);
    expect(chat.viewTokens).toBeLessThan(0.75 * 17_842);
    chat.window /= 2;
    const answer = await compact(chat, { trigger: "budget", used: 25_321 });
    expect(answer).toMatchObject({ ok: true, compacted: true });
    expect(chat.viewTokens).toBeLessThanOrEqual((0.75 * 17_842) / 2);
  });

  it("is none of ours while the view is small: the host reads that as a reason to go on", async () => {
    const chat = await uncompacted(4);
    expect(await compact(chat, { trigger: "budget", used: 25_321 })).toEqual({
      ok: true,
      compacted: false,
      reason: "below threshold",
    });
  });
});

describe("a turn in progress", () => {
  it("is given a smaller view when its own tool results take the space", async () => {
    const chat = await uncompacted(30);
    const engine = chat.lcm.createEngine();
    const first = await chat.begin(engine);
    const same = await chat.loop(engine, first, 400);
    expect(same.messages).toEqual(first.messages);
    const squeezed = await chat.loop(engine, same, 10_400);
    expect(squeezed.estimatedTokens).toBeLessThanOrEqual(17_842 - 10_000);
    expect(squeezed.estimatedTokens).toBeGreaterThan(0);
    const text = JSON.stringify(squeezed.messages);
    expect(text).toContain("<folded");
    expect((await chat.loop(engine, squeezed, 10_600)).messages).toEqual(squeezed.messages);
  });

  it("survives a budget of one token: a single paste makes the host offer that", async () => {
    const chat = await uncompacted(30);
    chat.budget = 1;
    const { messages, estimatedTokens } = await chat.look();
    expect(estimatedTokens).toBeLessThanOrEqual(17_842 / 4);
    expect(messages.length).toBeGreaterThan(0);
    chat.budget = 17_842;
    const after = await chat.look();
    expect(JSON.stringify(after.messages)).not.toContain("<folded");
  });

  it("gets the host's own list behind what we know while the transcript can not be read", async () => {
    const chat = new Chat();
    await chat.turns(40);
    const known = await chat.look();
    const rows = [
      userMessage("typed while it ran", chat.host.tick()),
      assistantMessage("noted", chat.host.tick()),
    ];
    for (const row of rows) chat.host.append(chat.key, row);
    chat.host.unavailable = true;
    const { messages, systemPromptAddition } = await chat.look();
    expect(messages.slice(0, known.messages.length)).toEqual(known.messages);
    expect(systemPromptAddition).toMatch(/^## Recalling earlier conversation/);
    expect(systemPromptAddition).toBe(known.systemPromptAddition);
    expect(messages.slice(known.messages.length)).toEqual(rows);
    chat.host.unavailable = false;
    expect((await chat.look()).messages).toEqual(messages);
  });

  it("gets no more than fits even when nothing is known", async () => {
    const chat = new Chat();
    await chat.turns(1);
    chat.host.unavailable = true;
    const paste = (seed: number): AgentMessage => userMessage(prose(3_000, seed), chat.host.tick());
    for (let seed = 0; seed < 20; seed += 1) chat.host.append(chat.key, paste(seed));
    const { messages, estimatedTokens, systemPromptAddition } = await chat.look();
    expect(estimatedTokens).toBeLessThanOrEqual(17_842);
    expect(systemPromptAddition).toBeUndefined();
    expect(String(messages[0]?.["content"])).toMatch(/^<folded messages="\d+">/);
    expect(messages.at(-1)).toEqual(chat.hostMessages.at(-1));
  });
});
