// The summary graph in the real OpenClaw, with a window of 32,000 tokens and default settings.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LongConversation } from "./support/long-conversation.js";
import { stageBystander } from "./support/bystander.js";

describe("a conversation that outgrows its window", () => {
  let talk: LongConversation;
  const bystander = stageBystander();

  beforeAll(async () => {
    talk = await LongConversation.start({ bystander: bystander.path });
  }, 240_000);

  afterAll(async () => {
    await talk?.dispose();
    bystander.remove();
  }, 60_000);

  test("60 turns: it never overflows, and the model always finds its way", async () => {
    await talk.turns(60);
    talk.expectNoOverflow();
    talk.expectNavigableSummaries();
    talk.expectPlantedAtEachDepth(2);
    talk.expectCoveredOnce();
    talk.expectOnlyPublishesBreakThePrefix();
    // The host may demand space before the background has had its time; what is then written without a
    // model gives way.
    await talk.settled("marked nodes to give way", () => talk.marked() === 0);
    expect(talk.world.engineLog().degraded).toBe(0);
  }, 240_000);

  test("/lcm tells what the context is made of, what waits, and what was spent", async () => {
    const report = await talk.report();
    expect(report).toMatch(/Context: [\d,]+ of 1\d,\d{3} tokens, compacted beyond 1\d,\d{3}\./);
    expect(report).toMatch(
      /fresh tail \d+ \([\d,]+ tokens\).*summaries of depth \d \d+ \([\d,]+ tokens\)/,
    );
    expect(report).toMatch(
      /Summaries today: \d+ calls, [\d,]+ of 5,000,000 tokens, \$\d\.\d\d of \$5\.00\./,
    );
  });

  test("a fact that no summary tells and the model does not see is recovered word for word", async () => {
    talk.expectForgotten();
    await talk.expectRecalled("A sub-agent read the sources", (text) =>
      talk.world.turn(talk.key, text),
    );
    const child = talk.world.model.requests.find(({ sessionKey }) =>
      sessionKey?.includes(":subagent:lcm-recall-"),
    );
    expect(talk.world.transcript(child!.sessionKey!)).toEqual([]);
    expect(talk.storedKeys()).toEqual([talk.key]);
  }, 60_000);

  test("/compact reports what it did", async () => {
    await talk.world.host.setPluginConfig({ autocompactDisabled: true });
    await talk.turns(8);
    const before = await talk.steadyViewTokens();
    const reply = await talk.compactByHand();
    const after = talk.viewTokens();
    await talk.world.host.setPluginConfig({});
    expect(after).toBeLessThan(before);
    const [, from, to] = /Compacted \(([\d.]+)k → ([\d.]+)k\)/.exec(reply) ?? [];
    // The host's numbers are the model's tokens, which ours are within a few percent of.
    for (const [said, counted] of [
      [from, before],
      [to, after],
    ] as const) {
      expect((Number(said) * 1_000) / counted).toBeGreaterThan(0.85);
      expect((Number(said) * 1_000) / counted).toBeLessThan(1.15);
    }
    talk.expectCoveredOnce();
  }, 60_000);

  test("a reply does not wait for a summary: the next turn's arrives while one is held back", async () => {
    const held = Promise.withResolvers<undefined>();
    await talk.untilSummaryIs(() => held.promise);
    expect(await talk.turn()).toContain("is done.");
    held.resolve(undefined);
    talk.model.onSummary = () => undefined;
    talk.expectCoveredOnce();
  }, 120_000);

  test("background summaries go on after another plugin was toggled", async () => {
    const marked = talk.marked();
    await talk.toggle("bystander", false);
    await talk.toggle("bystander", true);
    await talk.untilSummaryIs(() => undefined);
    await talk.settled("the summary", () => talk.hasSettledAttempts());
    expect(talk.marked()).toBeLessThanOrEqual(marked);
  }, 120_000);

  test("SIGTERM during a held summary lets the gateway exit within three seconds", async () => {
    await talk.untilSummaryIs(() => new Promise(() => undefined));
    const started = performance.now();
    await talk.world.host.stopGateway();
    const took = performance.now() - started;
    // Three times the promise: machines that run tests are busy.
    expect(took).toBeLessThan(9_000);
    talk.model.onSummary = () => undefined;
  }, 240_000);

  test("the same fact is recovered in two turns without a gateway, where no sub-agent can run", async () => {
    const { host } = talk.world;
    for (let turn = 0; turn < 2; turn += 1) {
      await talk.expectRecalled("Answered from excerpts by one model call", (text) =>
        host.localTurn(talk.world.sessionId(talk.key), text),
      );
    }
    await host.startGateway();
    await talk.turns(2);
    talk.expectCoveredOnce();
  }, 240_000);

  test("with a summary model that only fails it goes on under budget; when it is back, marked nodes give way", async () => {
    const failure = { error: { status: 400, body: { error: { message: "no luck" } } } };
    talk.model.onSummary = () => failure;
    while (talk.marked() === 0) await talk.turn();
    await talk.turns(8);
    talk.expectNoOverflow();
    talk.model.onSummary = () => undefined;
    const marked = talk.marked();
    expect(marked).toBeGreaterThan(0);
    await talk.settled("better summaries", () => talk.marked() === 0, 100_000);
    await talk.turn();
    talk.expectCoveredOnce();
  }, 240_000);
});
