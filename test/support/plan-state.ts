// States and policies for the planner, and steps by what they cover.

import { frontier, type GraphNode } from "../../src/compaction/frontier.js";
import type { Mode, PlanState, Step } from "../../src/compaction/plan.js";
import { totalTokens, type ViewItem } from "../../src/compaction/view-items.js";
import type { ViewPolicy } from "../../src/view-policy.js";

export const BACKGROUND: Mode = { kind: "background" };
export const FORCED: Mode = { kind: "forced" };
export const emergency = (target: number): Mode => ({ kind: "emergency", target });

export function policy(change: Partial<ViewPolicy> = {}): ViewPolicy {
  return {
    base: 10_000,
    threshold: 7_500,
    nearlyFull: 8_500,
    tailCount: 8,
    tailTokens: 3_750,
    itemTokens: 2_500,
    chunkTokens: 1_000,
    condenseTokens: 5_000,
    leafMinFanout: 4,
    condensedMinFanout: 4,
    condensedMinFanoutHard: 2,
    incrementalMaxDepth: 0,
    ...change,
  };
}

export interface Sketch {
  readonly nodes?: readonly GraphNode[];
  readonly tailTokens?: number;
  readonly breaks?: readonly number[];
  readonly hopeless?: readonly unknown[];
}

export function stateOf(outside: readonly ViewItem[], sketch: Sketch = {}): PlanState {
  const { nodes = [], tailTokens = 0, breaks = [], hopeless = [] } = sketch;
  return {
    outside,
    elements: frontier(outside, { nodes, successors: new Map() }, { adopt: true }),
    tailTokens,
    viewTokens: totalTokens(outside) + tailTokens,
    breaks: new Set(breaks),
    hopeless: new Set(hopeless),
  };
}

/** The ids that a step covers. */
export function covered(step: Step | undefined): GraphNode["members"] | undefined {
  return step?.kind === "leaf" ? step.messages.map(({ messageId }) => messageId) : step?.sources;
}
