// What a turn tells about a model's own token counts, how far that is believed, and what a budget means
// for the turns behind it.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { modelName, usageSample } from "../src/calibration.js";
import { resolveConfig } from "../src/db/config.js";
import type { AgentMessage } from "../src/types.js";
import { budgetBase, calibrationRatio, viewPolicy } from "../src/view-policy.js";

const user: AgentMessage = { role: "user", content: "x" };
const result: AgentMessage = { role: "toolResult", content: "x", usage: { input: 9_999 } };

function reply(
  usage: unknown,
  model: unknown = "fake-1",
  provider: unknown = "fake",
): AgentMessage {
  return { role: "assistant", content: [], provider, model, usage };
}

describe("a turn with two model calls", () => {
  const turn = [user, reply({ input: 1_000 }), result, reply({ input: 1_660 })];

  test("tells what the messages between them cost", () => {
    expect(usageSample(turn, [50, 100, 500, 80])).toEqual({
      model: "fake/fake-1",
      estimated: 600,
      actual: 660,
    });
  });

  test("counts what came from a cache and what went into one", () => {
    const cached = [
      reply({ input: 10, cacheRead: 900, cacheWrite: 90, output: 50 }),
      result,
      reply({ input: 20, cacheRead: 1_000, cacheWrite: 640 }),
    ];
    expect(usageSample(cached, [100, 500, 80])).toMatchObject({ estimated: 600, actual: 660 });
  });

  test("is measured from its first to its last call", () => {
    const loop = [
      reply({ input: 500 }),
      result,
      reply({ input: 900 }),
      result,
      reply({ input: 1_500 }),
    ];
    expect(usageSample(loop, [10, 400, 10, 500, 10])).toMatchObject({
      estimated: 920,
      actual: 1_000,
    });
  });

  test("may hold calls that tell nothing", () => {
    const silent = [reply({ input: 500 }), reply(undefined), result, reply({ input: 1_000 })];
    expect(usageSample(silent, [10, 20, 400, 10])).toMatchObject({ estimated: 430, actual: 500 });
  });

  test.each<[string, AgentMessage[]]>([
    ["another model answered last", [reply({ input: 1 }), result, reply({ input: 999 }, "fake-2")]],
    [
      "another provider answered last",
      [reply({ input: 1 }), result, reply({ input: 999 }, "fake-1", "b")],
    ],
    ["the prompt got smaller", [reply({ input: 2_000 }), result, reply({ input: 1_000 })]],
    ["the prompt hardly grew", [reply({ input: 1_000 }), result, reply({ input: 1_099 })]],
    ["only one call tells its usage", [reply({ input: 1_000 }), result, reply({})]],
    ["there was one call", [user, reply({ input: 1_000 })]],
    ["there was none", [user]],
    ["it is empty", []],
    ["usage is no object", [reply(7), result, reply("many")]],
    ["counts are no numbers", [reply({ input: "1" }), result, reply({ input: null })]],
    ["counts are not finite", [reply({ input: Number.NaN }), result, reply({ input: 2_000 })]],
    ["usage is null", [reply(null), result, reply({ input: 2_000 })]],
  ])("tells nothing when %s", (_, messages) => {
    expect(
      usageSample(
        messages,
        messages.map(() => 400),
      ),
    ).toBeUndefined();
  });

  test("tells nothing when the messages are too few to measure", () => {
    expect(usageSample(turn, [50, 49, 50, 80])).toBeUndefined();
    expect(usageSample(turn, [50, 50, 50, 80])).toBeDefined();
  });

  test("never gives a sample that is not two positive counts", () => {
    const count = fc.oneof(
      fc.integer({ min: -10, max: 5_000 }),
      fc.constantFrom(undefined, Number.NaN, "9", null),
    );
    const usage = fc.record({ input: count, cacheRead: count, cacheWrite: count });
    const anyMessage = fc.oneof(
      fc.constantFrom(user, result),
      usage.map((one) => reply(one)),
    );
    fc.assert(
      fc.property(fc.array(anyMessage), (messages) => {
        const sample = usageSample(
          messages,
          messages.map((_, at) => at * 40),
        );
        const { estimated, actual } = sample ?? { estimated: 100, actual: 100 };
        expect(estimated >= 100 && actual >= 100).toBe(true);
      }),
    );
  });
});

