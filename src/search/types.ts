// What can be asked of a search over stored text, and what it answers. Who may see what was decided
// before: a request names the conversations it may look at.

import type { ConversationId, MessageId, SummaryId } from "../types.js";

export type SearchMode = "full_text" | "regex";
export type SearchScope = "messages" | "summaries" | "both";
export type SearchSort = "relevance" | "recency";

export interface SearchRequest {
  readonly pattern: string;
  readonly mode: SearchMode;
  readonly scope: SearchScope;
  /** Ids that the caller may see; none finds nothing. */
  readonly conversations: readonly ConversationId[];
  /** Bounds of the time of a message, or of the range of a summary, as stored (UTC ISO-8601). */
  readonly since?: string | undefined;
  readonly before?: string | undefined;
  /** Hits on one page. */
  readonly limit: number;
  readonly sort: SearchSort;
  /** Where the page before this one ended. */
  readonly cursor?: string | undefined;
}

/** The text around a match, on one line, with the places of what matched in it. */
export interface Snippet {
  readonly text: string;
  readonly marks: readonly (readonly [from: number, to: number])[];
}

interface HitBase {
  readonly conversationId: ConversationId;
  readonly createdAt: string;
  readonly snippet: Snippet;
  /** Higher is better; for regular expressions all are alike. */
  readonly score: number;
}

export interface MessageHit extends HitBase {
  readonly type: "message";
  readonly id: MessageId;
  readonly role: string;
  /** The summary under which the model sees it: in the view where there is one, else the leaf. */
  readonly coveredBy: SummaryId | null;
}

export interface SummaryHit extends HitBase {
  readonly type: "summary";
  readonly id: SummaryId;
  readonly depth: number;
  readonly kind: "leaf" | "condensed";
  readonly earliestAt: string;
  readonly latestAt: string;
}

export type Hit = MessageHit | SummaryHit;

export type SearchAnswer =
  | {
      readonly kind: "found";
      readonly hits: readonly Hit[];
      /** How to go on; absent when everything was looked at and shown. */
      readonly cursor?: string | undefined;
      /** Why not everything was looked at, as a sentence; absent when it was. */
      readonly stopped?: string | undefined;
    }
  /** The pattern, or a cursor, can not be used; a sentence says why and what to send instead. */
  | { readonly kind: "refused"; readonly reason: string };

/** Runs off the main thread, each search under a deadline of two seconds. */
export interface Search {
  run(request: SearchRequest, signal?: AbortSignal): Promise<SearchAnswer>;
  /** Ends the thread, if there is one; the next search starts it again. */
  close(): Promise<void>;
}
