// A full-text search over one database: looks the terms up, ranks what it found, and shows a page.

import {
  type Bounds,
  type Index,
  type Lookup,
  type PlacedMessage,
  type SearchStore,
} from "../store/search-store.js";
import { decodeMessage, isAgentMessage, plainText } from "../message-codec.js";
import { isoAt } from "../time-format.js";
import type { MessageId } from "../types.js";
import { decodeCursor, encodeCursor, FOREIGN_CURSOR, type FullTextPlace } from "./cursor.js";
import { messageHit, summaryHit } from "./hits.js";
import { parseQuery, type Query, type Term } from "./query.js";
import { ownScores, rankMessages, REACH } from "./rank.js";
import { searchTextOfBody } from "./search-text.js";
import { snippetOfWords } from "./snippet.js";
import type { Hit, SearchAnswer, SearchRequest } from "./types.js";

export interface FullTextContext {
  readonly store: SearchStore;
  readonly now: number;
  /** True when the time is up. */
  readonly isLate: () => boolean;
}

/** Of each term; together bounded, so that a search costs the same however long the history is. */
const MOST_HITS = 600;
const MOST_HITS_TOGETHER = 6_000;
/** So many of the best hits may lend their neighbors a place. */
const LENDING = 100;

/** A hit before its text is read. */
interface Found {
  readonly index: Index;
  readonly id: number;
  readonly score: number;
  readonly at: string;
}

export function searchFullText(context: FullTextContext, request: SearchRequest): SearchAnswer {
  const query = parseQuery(request.pattern, isoAt(context.now));
  if (!query) return { kind: "refused", reason: nothingToLookFor(request.pattern) };
  const place = startOf(context.store, request);
  if (!place) return { kind: "refused", reason: FOREIGN_CURSOR };
  const search = new FullTextSearch(context, request, query, place);
  return search.answer();
}

function nothingToLookFor(pattern: string): string {
  return `The pattern ${JSON.stringify(pattern.slice(0, 60))} holds no letter or digit to look for: send words or a "quoted phrase", or use mode "regex" to look for signs.`;
}

function startOf(store: SearchStore, request: SearchRequest): FullTextPlace | undefined {
  const place = decodeCursor(request);
  if (place?.kind !== "start") return place?.kind === "full_text" ? place : undefined;
  const { message, document } = store.newestIds();
  return { kind: "full_text", throughMessage: message, throughDocument: document, offset: 0 };
}

class FullTextSearch {
  readonly #store: SearchStore;
  readonly #bounds: Bounds;

  constructor(
    private readonly context: FullTextContext,
    private readonly request: SearchRequest,
    private readonly query: Query,
    private readonly place: FullTextPlace,
  ) {
    this.#store = context.store;
    this.#bounds = request;
  }

  answer(): SearchAnswer {
    const ranked = this.#ranked();
    const { offset, below } = this.place;
    const { limit } = this.request;
    const page = below ? [] : ranked.slice(offset, offset + limit);
    const isEnd = below !== undefined || offset + limit >= ranked.length;
    const rest = isEnd ? this.#rest(ranked, limit - page.length) : undefined;
    const shown = [...page, ...(rest?.found ?? [])];
    const next = rest ? rest.next : { ...this.place, offset: offset + page.length };
    const stopped = this.#stopped();
    return {
      kind: "found",
      hits: this.#show(shown),
      ...(next ? { cursor: encodeCursor(this.request, next) } : {}),
      ...(stopped === undefined ? {} : { stopped }),
    };
  }

