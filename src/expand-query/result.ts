// What a question is answered with, whichever way the answer came. Pure.

import type { ExpansionDecision } from "../expansion-policy.js";
import type { Read } from "../store/grant-store.js";
import { checkCitations, limitAnswer, readAnswer } from "./answer.js";
import type { Material } from "./material.js";

export interface RecallAnswer {
  readonly answer: string;
  readonly citedIds: readonly string[];
  /** Cited by the model, and not among what was read. */
  readonly droppedIds: readonly string[];
  readonly expandedSummaryCount: number;
  readonly totalSourceTokens: number;
  readonly truncated: boolean;
  readonly via: "sub-agent" | "in-process" | "excerpts";
  readonly route: ExpansionDecision["route"];
  /** Why the answer came the way it did, where that was not the first choice. */
  readonly note: string | undefined;
}

export interface AnswerFrame {
  readonly route: ExpansionDecision["route"];
  readonly maxTokens: number;
  readonly note: string | undefined;
}

const MOST_CHARACTERS = 12_000;

/** From what a model replied: its citations checked against what was read. */
export function fromReply(
  reply: string,
  reads: readonly Read[],
  via: "sub-agent" | "in-process",
  frame: AnswerFrame,
): RecallAnswer {
  const read = readAnswer(reply);
  const known = new Set(reads.map(({ itemId }) => itemId));
  const { cited, dropped } = checkCitations(read.citedIds, (id) => known.has(id));
  const limited = limit(read.answer, frame);
  return {
    answer: limited.text,
    citedIds: cited,
    droppedIds: dropped,
    ...counted(reads),
    truncated: limited.isCut || read.isPartial,
    via,
    route: frame.route,
    note: frame.note,
  };
}

/** The excerpts themselves, each citing what it is. */
export function fromExcerpts({ excerpts, isCut }: Material, frame: AnswerFrame): RecallAnswer {
  const limited = limit(excerpts.map(({ text }) => text).join("\n\n"), frame);
  return {
    answer: limited.text,
    citedIds: excerpts.map(({ ref }) => ref).filter((ref) => limited.text.includes(`[${ref}]`)),
    droppedIds: [],
    ...counted(readsOf(excerpts)),
    truncated: limited.isCut || isCut,
    via: "excerpts",
    route: frame.route,
    note: frame.note,
  };
}

export function readsOf(excerpts: Material["excerpts"]): Read[] {
  return excerpts.map(({ ref, tokens }) => ({ itemId: ref, tokens }));
}

function limit(text: string, { maxTokens }: AnswerFrame) {
  return limitAnswer(text, { tokens: maxTokens, characters: MOST_CHARACTERS });
}

function counted(reads: readonly Read[]) {
  const summaries = reads.filter(({ itemId, tokens }) => tokens > 0 && itemId.startsWith("sum_"));
  return {
    expandedSummaryCount: summaries.length,
    totalSourceTokens: reads.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}