test.each([
  ["fake", "fake-1", "fake/fake-1"],
  [undefined, "fake-1", "fake-1"],
  ["", "fake-1", "fake-1"],
  ["fake", null, "fake"],
  [1, {}, ""],
])("the model of provider %j and model %j is %j", (provider, model, name) => {
  expect(modelName(provider, model)).toBe(name);
});

describe("the ratio", () => {
  test.each([
    ["nothing is known", undefined, 1],
    ["little is known", { estimated: 1_999, actual: 3_000 }, 1],
    ["enough is known", { estimated: 2_000, actual: 2_400 }, 1.2],
    ["the model counts less", { estimated: 10_000, actual: 9_000 }, 0.9],
    ["the model counts far more than is believable", { estimated: 2_000, actual: 90_000 }, 1.6],
    ["the model counts far less than is believable", { estimated: 9_000, actual: 100 }, 0.7],
  ])("when %s", (_, counts, expected) => {
    expect(calibrationRatio(counts)).toBeCloseTo(expected, 10);
  });

  test("stays within what is believable", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (estimated, actual) => {
        const ratio = calibrationRatio({ estimated, actual });
        expect(ratio >= 0.7 && ratio <= 1.6).toBe(true);
      }),
    );
  });
});

describe("the budget that later turns count on", () => {
  test.each([
    ["is what the host offers and this turn's prompt", 17_000, 842, 32_000, 17_842],
    ["is no less than a quarter of the window after a large paste", 1, 500, 32_000, 8_000],
    ["is no more than the window", 31_900, 900, 32_000, 32_000],
    ["is what was offered where the window is unknown", 17_000, 842, null, 17_842],
    ["is at least one token", 0, 0, null, 1],
    ["takes whole tokens", 1_000.9, 10, null, 1_010],
    ["rounds a quarter of the window down", 1, 0, 4_003, 1_000],
    ["does not shrink with the prompt", 12_000, 5_000, 32_000, 17_000],
  ])("%s", (_, tokenBudget, promptTokens, window, expected) => {
    expect(budgetBase({ tokenBudget, promptTokens, window })).toBe(expected);
  });

  test("lies between a quarter of the window and the window", () => {
    const size = fc.integer({ min: 1, max: 2_000_000 });
    fc.assert(
      fc.property(size, fc.nat({ max: 2_000_000 }), size, (tokenBudget, promptTokens, window) => {
        const base = budgetBase({ tokenBudget, promptTokens, window });
        expect(base >= Math.floor(window / 4) && base <= window).toBe(true);
      }),
    );
  });
});

describe("what a budget means for the view", () => {
  const { config } = resolveConfig({ env: {}, stateDir: "/state", homeDir: "/home/me" });

  test("of a small window", () => {
    expect(viewPolicy(config, 16_000)).toEqual({
      base: 16_000,
      threshold: 12_000,
      nearlyFull: 13_600,
      tailCount: 32,
      tailTokens: 6_000,
      itemTokens: 4_000,
      chunkTokens: 4_000,
      condenseTokens: 8_000,
      leafMinFanout: 8,
      condensedMinFanout: 4,
      condensedMinFanoutHard: 2,
      incrementalMaxDepth: 0,
    });
  });

  test("of a large window: no chunk is larger than configured", () => {
    expect(viewPolicy(config, 1_000_000)).toMatchObject({
      chunkTokens: 20_000,
      condenseTokens: 20_000,
      itemTokens: 250_000,
    });
  });
});
