// Rows as hits. Pure.

import type { MessageRow, SummaryRow } from "../store/search-store.js";
import type { SummaryId } from "../types.js";
import type { MessageHit, Snippet, SummaryHit } from "./types.js";

export function messageHit(
  { id, conversationId, role, createdAt }: MessageRow,
  snippet: Snippet,
  score: number,
  coveredBy: SummaryId | null,
): MessageHit {
  return { type: "message", id, conversationId, role, createdAt, snippet, score, coveredBy };
}

export function summaryHit(
  { id, conversationId, depth, kind, createdAt, earliestAt, latestAt }: SummaryRow,
  snippet: Snippet,
  score: number,
): SummaryHit {
  const range = { earliestAt, latestAt };
  return { type: "summary", id, conversationId, depth, kind, createdAt, ...range, snippet, score };
}
