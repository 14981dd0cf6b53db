// Which node is made next for a view: where it may be cut, what goes into a leaf, what into a condensed
// node, and when.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  coarsest,
  type Element,
  frontier,
  type GraphNode,
  isPrepared,
} from "../src/compaction/frontier.js";
import { pickChunk, type RawMessage } from "../src/compaction/leaf-chunk.js";
import {
  needsSpace,
  nextStep,
  type PlanState,
  publishedTokens,
  rawRuns,
} from "../src/compaction/plan.js";
import { cleanCuts, freshTailStart, type ViewItem } from "../src/compaction/view-items.js";
import type { SummaryId } from "../src/types.js";
import type { ViewPolicy } from "../src/view-policy.js";
import { BACKGROUND, covered, emergency, FORCED, policy, stateOf } from "./support/plan-state.js";
import {
  answer,
  call,
  type ItemDraft,
  items,
  message,
  summary,
  turn,
} from "./support/view-items.js";

function node(id: string, tokens: number, members: readonly (number | string)[], depth = 0) {
  return { id, depth, tokens, members } as unknown as GraphNode;
}

/** Turns of a user message and a reply, 100 tokens each. */
function talk(turns: number, first = 1, tokens = 100) {
  return Array.from({ length: turns }, (_, at) => [
    turn(first + 2 * at, tokens),
    message(first + 2 * at + 1, tokens),
  ]).flat();
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe("a list may be cut", () => {
  test.each<[string, ViewItem[], string]>([
    ["anywhere in plain talk", items(turn(1, 1), message(2, 1), summary("s", 1)), "1111"],
    [
      "not between a call and its result",
      items(turn(1, 1), call(2, 1, "a"), answer(3, 1, "a")),
      "1101",
    ],
    [
      "not among parallel results",
      items(call(1, 1, "a", "b"), answer(2, 1, "b"), answer(3, 1, "a"), message(4, 1)),
      "10011",
    ],
    [
      "not at a message steered in between",
      items(call(1, 1, "a"), turn(2, 1), answer(3, 1, "a"), turn(4, 1)),
      "10011",
    ],
    ["behind a call that got no result", items(call(1, 1, "a"), turn(2, 1)), "111"],
    ["not before a result whose call is elsewhere", items(message(1, 1), answer(2, 1, "x")), "101"],
    [
      "before a result whose call is in a summary",
      items(summary("s", 1), answer(1, 1, "x"), answer(2, 1, "y"), message(3, 1)),
      "11011",
    ],
    ["before the first item, whatever it is", items(answer(1, 1, "x"), message(2, 1)), "111"],
    [
      "between two uses of one id",
      items(call(1, 1, "a"), answer(2, 1, "a"), call(3, 1, "a"), answer(4, 1, "a")),
      "10101",
    ],
    ["nowhere else when it is empty", [], "1"],
  ])("%s", (_, list, expected) => {
    expect(cleanCuts(list).map(Number).join("")).toBe(expected);
  });
});

describe("the fresh tail begins", () => {
  const limits = { tailCount: 4, tailTokens: 1_000 };

  test.each<[string, ViewItem[], number]>([
    ["at the beginning of a short view", items(...talk(2)), 0],
    ["so many messages before the end", items(...talk(5)), 6],
    ["where its tokens are used up", items(...talk(4, 1, 400)), 6],
    [
      "at the next turn where the count falls inside one",
      items(
        ...talk(2),
        turn(5, 1),
        ...range(6, 8).map((id) => message(id, 1)),
        turn(9, 1),
        message(10, 1),
      ),
      8,
    ],
    [
      "inside a turn that is longer than the tail",
      items(turn(1, 1), ...range(2, 9).map((id) => message(id, 1))),
      5,
    ],
    [
      "before no result of a call",
      items(
        turn(1, 1),
        message(2, 1),
        call(3, 1, "a", "b"),
        answer(4, 1, "a"),
        answer(5, 1, "b"),
        call(6, 1, "c"),
        answer(7, 1, "c"),
      ),
      5,
    ],
    ["behind the summaries", items(summary("s1", 1), summary("s2", 1), ...talk(1)), 2],
    [
      "at the end when the newest message is larger than all of it",
      items(...talk(2), turn(5, 2_000)),
      5,
    ],
    [
      "at the end when the newest pair is larger than all of it",
      items(turn(1, 10), call(2, 600, "a"), answer(3, 600, "a")),
      3,
    ],
    [
      "at a steered message only where no pair is open",
      items(turn(1, 1), message(2, 1), call(3, 1, "a"), turn(4, 1), answer(5, 1, "a"), turn(6, 1)),
      5,
    ],
    ["nowhere in an empty view", [], 0],
  ])("%s", (_, list, expected) => {
    expect(freshTailStart(list, limits)).toBe(expected);
  });
});

describe("a leaf takes", () => {
  const limits = { chunkTokens: 1_000, minFanout: 4 };
  const run = (...drafts: ItemDraft[]): RawMessage[] => rawRuns(stateOf(items(...drafts)))[0] ?? [];
  const ids = (chunk: readonly RawMessage[] | undefined) =>
    chunk?.map(({ item }) => Number(item.messageId));

  test.each<[string, RawMessage[], number[] | undefined]>([
    ["nothing of nothing", [], undefined],
    ["a whole run that fits", run(...talk(4)), range(1, 8)],
    ["no more than the chunk", run(...talk(8)), range(1, 10)],
    [
      "the chunk up to a turn, where that is half of it",
      run(...talk(2, 1, 150), turn(5, 100), ...range(6, 12).map((id) => message(id, 100))),
      range(1, 4),
    ],
    [
      "the chunk up to a pair, where a turn would be too little",
      run(turn(1, 200), turn(2, 50), ...range(3, 14).map((id) => message(id, 100))),
      range(1, 9),
    ],
    [
      "a call with its result",
      run(
        turn(1, 300),
        message(2, 300),
        message(3, 100),
        call(4, 100, "a"),
        answer(5, 400, "a"),
        turn(6, 100),
      ),
      range(1, 3),
    ],
    [
      "an oversized pair whole",
      run(call(1, 400, "a", "b"), answer(2, 490, "a"), answer(3, 490, "b"), turn(4, 100)),
      range(1, 3),
    ],
    [
      "an oversized pair with the little before it",
      run(turn(1, 50), call(2, 700, "a"), answer(3, 490, "a"), turn(4, 100)),
      range(1, 3),
    ],
    ["an oversized message by itself", run(turn(1, 5_000), message(2, 100)), [1]],
    ["a full chunk of few messages", run(turn(1, 600), message(2, 390), turn(3, 600)), [1, 2]],
    ["one message that is a full chunk", run(turn(1, 1_000)), [1]],
    [
      "no fewer messages than the fanout",
      run(turn(1, 300), message(2, 300), message(3, 300)),
      undefined,
    ],
    [
      "as many messages as the fanout",
      run(turn(1, 30), message(2, 30), message(3, 30), message(4, 30)),
      range(1, 4),
    ],
    ["nothing that could not shrink", run(...range(1, 9).map((id) => message(id, 11))), undefined],
  ])("%s", (_, given, expected) => {
    expect(ids(pickChunk(given, limits))).toEqual(expected);
  });

  test("a single message in a forced sweep", () => {
    expect(ids(pickChunk(run(turn(1, 300)), { ...limits, minFanout: 1 }))).toEqual([1]);
  });

  test("bulky results at what their stubs would cost", () => {
    const [, , bulky] = run(turn(1, 100), call(2, 100, "a"), answer(3, 4_000, "a"));
    expect(bulky?.least).toBe(90);
  });
});

describe("runs of raw messages", () => {
  const runsOf = (state: PlanState) =>
    rawRuns(state).map((run) => run.map(({ item }) => Number(item.messageId)));

  test("end at nodes, prepared or shown", () => {
    const view = items(...talk(1), summary("s", 50), ...talk(2, 3), ...talk(1, 7));
    const nodes = [node("p", 60, [3, 4])];
    expect(runsOf(stateOf(view, { nodes }))).toEqual([
      [1, 2],
      [5, 6, 7, 8],
    ]);
  });

  test("end at a reset", () => {
    expect(runsOf(stateOf(items(...talk(3)), { breaks: [2] }))).toEqual([
      [1, 2],
      [3, 4, 5, 6],
    ]);
  });

  test("leave alone a pair that a reset goes through", () => {
    const view = items(turn(1, 50), call(2, 50, "a"), answer(3, 50, "a"), turn(4, 50));
    expect(runsOf(stateOf(view, { breaks: [2] }))).toEqual([[1], [4]]);
  });

  test("begin with a result whose call was summarized without it", () => {
    const view = items(summary("s", 50), answer(1, 50, "a"), turn(2, 50));
    expect(runsOf(stateOf(view))).toEqual([[1, 2]]);
  });

  test("begin behind a hopeless message and the results that belong to it", () => {
    const view = items(
      turn(1, 50),
      call(2, 50, "a"),
      answer(3, 50, "a"),
      turn(4, 50),
      message(5, 50),
    );
    expect(runsOf(stateOf(view, { hopeless: [2] }))).toEqual([[1], [4, 5]]);
    expect(runsOf(stateOf(view, { hopeless: [1] }))).toEqual([[2, 3, 4, 5]]);
  });
});

describe("the frontier", () => {
  const refs = (elements: readonly Element[]) => elements.map(({ ref }) => ref);
  const none = { nodes: [], successors: new Map() };

  test("is the view itself while nothing was made", () => {
    const view = items(summary("s1", 50, 2), turn(1, 40), answer(2, 900, "x"));
    expect(frontier(view, none, { adopt: true })).toEqual([
      { ref: "s1", depth: 2, tokens: 50, from: 0, to: 1 },
      { ref: 1, depth: -1, tokens: 40, from: 1, to: 2 },
      { ref: 2, depth: -1, tokens: 90, from: 2, to: 3 },
    ]);
  });

  test("puts prepared leaves in the place of their messages", () => {
    const nodes = [node("a", 30, [1, 2]), node("b", 35, [5, 6])];
    expect(frontier(items(...talk(3)), { ...none, nodes }, { adopt: true })).toMatchObject([
      { ref: "a", depth: 0, tokens: 30, from: 0, to: 2 },
      { ref: 3 },
      { ref: 4 },
      { ref: "b", tokens: 35, from: 4, to: 6 },
    ]);
  });

  test("puts condensed nodes over prepared and shown ones, in any order of making", () => {
    const view = items(summary("s1", 90), ...talk(2));
    const nodes = [
      node("top", 20, ["up", "b"], 2),
      node("up", 40, ["s1", "a"], 1),
      node("b", 30, [3, 4]),
      node("a", 30, [1, 2]),
    ];
    const elements = frontier(view, { ...none, nodes }, { adopt: true });
    expect(elements).toEqual([{ ref: "top", depth: 2, tokens: 20, from: 0, to: 5 }]);
    expect(isPrepared(elements[0] as Element, view)).toBe(true);
  });

  test("needs all members of a node, together and in order", () => {
    const elements = (members: number[]) =>
      refs(
        frontier(items(...talk(2)), { ...none, nodes: [node("a", 1, members)] }, { adopt: true }),
      );
    expect(elements([2, 3])).toEqual([1, "a", 4]);
    for (const broken of [
      [1, 3],
      [2, 1],
      [4, 5],
      [0, 1],
    ]) {
      expect(elements(broken)).toEqual([1, 2, 3, 4]);
    }
  });

  test("takes the node of the branch it is on, of two that begin alike", () => {
    const nodes = [node("left", 30, [1, 2, 7]), node("right", 30, [1, 2, 3])];
    const view = (last: number) => items(turn(1, 50), message(2, 50), message(last, 50));
    expect(refs(frontier(view(3), { ...none, nodes }, { adopt: true }))).toEqual(["right"]);
    expect(refs(frontier(view(7), { ...none, nodes }, { adopt: true }))).toEqual(["left"]);
    expect(refs(frontier(view(8), { ...none, nodes }, { adopt: true }))).toEqual([1, 2, 8]);
  });

  test("takes the longer of two nodes that are both whole, whichever was made first", () => {
    const both = [node("short", 30, [1, 2]), node("long", 40, [1, 2, 3, 4])];
    for (const nodes of [both, both.toReversed()]) {
      expect(refs(frontier(items(...talk(2)), { ...none, nodes }, { adopt: true }))).toEqual([
        "long",
      ]);
    }
  });

  test("adopts what supersedes shown nodes, or does not", () => {
    const view = items(summary("old", 90), summary("s2", 80));
    const graph = {
      nodes: [node("up", 40, ["better", "s2"], 1)],
      successors: new Map([["old" as SummaryId, node("better", 95, [])]]),
    };
    expect(refs(frontier(view, graph, { adopt: true }))).toEqual(["up"]);
    expect(refs(frontier(view, graph, { adopt: false }))).toEqual(["old", "s2"]);
    const [better] = frontier(view, { ...graph, nodes: [] }, { adopt: true });
    expect(better).toEqual({ ref: "better", depth: 0, tokens: 95, from: 0, to: 1 });
    expect(isPrepared(better as Element, view)).toBe(true);
  });

  test("is not prepared where it is what the view shows", () => {
    const view = items(summary("s1", 90), ...talk(1));
    const prepared = frontier(view, none, { adopt: true }).map((one) => isPrepared(one, view));
    expect(prepared).toEqual([false, false, false]);
  });

  test("covers every item of the view once, in order", () => {
    const spans = fc.array(fc.tuple(fc.nat({ max: 19 }), fc.integer({ min: 1, max: 6 })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(spans, spans, (leaves, ups) => {
        const view = items(...talk(10));
        const nodes = [
          ...leaves.map(([from, length], at) => node(`l${at}`, 5, range(from + 1, from + length))),
          ...ups.map(([from, length], at) =>
            node(
              `u${at}`,
              5,
              range(from, from + length).map((leaf) => `l${leaf}`),
              1,
            ),
          ),
        ];
        const elements = frontier(view, { ...none, nodes }, { adopt: true });
        expect(elements[0]?.from).toBe(0);
        expect(elements.at(-1)?.to).toBe(view.length);
        for (const [at, { from }] of elements.slice(1).entries())
          expect(from).toBe(elements[at]?.to);
        expect(coarsest(elements, nodes)).toEqual(elements);
      }),
    );
  });
});

describe("in the background", () => {
  test("nothing is due while the raw messages stay below a chunk", () => {
    const view = items(...talk(4), message(9, 199));
    expect(nextStep(stateOf(view), policy(), BACKGROUND)).toBeUndefined();
  });

  test("a leaf is due at a chunk, from the oldest messages", () => {
    const step = nextStep(stateOf(items(...talk(6))), policy(), BACKGROUND);
    expect(step?.kind).toBe("leaf");
    expect(covered(step)).toEqual(range(1, 10));
  });

  test("what nodes cover does not count towards a chunk", () => {
    const nodes = [node("a", 60, range(1, 6))];
    expect(nextStep(stateOf(items(...talk(6)), { nodes }), policy(), BACKGROUND)).toBeUndefined();
  });

  test("beyond the threshold every run that has the fanout becomes a leaf, due or not", () => {
    const view = items(...talk(2), summary("s", 50), message(9, 120));
    const sketch = { tailTokens: 7_200 };
    const state = stateOf(view, sketch);
    expect(needsSpace(state, policy())).toBe(true);
    expect(covered(nextStep(state, policy(), BACKGROUND))).toEqual(range(1, 4));
    const nodes = [node("a", 60, range(1, 4))];
    expect(
      covered(
        nextStep(
          stateOf(view, { ...sketch, nodes }),
          policy({ condensedMinFanout: 9 }),
          BACKGROUND,
        ),
      ),
    ).toBeUndefined();
  });

  describe("with summaries", () => {
    const leaves = (count: number, tokens = 400, depth = 0) =>
      Array.from({ length: count }, (_, at) => summary(`d${depth}-${at}`, tokens, depth));
    const named = (count: number, depth = 0) => range(0, count - 1).map((at) => `d${depth}-${at}`);

    test("none is condensed below the threshold unless so configured", () => {
      const state = stateOf(items(...leaves(6)));
      expect(nextStep(state, policy(), BACKGROUND)).toBeUndefined();
      expect(covered(nextStep(state, policy({ incrementalMaxDepth: 1 }), BACKGROUND))).toEqual(
        named(6),
      );
    });

    test("depths below incrementalMaxDepth are condensed, the finest first, and no others", () => {
      const view = items(...leaves(4, 400, 1), ...leaves(4));
      const at = (incrementalMaxDepth: number) =>
        covered(nextStep(stateOf(view), policy({ incrementalMaxDepth }), BACKGROUND));
      expect(at(0)).toBeUndefined();
      expect(at(1)).toEqual(named(4));
      expect(at(2)).toEqual(named(4));
      const upper = stateOf(items(...leaves(4, 400, 1)));
      expect(nextStep(upper, policy({ incrementalMaxDepth: 1 }), BACKGROUND)).toBeUndefined();
      expect(covered(nextStep(upper, policy({ incrementalMaxDepth: 2 }), BACKGROUND))).toEqual(
        named(4, 1),
      );
    });

    test("the fanout is soft while publishing would bring the view below the threshold", () => {
      // Messages that a prepared leaf covers lift the view over the threshold, but not what is prepared.
      const nodes = [node("a", 300, range(1, 2))];
      const view = items(...leaves(2, 1_500), turn(1, 4_000), message(2, 1_000));
      const state = stateOf(view, { nodes });
      expect(state.viewTokens).toBeGreaterThan(7_500);
      expect(publishedTokens(state)).toBe(3_300);
      expect(nextStep(state, policy({ threshold: 5_000 }), BACKGROUND)).toBeUndefined();
    });

    test("the fanout is hard while it would not", () => {
      const state = stateOf(items(...leaves(3, 1_000)), { tailTokens: 6_000 });
      expect(covered(nextStep(state, policy(), BACKGROUND))).toEqual(named(3));
    });

    test("a sweep ends where what is outside the tail takes half of the room there", () => {
      const sweep = (tokens: number) => {
        const nodes = [node("a", tokens, range(1, 2))];
        const view = items(...leaves(4, 100), turn(1, 4_000), message(2, 1_000));
        return nextStep(stateOf(view, { nodes, tailTokens: 3_500 }), policy(), BACKGROUND);
      };
      // The threshold leaves 4,000 beside the tail; four leaves of 100 and the prepared one take 2,000.
      expect(sweep(1_600)).toBeUndefined();
      expect(covered(sweep(1_601))).toEqual([...named(4), "a"]);
    });

    test("no more go into one node than twice the fanout, or than it may read", () => {
      const forced = (view: ViewItem[], change: Partial<ViewPolicy> = {}) =>
        covered(nextStep(stateOf(view), policy(change), FORCED));
      expect(forced(items(...leaves(12, 100)))).toEqual(named(8));
      expect(forced(items(...leaves(12, 100)), { condenseTokens: 350 })).toEqual(named(3));
      expect(forced(items(...leaves(3, 400)), { condenseTokens: 700 })).toBeUndefined();
    });

    test("only nodes of one depth that stand together are condensed", () => {
      const view = items(
        summary("a", 100),
        summary("b", 100, 1),
        summary("c", 100),
        summary("d", 100),
      );
      expect(covered(nextStep(stateOf(view), policy(), FORCED))).toEqual(["c", "d"]);
      const apart = items(summary("a", 100), message(1, 20), summary("b", 100));
      expect(nextStep(stateOf(apart), policy(), FORCED)).toBeUndefined();
    });

    test("a hopeless run is left behind", () => {
      const state = (hopeless: string[]) => stateOf(items(...leaves(4, 100)), { hopeless });
      expect(covered(nextStep(state(["d0-0"]), policy(), FORCED))).toEqual([
        "d0-1",
        "d0-2",
        "d0-3",
      ]);
      expect(nextStep(state(["d0-0", "d0-1", "d0-2"]), policy(), FORCED)).toBeUndefined();
    });
  });
});

describe("when forced", () => {
  test("leaves come first, then depth by depth, down to the hard fanout", () => {
    const view = items(
      summary("s1", 300, 1),
      summary("s2", 300, 1),
      summary("s3", 300),
      ...talk(1),
    );
    const first = nextStep(stateOf(view), policy(), FORCED);
    expect(covered(first)).toEqual([1, 2]);
    const nodes = [node("a", 50, [1, 2])];
    const second = nextStep(stateOf(view, { nodes }), policy(), FORCED);
    expect(covered(second)).toEqual(["s3", "a"]);
    const third = nextStep(
      stateOf(view, { nodes: [...nodes, node("b", 80, ["s3", "a"], 1)] }),
      policy(),
      FORCED,
    );
    expect(covered(third)).toEqual(["s1", "s2", "b"]);
  });

  test("goes on below half of the room", () => {
    const view = items(summary("s1", 100), summary("s2", 100));
    expect(covered(nextStep(stateOf(view), policy(), FORCED))).toEqual(["s1", "s2"]);
    expect(nextStep(stateOf(view), policy(), BACKGROUND)).toBeUndefined();
  });

  test("makes no leaf over a hopeless message, nor across a reset", () => {
    const view = items(...talk(2));
    expect(covered(nextStep(stateOf(view, { hopeless: [1] }), policy(), FORCED))).toEqual([
      2, 3, 4,
    ]);
    expect(covered(nextStep(stateOf(view, { breaks: [2] }), policy(), FORCED))).toEqual([1, 2]);
  });

  test("has nothing to do in an empty view", () => {
    expect(nextStep(stateOf([]), policy(), FORCED)).toBeUndefined();
  });
});

describe("in an emergency", () => {
  const view = items(...talk(10));

  test("nothing is made once the view would fit", () => {
    expect(nextStep(stateOf(view), policy(), emergency(2_000))).toBeUndefined();
    expect(covered(nextStep(stateOf(view), policy(), emergency(1_999)))).toEqual(range(1, 10));
  });

  test("what is prepared and what stubs would save counts", () => {
    const nodes = [node("a", 200, range(1, 10))];
    expect(nextStep(stateOf(view, { nodes }), policy(), emergency(1_200))).toBeUndefined();
    const bulky = items(turn(1, 50), call(2, 50, "a"), answer(3, 4_000, "a"));
    expect(nextStep(stateOf(bulky), policy(), emergency(200))).toBeUndefined();
  });

  test("leaves are made of as little as there is, and then nodes of two", () => {
    const few = items(summary("s1", 500), summary("s2", 500), turn(1, 150));
    expect(covered(nextStep(stateOf(few), policy(), emergency(10)))).toEqual([1]);
    const nodes = [node("a", 60, [1])];
    expect(covered(nextStep(stateOf(few, { nodes }), policy(), emergency(10)))).toEqual([
      "s1",
      "s2",
      "a",
    ]);
  });
});
