// From what a model replied to the answer that is given: read leniently, its citations checked, its
// length enforced. Pure.

import { parseItemId } from "../retrieval/item-id.js";
import { estimateTokens } from "../tokens.js";

export interface ReadAnswer {
  readonly answer: string;
  readonly citedIds: readonly string[];
  /** The model itself says that it left something out. */
  readonly isPartial: boolean;
}

/** JSON as asked for, in a fence or between other words; else the whole reply with the ids in it. */
export function readAnswer(reply: string): ReadAnswer {
  for (const candidate of jsonCandidates(reply)) {
    const parsed = parseObject(candidate);
    const answer = parsed?.["answer"];
    if (typeof answer === "string" && answer.trim() !== "") {
      return {
        answer: answer.trim(),
        citedIds: idsIn(parsed?.["citedIds"]),
        isPartial: parsed?.["truncated"] === true,
      };
    }
  }
  const text = reply.trim();
  return {
    answer: text,
    citedIds: idsIn(text.match(/\b(?:sum|msg|file)_[a-z0-9]+/gi)),
    isPartial: false,
  };
}

function jsonCandidates(reply: string): string[] {
  const fences = [...reply.matchAll(/```(?:json)?\s*\n?([\s\S]*?)```/gi)].map(
    (match) => match[1] ?? "",
  );
  const from = reply.indexOf("{");
  const to = reply.lastIndexOf("}");
  return [reply, ...fences, from >= 0 && to > from ? reply.slice(from, to + 1) : ""];
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function idsIn(value: unknown): string[] {
  const written = Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  const ids = written.map((one) => parseItemId(one)?.text).filter((id) => id !== undefined);
  return [...new Set(ids)];
}

export interface CheckedCitations {
  readonly cited: readonly string[];
  readonly dropped: readonly string[];
}

/** Only what was really read may be cited. */
export function checkCitations(
  ids: readonly string[],
  wasRead: (id: string) => boolean,
): CheckedCitations {
  return { cited: ids.filter(wasRead), dropped: ids.filter((id) => !wasRead(id)) };
}

/** At most so many tokens, and never more than one page. */
export function limitAnswer(
  text: string,
  limit: { readonly tokens: number; readonly characters: number },
): { readonly text: string; readonly isCut: boolean } {
  let kept = text.slice(0, limit.characters);
  while (kept !== "" && estimateTokens(kept) > limit.tokens) {
    // Too long by this much on the average; a little more, so that it ends.
    const share = limit.tokens / estimateTokens(kept);
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor(kept.length * share)));
  }
  return { text: kept.toWellFormed().trimEnd(), isCut: kept.length < text.length };
}
