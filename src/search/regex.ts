// A search by regular expression over one database: newest first, under a deadline, with every hit given
// out as soon as it is found and the place always known at which to go on.

import type { Bounds, MessageRow, SearchStore, SummaryRow, Window } from "../store/search-store.js";
import { decodeCursor, encodeCursor, FOREIGN_CURSOR, type RegexPlace } from "./cursor.js";
import { messageHit, summaryHit } from "./hits.js";
import { asStored, compilePattern, type Pattern } from "./regex-pattern.js";
import { searchTextOfBody } from "./search-text.js";
import { snippetOfMatch } from "./snippet.js";
import { TIME_UP } from "./thread-protocol.js";
import type { Hit, SearchAnswer, SearchRequest } from "./types.js";

export interface RegexContext {
  readonly store: SearchStore;
  /** True when the time is up. */
  readonly isLate: () => boolean;
  /**
   * Hears where to go on if nothing more were heard, and what is being looked at: a message's id, the
   * negative of a summary's document, or 0.
   */
  readonly onPlace: (place: RegexPlace, examined: number) => void;
  readonly onHit: (hit: Hit) => void;
}

/** Ids that one statement looks at: it can not be broken off. */
const WINDOW = 2_000;

/** The hits of a found answer are given out one by one, not with it. */
export function searchRegex(context: RegexContext, request: SearchRequest): SearchAnswer {
  const compiled = compilePattern(request.pattern);
  if (compiled.kind === "refused") return compiled;
  const place = startOf(context.store, request);
  if (!place) return { kind: "refused", reason: FOREIGN_CURSOR };
  return scan(context, request, compiled.pattern, place);
}

function startOf(store: SearchStore, request: SearchRequest): RegexPlace | undefined {
  const place = decodeCursor(request);
  if (place?.kind !== "start") return place?.kind === "regex" ? place : undefined;
  const { message, document } = store.newestIds();
  return {
    kind: "regex",
    belowMessage: request.scope === "summaries" ? 0 : message + 1,
    belowDocument: request.scope === "messages" ? 0 : document + 1,
  };
}

function scan(
  { store, isLate, onPlace, onHit }: RegexContext,
  request: SearchRequest,
  pattern: Pattern,
  start: RegexPlace,
): SearchAnswer {
  let { belowMessage, belowDocument } = start;
  let left = request.limit;
  for (const { place, read } of newestFirst(store, request, pattern, start)) {
    const before: RegexPlace = { kind: "regex", belowMessage, belowDocument };
    belowMessage = place.belowMessage ?? belowMessage;
    belowDocument = place.belowDocument ?? belowDocument;
    const after: RegexPlace = { kind: "regex", belowMessage, belowDocument };
    onPlace(after, examined(read));
    const found = read && matchIn(store, pattern, read);
    if (found && left === 0) {
      return { kind: "found", hits: [], cursor: encodeCursor(request, before) };
    }
    if (found) onHit(found);
    if (found) left -= 1;
    onPlace(after, 0);
    if (isLate()) return stoppedAt(request, after);
  }
  return { kind: "found", hits: [] };
}

function examined(read: Row | undefined): number {
  if (!read) return 0;
  return read.type === "message" ? read.row.id : -read.row.documentId;
}

function stoppedAt(request: SearchRequest, place: RegexPlace): SearchAnswer {
  return {
    kind: "found",
    hits: [],
    cursor: encodeCursor(request, place),
    stopped: TIME_UP,
  };
}

type Row =
  | { readonly type: "message"; readonly row: MessageRow }
  | { readonly type: "summary"; readonly row: SummaryRow };

/** A step through the history: a row to read, or only a stretch in which nothing can match. */
interface Candidate {
  readonly place: Partial<RegexPlace>;
  readonly read?: Row;
}

function matchIn(store: SearchStore, pattern: Pattern, read: Row): Hit | undefined {
  const text = read.type === "message" ? searchTextOfBody(read.row.body) : read.row.content;
  const match = pattern.find(text);
  if (!match) return undefined;
  const snippet = snippetOfMatch(text, ...match);
  if (read.type === "summary") return summaryHit(read.row, snippet, 1);
  return messageHit(read.row, snippet, 1, store.covers([read.row.id]).get(read.row.id) ?? null);
}

function* newestFirst(
  store: SearchStore,
  bounds: Bounds,
  pattern: Pattern,
  start: RegexPlace,
): Generator<Candidate, void> {
  const messages = messageCandidates(store, bounds, pattern, start.belowMessage);
  const summaries = summaryCandidates(store, bounds, pattern, start.belowDocument);
  try {
    let message = messages.next();
    let summary = summaries.next();
    while (!message.done || !summary.done) {
      if (!message.done && (summary.done || timeOf(message.value) >= timeOf(summary.value))) {
        yield message.value;
        message = messages.next();
      } else if (!summary.done) {
        yield summary.value;
        summary = summaries.next();
      }
    }
  } finally {
    messages.return();
    summaries.return();
  }
}

/** A stretch without rows waits for nothing. */
function timeOf({ read }: Candidate): string {
  return read?.row.createdAt ?? "9999";
}

function* messageCandidates(
  store: SearchStore,
  bounds: Bounds,
  pattern: Pattern,
  belowMessage: number,
): Generator<Candidate, void> {
  for (const window of windows(belowMessage, pattern, asStored)) {
    for (const row of store.scanMessages(window, bounds)) {
      yield { place: { belowMessage: row.id }, read: { type: "message", row } };
    }
    yield { place: { belowMessage: window.from } };
  }
}

function* summaryCandidates(
  store: SearchStore,
  bounds: Bounds,
  pattern: Pattern,
  belowDocument: number,
): Generator<Candidate, void> {
  for (const window of windows(belowDocument, pattern, (literal) => literal)) {
    for (const row of store.scanSummaries(window, bounds)) {
      yield { place: { belowDocument: row.documentId }, read: { type: "summary", row } };
    }
    yield { place: { belowDocument: window.from } };
  }
}

function* windows(
  below: number,
  { required, ignoresCase }: Pattern,
  stored: (literal: string) => string,
): Generator<Window, void> {
  const literals = required.map(stored);
  for (let end = below; end > 1; end -= WINDOW) {
    yield { from: Math.max(end - WINDOW, 0), below: end, literals, ignoresCase };
  }
}
