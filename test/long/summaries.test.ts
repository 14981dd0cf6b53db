// Four hundred turns through the real host with a window of 32,000 tokens and default settings.

import { afterAll, beforeAll, expect, test } from "vitest";
import { LongConversation } from "../host/support/long-conversation.js";

let talk: LongConversation;

beforeAll(async () => {
  talk = await LongConversation.start();
});

afterAll(() => talk?.dispose());

test("400 turns: it never overflows, and every message is covered once", async () => {
  for (let hundred = 0; hundred < 4; hundred += 1) {
    await talk.turns(100);
    talk.expectNoOverflow();
    talk.expectCoveredOnce();
  }
  talk.expectNavigableSummaries();
  talk.expectPlantedAtEachDepth(3);
  await talk.settled("marked nodes to give way", () => talk.marked() === 0);
  talk.expectForgotten();
  await talk.expectRecalled("A sub-agent read the sources", (text) =>
    talk.world.turn(talk.key, text),
  );
  const breaks = talk.expectOnlyPublishesBreakThePrefix();
  expect(talk.world.engineLog().degraded).toBe(0);
  const asked = talk.model.summaries.length;
  console.log(talk.levels(), `${asked} summaries asked for, ${breaks} prompts began anew`);
  await talk.world.host.stopGateway();
  for (let turn = 0; turn < 2; turn += 1) {
    await talk.expectRecalled("Answered from excerpts by one model call", (text) =>
      talk.world.host.localTurn(talk.world.sessionId(talk.key), text),
    );
  }
});