  #stopped(): string | undefined {
    if (this.context.isLate()) {
      return "The time of one search was over before every word was looked up: ask with fewer or rarer words.";
    }
    const waiting = this.#store.backlog();
    return waiting > 0
      ? `${waiting} older messages and summaries are not indexed yet; the background does it while the gateway runs. Mode "regex" reaches them now.`
      : undefined;
  }

  #ranked(): Found[] {
    const found = [...this.#rankedMessages(), ...this.#rankedSummaries()];
    return found.sort(this.request.sort === "recency" ? byTime : byScore);
  }

  #rankedMessages(): Found[] {
    if (this.request.scope === "summaries") return [];
    const terms = this.#lookUpAll("messages") as Map<MessageId, number>[];
    const own = ownScores(terms);
    const places = this.#store.places([...own.keys()]);
    const near = this.query.isSentence ? this.#near(places, own) : [];
    const { asking, silent } = this.#manner(near);
    const all = [
      ...places,
      ...near.filter((place) => !own.has(place.id) && this.#mayAnswer(place)),
    ];
    const times = new Map(all.map(({ id, createdAt }) => [id, createdAt]));
    const { speaker, isSentence } = this.query;
    const mayBeShown = (id: MessageId): boolean =>
      own.has(id) || !(asking.has(id) || silent.has(id));
    return rankMessages({ terms, places: all, asking, speaker, isSentence })
      .filter(({ id }) => mayBeShown(id))
      .map(({ id, score }) => ({ index: "messages", id, score, at: times.get(id) ?? "" }));
  }

  /** What stands near the best hits, themselves among it. */
  #near(places: readonly PlacedMessage[], own: ReadonlyMap<MessageId, number>): PlacedMessage[] {
    const best = new Set(bestOf(own));
    return this.#store.around(
      places.filter(({ id }) => best.has(id)),
      REACH,
    );
  }

  /** True for what was said in the asked time, though it holds none of the words. */
  #mayAnswer({ id, role, createdAt }: PlacedMessage): boolean {
    const { since, before } = this.#bounds;
    return (
      (since === undefined || createdAt >= since) &&
      (before === undefined || createdAt < before) &&
      id <= this.place.throughMessage &&
      role !== "toolResult"
    );
  }

  /** Which messages ask something, and which say nothing to anybody: neither answers by itself. */
  #manner(near: readonly PlacedMessage[]): { asking: Set<MessageId>; silent: Set<MessageId> } {
    const said = new Set(near.filter(({ role }) => role !== "toolResult").map(({ id }) => id));
    const rows = this.#store
      .messages([...said])
      .map(({ id, body }) => ({ id, text: saidIn(body) }));
    const idsOf = (test: (text: string) => boolean): Set<MessageId> =>
      new Set(rows.filter(({ text }) => test(text)).map(({ id }) => id));
    return { asking: idsOf(asks), silent: idsOf((text) => text.trim() === "") };
  }

  #rankedSummaries(): Found[] {
    if (this.request.scope === "messages") return [];
    const own = ownScores(this.#lookUpAll("summaries") as Map<MessageId, number>[]);
    const rows = this.#store.summaries([...own.keys()]);
    return rows.map(({ documentId, latestAt }) => ({
      index: "summaries",
      id: documentId,
      score: own.get(documentId as MessageId) ?? 0,
      at: latestAt,
    }));
  }

  #lookUpAll(index: Index): Map<number, number>[] {
    const { required, terms } = this.query;
    const all = required.map(({ match }) => match);
    const asked = required.length > 0 ? [undefined, ...terms] : terms;
    const limit = Math.min(MOST_HITS, Math.ceil(MOST_HITS_TOGETHER / asked.length));
    const rows = this.#store.indexedRows(index);
    const found: Map<number, number>[] = [];
    for (const term of asked) {
      if (this.context.isLate()) break;
      const match = [...all, ...(term ? [term.match] : [])]
        .map((part) => `(${part})`)
        .join(" AND ");
      found.push(this.#lookUpOne(index, match, limit, rows));
    }
    return found;
  }

  /** Scores of one term, on a scale on which a word found everywhere still counts a little. */
  #lookUpOne(index: Index, match: string, limit: number, rows: number): Map<number, number> {
    const order = this.request.sort === "recency" && !this.query.isSentence ? "newest" : "best";
    const hits = this.#store.lookUp(this.#lookup(index, match, order, limit), this.#bounds);
    const matching = hits.length < limit ? hits.length : this.#store.matchingRows(index, match);
    const factor = smoothWeight(rows, matching) / givenWeight(rows, matching);
    return new Map(hits.map(({ id, rank }) => [id, Math.max(-rank, Number.MIN_VALUE) * factor]));
  }

  #lookup(index: Index, match: string, order: Lookup["order"], limit: number): Lookup {
    const { throughMessage, throughDocument } = this.place;
    const through = index === "messages" ? throughMessage : throughDocument;
    return { index, match, order, limit, through };
  }

  /** Matches that were not good enough to be ranked, the newest first. */
  #rest(
    ranked: readonly Found[],
    count: number,
  ): { found: Found[]; next: FullTextPlace | undefined } {
    const { throughMessage, throughDocument } = this.place;
    const below = {
      message: throughMessage + 1,
      document: throughDocument + 1,
      ...this.place.below,
    };
    const found: Found[] = [];
    for (const index of ["messages", "summaries"] as const) {
      const key = index === "messages" ? "message" : "document";
      const known = new Set(ranked.filter((hit) => hit.index === index).map(({ id }) => id));
      if (!this.#covers(index) || this.context.isLate()) continue;
      const wanted = count - found.length;
      const limit = wanted + known.size + 1;
      const lookup = this.#lookup(index, this.#anyMatch(), "newest", limit);
      const hits = this.#store
        .lookUp({ ...lookup, through: below[key] - 1 }, this.#bounds)
        .filter(({ id }) => !known.has(id));
      const shown = hits.slice(0, wanted);
      below[key] = hits.length > wanted ? (shown.at(-1)?.id ?? below[key]) : 0;
      found.push(...shown.map(({ id }): Found => ({ index, id, score: 0, at: "" })));
    }
    const isOver = (["messages", "summaries"] as const).every(
      (index) => !this.#covers(index) || below[index === "messages" ? "message" : "document"] === 0,
    );
    return { found, next: isOver ? undefined : { ...this.place, offset: ranked.length, below } };
  }

  #covers(index: Index): boolean {
    return this.request.scope === "both" || this.request.scope === index;
  }

  #anyMatch(): string {
    const { required, terms } = this.query;
    const parts = (list: readonly Term[], by: string): string =>
      list.map(({ match }) => `(${match})`).join(by);
    return required.length > 0 ? parts(required, " AND ") : parts(terms, " OR ");
  }

  #show(found: readonly Found[]): Hit[] {
    const words = [...this.query.required, ...this.query.terms].flatMap((term) => term.words);
    const idsOf = (index: Index): number[] =>
      found.filter((hit) => hit.index === index).map(({ id }) => id);
    const messageIds = idsOf("messages") as MessageId[];
    const covers = this.#store.covers(messageIds);
    const messages = new Map(
      this.#store.messages(messageIds).map((row) => [row.id as number, row]),
    );
    const summaries = new Map(
      this.#store.summaries(idsOf("summaries")).map((row) => [row.documentId, row]),
    );
    return found.flatMap(({ index, id, score }): Hit[] => {
      if (index === "summaries") {
        const row = summaries.get(id);
        return row ? [summaryHit(row, snippetOfWords(row.content, words), score)] : [];
      }
      const row = messages.get(id);
      if (!row) return [];
      const snippet = snippetOfWords(searchTextOfBody(row.body), words);
      return [messageHit(row, snippet, score, covers.get(row.id) ?? null)];
    });
  }
}

function bestOf(own: ReadonlyMap<MessageId, number>): MessageId[] {
  return [...own]
    .sort((one, other) => other[1] - one[1] || other[0] - one[0])
    .slice(0, LENDING)
    .map(([id]) => id);
}

/** A row may hold anything that a transcript held. */
function saidIn(body: string): string {
  const message: unknown = decodeMessage(body);
  return isAgentMessage(message) ? plainText(message) : "";
}

function asks(text: string): boolean {
  return /[?？]["')\]*_\s]*$/.test(text.slice(-80));
}

function byScore(one: Found, other: Found): number {
  return other.score - one.score || byTime(one, other);
}

function byTime(one: Found, other: Found): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1;
  return other.id - one.id || (one.index === "summaries" ? -1 : 1);
}

/** What FTS5 takes a word to be worth, which is next to nothing once half of the rows have it. */
function givenWeight(rows: number, matching: number): number {
  return Math.max(Math.log((rows - matching + 0.5) / (matching + 0.5)), 1e-6);
}

function smoothWeight(rows: number, matching: number): number {
  return Math.log(1 + Math.max(rows - matching + 0.5, 0.5) / (matching + 0.5));
}
