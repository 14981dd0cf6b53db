// What a question is answered with, whichever way the answer came. Pure.

import type { ExpansionDecision } from "../expansion-policy.js";
import type { Reading } from "../store/grant-store.js";
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
  reading: Reading,
  via: "sub-agent" | "in-process",
  frame: AnswerFrame,
): RecallAnswer {
  const read = readAnswer(reply);
  const known = new Set(reading.reads.map(({ itemId }) => itemId));
  const { cited, dropped } = checkCitations(read.citedIds, (id) => known.has(id));
  const limited = limit(read.answer, frame);
  return {
    answer: limited.text,
    citedIds: cited,
    droppedIds: dropped,
    ...counted(reading),
    truncated: limited.isCut || read.isPartial,
    via,
    route: frame.route,
    note: frame.note,
  };
}

/** The excerpts themselves, each citing what it is. */
export function fromExcerpts(material: Material, frame: AnswerFrame): RecallAnswer {
  const { excerpts, isCut } = material;
  const limited = limit(excerpts.map(({ text }) => text).join("\n\n"), frame);
  return {
    answer: limited.text,
    citedIds: excerpts.map(({ ref }) => ref).filter((ref) => limited.text.includes(`[${ref}]`)),
    droppedIds: [],
    ...counted(readingOf(material)),
    truncated: limited.isCut || isCut,
    via: "excerpts",
    route: frame.route,
    note: frame.note,
  };
}

export function readingOf({ excerpts, tokens }: Material): Reading {
  return { reads: excerpts.map((one) => ({ itemId: one.ref, tokens: one.tokens })), tokens };
}

function limit(text: string, { maxTokens }: AnswerFrame) {
  return limitAnswer(text, { tokens: maxTokens, characters: MOST_CHARACTERS });
}

function counted({ reads, tokens: totalSourceTokens }: Reading) {
  const summaries = reads.filter(({ itemId, tokens }) => tokens > 0 && itemId.startsWith("sum_"));
  return { expandedSummaryCount: summaries.length, totalSourceTokens };
}
