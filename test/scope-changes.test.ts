// What may be read can become less while a call waits: for the search, for a sub-agent, for a model.

import { describe, expect, it } from "vitest";
import { revokeGrantsOf } from "../src/expansion-auth.js";
import type { ToolName } from "../src/tools/index.js";
import { KEYS, RecallWorld } from "./support/recall-world.js";
import { ScriptedSubagents } from "./support/scripted-subagents.js";

const SECRET = "the harbor code is 7391";
const FILLER = Array<string>(40).fill("filler text. ".repeat(12));
const RECALL = { recallTiming: { limitMs: 5_000, cleanUpMs: 200 } };

/** Lets something happen behind the first search, before its answer is used. */
function behindSearch(world: RecallWorld, happens: () => unknown): void {
  const run = world.search.run.bind(world.search);
  world.search.run = async (request) => {
    const answer = await run(request);
    await happens();
    return answer;
  };
}

const revoke = (world: RecallWorld) =>
  revokeGrantsOf(world.lcm.stores, KEYS.child, world.host.now());

const remove = (world: RecallWorld) =>
  world.lcm.createEngine().sessionDeleted({ sessionKey: KEYS.sibling });

const CALLS: readonly (readonly [ToolName, object])[] = [
  ["lcm_grep", { pattern: "harbor" }],
  ["lcm_expand", { query: "harbor code", includeMessages: true }],
  ["lcm_expand_query", { prompt: "What is the exact harbor code?", query: "harbor code" }],
];

describe("while a search runs", () => {
  it.each(CALLS)("%s shows nothing of a grant that is revoked", async (name, params) => {
    const subagents = new ScriptedSubagents(async () => ({ status: "ok", reply: SECRET }));
    const world = new RecallWorld({}, { ...RECALL, subagents });
    const { id } = await world.store(KEYS.own, SECRET, FILLER);
    world.grant(KEYS.child, [id]);
    behindSearch(world, () => revoke(world));
    const text = await world.text(KEYS.child, name, params);
    expect(text).not.toContain("7391");
    expect(text).toContain("The grant of this sub-agent was revoked");
    expect(subagents.tasks).toEqual([]);
  });

  it("keeps a sub-agent that loses its grant to its own conversation", async () => {
    const world = new RecallWorld();
    const { id } = await world.store(KEYS.own, SECRET);
    await world.store(KEYS.child, "the harbor is closed");
    world.grant(KEYS.child, [id]);
    behindSearch(world, () => revoke(world));
    const text = await world.text(KEYS.child, "lcm_grep", { pattern: "harbor" });
    expect(text).toContain("is closed");
    expect(text).not.toContain("7391");
  });

  it.each(CALLS.filter(([name]) => name !== "lcm_expand"))(
    "%s shows nothing of a conversation that is deleted",
    async (name, params) => {
      const world = new RecallWorld({}, RECALL);
      await world.store(KEYS.own, "nothing");
      await world.store(KEYS.sibling, SECRET, FILLER);
      behindSearch(world, () => remove(world));
      const text = await world.text(KEYS.own, name, { ...params, allConversations: true });
      expect(text).not.toContain("7391");
    },
  );
});

describe("while a sub-agent works", () => {
  it.each([
    ["answers", { status: "ok", reply: SECRET }],
    ["fails", { status: "error", error: "out of order" }],
    ["runs out of time", { status: "timeout" }],
  ] as const)("nothing of a deleted conversation is told when it %s", async (_how, end) => {
    const prompts: string[] = [];
    const subagents = new ScriptedSubagents(async () => {
      await remove(world);
      return end;
    });
    const summarize = async ({ prompt }: { prompt: string }) => {
      prompts.push(prompt);
      return SECRET;
    };
    const world: RecallWorld = new RecallWorld({}, { ...RECALL, subagents, summarize });
    await world.store(KEYS.own, "nothing");
    await world.store(KEYS.sibling, SECRET, FILLER);
    const ask = { prompt: "What is the exact harbor code?", query: "harbor code" };
    const params = { ...ask, allConversations: true };
    const text = await world.text(KEYS.own, "lcm_expand_query", params);
    expect(subagents.tasks).toHaveLength(1);
    expect(text).toContain("can not be read any more");
    expect([text, ...prompts].join()).not.toContain("7391");
  });

  it("nothing of a revoked grant is told", async () => {
    const subagents = new ScriptedSubagents(async () => {
      revoke(world);
      return { status: "ok", reply: SECRET };
    });
    const world: RecallWorld = new RecallWorld({}, { ...RECALL, subagents });
    const { id } = await world.store(KEYS.own, SECRET, FILLER);
    world.grant(KEYS.child, [id]);
    const ask = { prompt: "What is the exact harbor code?", query: "harbor code" };
    const text = await world.text(KEYS.child, "lcm_expand_query", ask);
    expect(subagents.tasks).toHaveLength(1);
    expect(text).not.toContain("7391");
    expect(text).toContain("was revoked");
  });
});

describe("while a model is asked", () => {
  it("nothing of a deleted conversation is told", async () => {
    const summarize = async () => {
      await remove(world);
      return SECRET;
    };
    const world: RecallWorld = new RecallWorld({}, { ...RECALL, summarize });
    await world.store(KEYS.sibling, SECRET, FILLER);
    const ask = { prompt: "What is the exact harbor code?", query: "harbor code" };
    const params = { ...ask, allConversations: true };
    const text = await world.text(KEYS.own, "lcm_expand_query", params);
    expect(text).toContain("can not be read any more");
    expect(text).not.toContain("7391");
  });
});

describe("when the grant expires between the look at it and the count", () => {
  it("lcm_grep refuses", async () => {
    let looks = Number.NEGATIVE_INFINITY;
    const now = (): number => world.host.now() + (++looks >= 2 ? 200_000 : 0);
    const world: RecallWorld = new RecallWorld({}, { now });
    const { id } = await world.store(KEYS.own, SECRET);
    world.grant(KEYS.child, [id]);
    const tool = world.tools(KEYS.child).find(({ name }) => name === "lcm_grep");
    // The next look is that of the scope which the matches are told in.
    behindSearch(world, () => (looks = 0));
    const result = await tool?.execute("call-1", { pattern: "harbor" });
    expect(JSON.stringify(result)).toContain("The grant of this sub-agent has ended");
    expect(JSON.stringify(result)).not.toContain("7391");
  });
});
