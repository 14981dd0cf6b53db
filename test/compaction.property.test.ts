// Random histories with every kind of model: the view stays sound (G3), compaction ends and shrinks
// (G4), and what the model gets fits and hides nothing (G5).

import fc from "fast-check";
import { describe, test } from "vitest";
import { type Move, Play } from "./support/play.js";
import { HOSTILE, obedient, type Summarizer } from "./support/summarizers.js";

const size = fc.oneof(
  fc.integer({ min: 1, max: 300 }),
  fc.integer({ min: 1, max: 2_500 }),
  fc.constant(6_000),
);
const turn = fc.record({
  kind: fc.constant("turn" as const),
  sizes: fc.array(size, { minLength: 2, maxLength: 4 }),
  loops: fc.nat(4),
});

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: turn },
  { weight: 6, arbitrary: fc.constant({ kind: "work" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "idle" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rewind" as const), back: fc.nat(12) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "switch" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const), keep: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "new id" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "compact" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("overflow" as const),
      attempt: fc.constantFrom(1, 2, 3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("budget" as const),
      share: fc.constantFrom(0.3, 0.6, 1, 2.5),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "steered" as const }) },
);

async function playAll(summarize: Summarizer, moves: readonly Move[]): Promise<void> {
  const play = new Play(summarize);
  await play.make({ kind: "turn", sizes: [100, 100], loops: 1 });
  for (const step of moves) {
    await play.make(step);
    await play.check();
  }
  play.chat.lcm.close();
}

describe("whatever happens to a conversation", () => {
  test("with a model that works", async () => {
    const moves = fc.array(move, { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(moves, (steps) => playAll(obedient(), steps)),
      { numRuns: 40 },
    );
  }, 120_000);

  test.each(Object.entries(HOSTILE))(
    "with a model that is %s",
    async (_name, summarize) => {
      const moves = fc.array(move, { maxLength: 25 });
      await fc.assert(
        fc.asyncProperty(moves, (steps) => playAll(summarize, steps)),
        { numRuns: 6 },
      );
    },
    60_000,
  );
});
