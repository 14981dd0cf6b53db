// The planner over random histories: every step is sound, and there is a last one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frontier, type GraphNode } from "../src/compaction/frontier.js";
import { nextStep, type PlanState, publishedTokens, rawRuns } from "../src/compaction/plan.js";
import {
  cleanCuts,
  freshTailStart,
  isMessage,
  leastTokens,
  type MessageItem,
  totalTokens,
  type ViewItem,
} from "../src/compaction/view-items.js";
import type { MessageId, SummaryId } from "../src/types.js";
import { BACKGROUND, covered, emergency, FORCED, policy, stateOf } from "./support/plan-state.js";
import { answer, call, items, message, turn } from "./support/view-items.js";

const size = fc.integer({ min: 1, max: 900 });
const round = fc.tuple(fc.constantFrom("say", "pair", "parallel", "steered", "cut off"), size);

/** A turn with talk, tool pairs, parallel calls and words steered in. */
const turns = fc.array(round, { maxLength: 5 }).map((rounds) => [
  turn(0, 60),
  ...rounds.flatMap(([kind, tokens], at) => {
    const [a, b] = [`${at}a`, `${at}b`];
    if (kind === "say") return [message(0, tokens)];
    if (kind === "cut off") return [call(0, 40, a)];
    if (kind === "pair") return [call(0, 40, a), answer(0, tokens, a)];
    if (kind === "steered") return [call(0, 40, a), turn(0, 20), answer(0, tokens, a)];
    return [call(0, 40, a, b), answer(0, tokens, b), answer(0, tokens, a)];
  }),
]);

/** With ids of their own for messages and calls. */
const views = fc.array(turns, { maxLength: 14 }).map((history) => {
  let id = 0;
  return items(
    ...history.flatMap((one, at) =>
      one.map((item) => ({
        ...item,
        messageId: (id += 1) as MessageId,
        calls: item.calls.map((name) => `${at}-${name}`),
        answers: item.answers === null ? null : `${at}-${item.answers}`,
      })),
    ),
  );
});

const worlds = fc.record({
  view: views,
  mode: fc.oneof(
    fc.constantFrom(BACKGROUND, FORCED),
    fc.integer({ min: 0, max: 8_000 }).map(emergency),
  ),
  breaks: fc.uniqueArray(fc.nat({ max: 60 }), { maxLength: 2 }),
  tailTokens: fc.integer({ min: 0, max: 8_000 }),
  incrementalMaxDepth: fc.nat({ max: 3 }),
  /** Per step: the share of its sources that the node keeps, 0 when it can not be made. */
  shrinks: fc.infiniteStream(fc.constantFrom(0, 0.1, 0.3, 0.6, 0.95)),
  /** Per step: whether what was made is published behind it. */
  publishes: fc.infiniteStream(fc.boolean()),
});

/** The view once everything that was made is published. */
function publish(view: readonly ViewItem[], nodes: readonly GraphNode[]): ViewItem[] {
  return frontier(view, { nodes, successors: new Map() }, { adopt: true }).map((element) => {
    const { ref, depth, tokens, from } = element;
    const item = view[from] as ViewItem;
    if (depth < 0) return { ...item, tokens };
    return { ordinal: item.ordinal, summaryId: ref as SummaryId, depth, tokens };
  });
}

/** A leaf covers messages that stand together and that no node covers, behind no reset, in whole pairs. */
function checkLeaf(messages: readonly MessageItem[], state: PlanState): void {
  const { outside, elements, breaks } = state;
  const at = outside.indexOf(messages[0] as ViewItem);
  const end = at + messages.length;
  expect(outside.slice(at, end)).toEqual(messages);
  expect(elements.filter(({ depth, from }) => depth < 0 && from >= at && from < end)).toHaveLength(
    messages.length,
  );
  expect([...breaks].filter((index) => index > at && index < end)).toEqual([]);
  const all = outside.filter(isMessage);
  for (const one of all) {
    const caller = all.find(({ calls }) => one.answers !== null && calls.includes(one.answers));
    expect(!caller || messages.includes(caller) === messages.includes(one)).toBe(true);
  }
}

