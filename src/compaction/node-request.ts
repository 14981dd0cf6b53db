// What a summarizer is asked for when a step of a plan is carried out: the sources as text, how long
// the answer should be, and everything about the node that does not depend on its words.

import { messageRef } from "../assembler/forms.js";
import type { SummaryStyle } from "../assembler/render-summary.js";
import type { LcmConfig } from "../db/config.js";
import type { Stores } from "../store/index.js";
import type { SourceMessage } from "../store/message-store.js";
import type { NewSummary, Sources, Summary } from "../store/summary-store.js";
import type { SummaryTask, Targets } from "../summarize/index.js";
import { bothEnds, messagePieces, summaryPieces } from "../summarize/source-text.js";
import { estimateTokens } from "../tokens.js";
import type { ConversationId, MessageId, SummaryId } from "../types.js";
import type { ViewPolicy } from "../view-policy.js";

export interface NodeContext {
  readonly stores: Stores;
  readonly config: LcmConfig;
  readonly policy: ViewPolicy;
  readonly style: SummaryStyle;
  /** What the operator asks of this run, beside the configured instructions. */
  readonly instructions?: string | undefined;
}

export interface NodeRequest {
  readonly sources: Sources;
  readonly task: SummaryTask;
  readonly facts: NodeFacts;
}

export type NodeFacts = Omit<
  NewSummary,
  "content" | "tokens" | "level" | "model" | "promptVersion"
>;

/** The place of a node that is to be made. */
export interface NodePlace {
  readonly conversationId: ConversationId;
  /** What the sources cost in the view. */
  readonly shownTokens: number;
  /** The summaries that the model will have seen just before, oldest first. */
  readonly before: readonly string[];
}

/** The share of its sources that a summary aims for at the most. */
const SHARE = {
  leaf: { normal: 0.35, aggressive: 0.2 },
  condensed: { normal: 0.5, aggressive: 0.3 },
};
/** A summary aims for no more than this part of the budget: many of them have to fit beside the tail. */
const BUDGET_SHARE = { leaf: 1 / 16, condensed: 1 / 20 };
/** How much shorter than the configured length the tighter prompt aims for. */
const AGGRESSIVE_LENGTH = 0.55;
const LEAST_TARGET = 64;
/** Long texts are quoted in part when the messages of a leaf are together this many times its chunk. */
const SOURCE_CHUNKS = 1.5;
const PREVIOUS_TOKENS = 1_500;
/** What the wrapper of a summary costs, about, and what each source costs that it names. */
const WRAPPER_TOKENS = 75;
const SOURCE_TOKENS = 22;

export function leafRequest(
  context: NodeContext,
  place: NodePlace,
  ids: readonly MessageId[],
): NodeRequest {
  const { stores, policy, style } = context;
  const messages = stores.messages.sources(ids);
  const pieces = messagePieces(messages, style.time, policy.chunkTokens * SOURCE_CHUNKS);
  const times = messages.map(({ createdAt }) => createdAt).toSorted();
  const [first, last] = [ids[0] as MessageId, ids.at(-1) as MessageId];
  return {
    sources: { kind: "leaf", messages: ids },
    ...complete(context, place, {
      depth: 0,
      pieces,
      covers: first === last ? messageRef(first) : `${messageRef(first)} to ${messageRef(last)}`,
      earliestAt: times[0] as string,
      latestAt: times.at(-1) as string,
      descendantCount: 0,
      messageCount: ids.length,
      firstMessageId: first,
      lastMessageId: last,
      fileIds: fileIdsOf(messages),
      sourceTokens: pieces.reduce((sum, { text }) => sum + estimateTokens(text), 0),
      wrapperTokens: WRAPPER_TOKENS,
    }),
  };
}

export function condensedRequest(
  context: NodeContext,
  place: NodePlace,
  ids: readonly SummaryId[],
): NodeRequest {
  const { stores, style } = context;
  const summaries = stores.summaries.many(ids);
  const [first, last] = [summaries[0] as Summary, summaries.at(-1) as Summary];
  const sum = (count: (summary: Summary) => number): number =>
    summaries.reduce((total, summary) => total + count(summary), 0);
  return {
    sources: { kind: "condensed", summaries: ids },
    ...complete(context, place, {
      depth: Math.max(...summaries.map(({ depth }) => depth)) + 1,
      pieces: summaryPieces(summaries, style.time),
      covers: ids.join(", "),
      earliestAt: summaries.map(({ earliestAt }) => earliestAt).toSorted()[0] as string,
      latestAt: summaries
        .map(({ latestAt }) => latestAt)
        .toSorted()
        .at(-1) as string,
      descendantCount: sum(({ descendantCount }) => descendantCount + 1),
      messageCount: sum(({ messageCount }) => messageCount),
      firstMessageId: first.firstMessageId,
      lastMessageId: last.lastMessageId,
      fileIds: [...new Set(summaries.flatMap(({ fileIds }) => fileIds))],
      sourceTokens: sum(({ tokens }) => tokens),
      wrapperTokens: WRAPPER_TOKENS + ids.length * SOURCE_TOKENS,
    }),
  };
}

interface SourceFacts extends Omit<NodeFacts, "conversationId" | "previousContext"> {
  readonly pieces: SummaryTask["pieces"];
  readonly covers: string;
  readonly wrapperTokens: number;
}

function complete(
  { config, policy, style, instructions }: NodeContext,
  { conversationId, shownTokens, before }: NodePlace,
  { pieces, covers, wrapperTokens, ...facts }: SourceFacts,
): Omit<NodeRequest, "sources"> {
  const { depth, earliestAt, latestAt, sourceTokens } = facts;
  // Higher nodes stand for themselves; only leaves and the level above them go on from what was said.
  const previous = depth > 1 ? "" : bothEnds(before.join("\n\n"), PREVIOUS_TOKENS);
  const asked = [config.customInstructions, instructions ?? ""].join("\n").trim();
  return {
    task: {
      depth,
      pieces,
      covers,
      timeRange: style.time.range(earliestAt, latestAt),
      previousContext: previous === "" ? undefined : previous,
      instructions: asked === "" ? undefined : asked,
      targets: targetsFor(config, policy, depth, Math.min(sourceTokens, shownTokens)),
      below: Math.max(1, shownTokens - wrapperTokens),
    },
    facts: { conversationId, previousContext: previous === "" ? null : previous, ...facts },
  };
}

function targetsFor(
  config: LcmConfig,
  { base }: ViewPolicy,
  depth: number,
  sourceTokens: number,
): Targets {
  const kind = depth === 0 ? "leaf" : "condensed";
  const wanted = config[`${kind}TargetTokens`];
  const length = Math.min(wanted, Math.floor(base * BUDGET_SHARE[kind]));
  const share = SHARE[kind];
  const target = (most: number, part: number): number =>
    Math.max(Math.min(LEAST_TARGET, most), Math.min(most, Math.floor(part * sourceTokens)));
  return {
    normal: target(length, share.normal),
    aggressive: target(Math.ceil(length * AGGRESSIVE_LENGTH), share.aggressive),
  };
}

const FILE_ID = /\bfile_[0-9a-f]{16}\b/gi;

/** Stored files that the messages name; their ids travel up the graph. */
function fileIdsOf(messages: readonly SourceMessage[]): string[] {
  const texts = messages.map(({ message }) => JSON.stringify(message["content"] ?? ""));
  const found = texts.flatMap((text) => text.match(FILE_ID) ?? []);
  return [...new Set(found.map((id) => id.toLowerCase()))];
}
