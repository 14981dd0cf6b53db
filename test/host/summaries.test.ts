// The summary graph in the real OpenClaw, with a window of 32,000 tokens and default settings.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LongConversation } from "./support/long-conversation.js";

describe("a conversation that outgrows its window", () => {
  let talk: LongConversation;

  beforeAll(async () => {
    talk = await LongConversation.start();
  }, 240_000);

  afterAll(() => talk?.dispose(), 60_000);

  test("60 turns: it never overflows, and the model always finds its way", async () => {
    await talk.turns(60);
    talk.expectNoOverflow();
    talk.expectNavigableSummaries();
    talk.expectPlantedAtEachDepth(2);
    talk.expectCoveredOnce();
    talk.expectOnlyPublishesBreakThePrefix();
    expect(talk.world.engineLog().degraded).toBe(0);
  }, 240_000);
});