/**
 * A condensed node covers nodes that stand together, of one depth and no more than it may read; but for
 * the least that makes one where nothing else is left to make room.
 */
function checkSources(sources: readonly SummaryId[], state: PlanState): void {
  const { condenseTokens, condensedMinFanoutHard, threshold } = policy();
  const at = state.elements.findIndex(({ ref }) => ref === sources[0]);
  const run = state.elements.slice(at, at + sources.length);
  expect(run.map(({ ref }) => ref)).toEqual(sources);
  const isOneDepth = new Set(run.map(({ depth }) => depth)).size === 1;
  const isLast = sources.length === condensedMinFanoutHard && publishedTokens(state) > threshold;
  const isReadable = totalTokens(run) <= condenseTokens;
  expect((isOneDepth && isReadable) || isLast).toBe(true);
  expect(sources.length).toBeGreaterThanOrEqual(condensedMinFanoutHard);
}

describe("whatever the history", () => {
  test("every step is sound, and there is a last one", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { mode, tailTokens, incrementalMaxDepth, shrinks, publishes } = world;
        const rules = policy({ incrementalMaxDepth });
        const resets = new Set(world.breaks.map((index) => world.view[index]?.ordinal));
        const nodes: GraphNode[] = [];
        const hopeless: unknown[] = [];
        let { view } = world;
        const load = (): PlanState => {
          const breaks = [...view.keys()].filter((at) => resets.has(view[at]?.ordinal));
          return stateOf(view, { nodes, hopeless, tailTokens, breaks });
        };
        let state = load();
        for (let steps = 1; ; steps += 1, state = load()) {
          expect(steps).toBeLessThanOrEqual(4 * world.view.length + 4);
          const step = nextStep(state, rules, mode);
          if (!step) break;
          if (step.kind === "leaf") checkLeaf(step.messages, state);
          else checkSources(step.sources, state);
          const members = covered(step) ?? [];
          const sources = state.elements.filter(({ ref }) => members.includes(ref));
          const tokens = Math.floor(totalTokens(sources) * (shrinks.next().value ?? 0));
          const depth = Math.max(...sources.map((one) => one.depth)) + 1;
          if (tokens === 0) hopeless.push(members[0]);
          else nodes.push({ id: `n${steps}` as SummaryId, depth, tokens, members });
          if (publishes.next().value) view = publish(view, nodes);
        }
        expect(publishedTokens(state)).toBeLessThanOrEqual(totalTokens(world.view) + tailTokens);
        // An emergency ends where it wanted to, or with nothing left that a leaf could shrink.
        const left = rawRuns(state).map((run) => run.reduce((sum, { least }) => sum + least, 0));
        expect(
          mode.kind !== "emergency" ||
            publishedTokens(state) <= mode.target ||
            left.every((tokens) => tokens < 100),
        ).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("the same state gives the same step", () => {
    fc.assert(
      fc.property(worlds, ({ view, mode, breaks, tailTokens }) => {
        const state = stateOf(view, { breaks, tailTokens });
        expect(nextStep(state, policy(), mode)).toEqual(nextStep(state, policy(), mode));
      }),
      { numRuns: 30 },
    );
  });

  test("with nothing made, publishing costs each item in its least form", () => {
    fc.assert(
      fc.property(views, (view) => {
        const least = view.reduce((sum, item) => sum + leastTokens(item), 0);
        expect(publishedTokens(stateOf(view))).toBe(least);
      }),
      { numRuns: 30 },
    );
  });

  test("the fresh tail holds no more than it may and separates no pair", () => {
    fc.assert(
      fc.property(
        views,
        fc.integer({ min: 1, max: 20 }),
        fc.nat({ max: 4_000 }),
        (view, tailCount, tailTokens) => {
          const start = freshTailStart(view, { tailCount, tailTokens });
          const tail = view.slice(start);
          expect(tail.length).toBeLessThanOrEqual(tailCount);
          expect(totalTokens(tail)).toBeLessThanOrEqual(tailTokens);
          expect(cleanCuts(view)[start]).toBe(true);
        },
      ),
    );
  });
});
