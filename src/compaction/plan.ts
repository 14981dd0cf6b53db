// Which node to make next for a view that grows: a leaf over raw messages, a condensed node over finer
// ones, or none. Pure: the same state always gives the same step, and the executor asks again after
// each one.

import type { SummaryId } from "../types.js";
import type { ViewPolicy } from "../view-policy.js";
import type { Element } from "./frontier.js";
import { pickChunk, type RawMessage } from "./leaf-chunk.js";
import {
  cleanCuts,
  isMessage,
  type MessageItem,
  totalTokens,
  type ViewItem,
} from "./view-items.js";

export interface PlanState {
  /** The oldest items outside the fresh tail, in order; all of them unless there are very many. */
  readonly outside: readonly ViewItem[];
  /** The coarsest list that the nodes made so far allow for `outside`, bulky results as stubs. */
  readonly elements: readonly Element[];
  readonly tailTokens: number;
  /** Of the whole view. */
  readonly viewTokens: number;
  /** Indexes of `outside` that no leaf may reach across from below: a reset stands before them. */
  readonly breaks: ReadonlySet<number>;
  /** Runs that were tried and could not be made smaller, by the ref of their first element. */
  readonly hopeless: ReadonlySet<unknown>;
}

/**
 * `background`: as much as is due. `forced`: everything that can be, down to the hard fanout.
 * `emergency`: oldest first, until the view takes no more than `target`.
 */
export type Mode =
  | { readonly kind: "background" }
  | { readonly kind: "forced" }
  | { readonly kind: "emergency"; readonly target: number };

export type Step =
  | { readonly kind: "leaf"; readonly messages: readonly MessageItem[] }
  | { readonly kind: "condense"; readonly sources: readonly SummaryId[] };

export function nextStep(state: PlanState, policy: ViewPolicy, mode: Mode): Step | undefined {
  if (mode.kind === "emergency" && publishedTokens(state) <= mode.target) return undefined;
  const messages = nextLeaf(state, policy, mode);
  if (messages) return { kind: "leaf", messages };
  const sources = nextSources(state, policy, mode);
  return sources && { kind: "condense", sources };
}

/** The tokens of the view if everything prepared were published and bulky results were stubs. */
export function publishedTokens({ outside, elements, viewTokens }: PlanState): number {
  return viewTokens - totalTokens(outside) + totalTokens(elements);
}

/** Even with everything published that is prepared, the view would not fit the threshold. */
function isTight(state: PlanState, { threshold }: ViewPolicy): boolean {
  return publishedTokens(state) > threshold;
}

export function needsSpace({ viewTokens }: PlanState, { threshold }: ViewPolicy): boolean {
  return viewTokens > threshold;
}

function nextLeaf(
  state: PlanState,
  policy: ViewPolicy,
  mode: Mode,
): readonly MessageItem[] | undefined {
  const runs = rawRuns(state);
  const raw = runs.flat().reduce((sum, { least }) => sum + least, 0);
  const isDue = mode.kind !== "background" || isSweep(state, policy) || raw >= policy.chunkTokens;
  if (!isDue) return undefined;
  const minFanout = mode.kind === "background" ? policy.leafMinFanout : 1;
  for (const run of runs) {
    const chunk = pickChunk(run, { chunkTokens: policy.chunkTokens, minFanout });
    if (chunk) return chunk.map(({ item }) => item);
  }
  return undefined;
}

/** Messages that no node covers yet, in runs that a leaf may cover: they begin and end between pairs. */
export function rawRuns({ outside, elements, breaks, hopeless }: PlanState): RawMessage[][] {
  const cuts = cleanCuts(outside);
  const runs: RawMessage[][] = [];
  let run: RawMessage[] = [];
  const closeAt = (index: number): void => {
    // Of a pair that goes on behind the end nothing is taken.
    const end = cuts[index] === true ? run.length : run.findLastIndex(({ isCut }) => isCut);
    if (end > 0) runs.push(run.slice(0, end));
    run = [];
  };
  for (const { ref, depth, from, tokens } of elements) {
    const item = outside[from] as ViewItem;
    const isRaw = depth < 0 && isMessage(item) && !hopeless.has(ref);
    if (!isRaw || breaks.has(from)) closeAt(from);
    const isCut = cuts[from] === true;
    if (isRaw && (isCut || run.length > 0)) run.push({ item, least: tokens, isCut });
  }
  closeAt(outside.length);
  return runs;
}

/**
 * The next nodes to condense into one: of one depth, the finest that has enough of them. While even
 * what is prepared would not fit the threshold fewer are enough, and at last the oldest whatever their
 * depths: a view of single nodes of many depths has to give way somewhere.
 */
function nextSources(
  state: PlanState,
  policy: ViewPolicy,
  mode: Mode,
): readonly SummaryId[] | undefined {
  const { condensedMinFanout: soft, condensedMinFanoutHard: hard, incrementalMaxDepth } = policy;
  const isSweeping = mode.kind !== "background" || isSweep(state, policy);
  const fanout = isTight(state, policy) || mode.kind !== "background" ? hard : soft;
  const belowDepth = isSweeping ? Number.POSITIVE_INFINITY : incrementalMaxDepth;
  const run =
    runOf(state, policy, belowDepth, fanout) ??
    (isSweeping && isTight(state, policy) ? oldestOfAnyDepth(state, hard) : undefined);
  return run?.map(({ ref }) => ref as SummaryId);
}

function runOf(
  state: PlanState,
  policy: ViewPolicy,
  belowDepth: number,
  fanout: number,
): Element[] | undefined {
  const depths = [...new Set(state.elements.map(({ depth }) => depth))]
    .filter((depth) => depth >= 0 && depth < belowDepth)
    .toSorted((a, b) => a - b);
  for (const depth of depths) {
    const run = oldestRun(state, depth, fanout, policy);
    if (run) return run;
  }
  return undefined;
}

function oldestOfAnyDepth(
  { elements, hopeless }: PlanState,
  fanout: number,
): Element[] | undefined {
  const at = elements.findIndex((_element, index) =>
    elements
      .slice(index, index + fanout)
      .every(({ ref, depth }) => depth >= 0 && !hopeless.has(ref)),
  );
  const pair = elements.slice(at, at + fanout);
  return at >= 0 && pair.length === fanout ? pair : undefined;
}

/**
 * Beyond the threshold a sweep goes on until what lies outside the tail takes half of the room there,
 * so that it lasts. What is prepared and stubs count as done: they need no model.
 */
function isSweep(state: PlanState, policy: ViewPolicy): boolean {
  const room = Math.max(0, policy.threshold - state.tailTokens);
  return needsSpace(state, policy) && totalTokens(state.elements) > room / 2;
}

/** The oldest nodes of one depth that stand together, as many as go into one condensed node. */
function oldestRun(
  { elements, hopeless }: PlanState,
  depth: number,
  fanout: number,
  { condenseTokens, condensedMinFanout }: ViewPolicy,
): Element[] | undefined {
  const most = 2 * Math.max(fanout, condensedMinFanout);
  let run: Element[] = [];
  for (const element of elements) {
    const belongs = element.depth === depth && !hopeless.has(element.ref);
    const fits = run.length < most && totalTokens([...run, element]) <= condenseTokens;
    if (belongs && fits) {
      run.push(element);
    } else {
      if (run.length >= fanout) return run;
      run = belongs ? [element] : [];
    }
  }
  return run.length >= fanout ? run : undefined;
}
