// lcm_grep: finds messages and summaries by words or by a pattern.

import { Type } from "@sinclair/typebox";
import { messageRef } from "../assembler/forms.js";
import { retryWhileBusy } from "../db/connection.js";
import { COUNTING_BUSY_MS, notGiven } from "../expansion-auth.js";
import type { Hit, SearchAnswer, SearchRequest } from "../search/types.js";
import { type TimeFormat, timeFormat } from "../time-format.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import { SCOPE_PARAMETERS, scopeRequest } from "./lcm-conversation-scope.js";
import { answer, guarded, oneOf, type Tool, type ToolResult } from "./common.js";
import { InputError, shown } from "../errors.js";
import { Params } from "./input.js";
import { matchRow, renderHits } from "./grep-text.js";
import { allowanceFor, type OpenScope, openScope, type RecallCaller } from "../open-scope.js";

const MODES = ["regex", "full_text"] as const;
const SCOPES = ["messages", "summaries", "both"] as const;
const SORTS = ["relevance", "recency"] as const;
const MOST_HITS = 200;
const DEFAULT_HITS = 50;

const parameters = Type.Object({
  pattern: Type.String({
    description:
      "What to look for: a regular expression, or with mode full_text words or a whole question.",
  }),
  mode: oneOf(
    MODES,
    "regex",
    'regex matches exact text and code. full_text ranks by words with their stems: send a question as a sentence, a "phrase" in quotes, or prefix*.',
  ),
  scope: oneOf(SCOPES, "both", "Look into original messages, into summaries, or both."),
  ...SCOPE_PARAMETERS,
  since: Type.Optional(
    Type.String({ description: "Nothing older than this ISO time, e.g. 2026-02-19T00:00:00Z." }),
  ),
  before: Type.Optional(Type.String({ description: "Only what is older than this ISO time." })),
  limit: Type.Optional(
    Type.Number({ description: "Most matches to return, 1 to 200.", default: DEFAULT_HITS }),
  ),
  sort: Type.Optional(
    Type.Unsafe<(typeof SORTS)[number]>({
      type: "string",
      enum: SORTS,
      description: "relevance (default with full_text) or recency (default with regex).",
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: "From the end of the page before, to go on; send the rest unchanged.",
    }),
  ),
});

const DESCRIPTION = `Search everything that was said in this conversation, also what is no longer in your context: original messages and the summaries over them. Start here whenever you need something from earlier: exact words, commands, paths, numbers, decisions.
Use mode full_text for a question or for words, regex (default) for exact text. Each match comes with its id and with the summary that covers it.
Then: lcm_describe(id) shows one message or summary whole (cheap); lcm_expand_query(prompt, query or summaryIds) answers a question from the originals beneath summaries.`;

export function grepTool(deps: RecallDependencies, caller: RecallCaller): Tool {
  return {
    name: "lcm_grep",
    label: "LCM Grep",
    description: DESCRIPTION,
    parameters,
    execute: (_callId, raw, signal) =>
      guarded(
        deps,
        "lcm_grep",
        () => grep(deps, caller, new Params(raw, "lcm_grep"), signal),
        signal,
      ),
  };
}

/** Where a page begins: behind so many hits of a page of the search. */
interface Place {
  readonly skip: number;
  readonly cursor: string | undefined;
}

async function grep(
  deps: RecallDependencies,
  caller: RecallCaller,
  params: Params,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const time = timeFormat(deps.config().timezone);
  const place = readPlace(params.text("cursor"));
  const asked = readRequest(params, time);
  const scope = openScope(deps, caller, scopeRequest(params));
  if (scope.conversations.length === 0) return answer(nothingStored(scope), { matches: [] });
  const request = { ...asked, conversations: scope.conversations, cursor: place.cursor };
  const found = await deps.search.run(request, signal);
  if (found.kind === "refused") throw new InputError(found.reason);
  // What may be read can have become less while the search ran.
  const tell = () =>
    tellMatches(deps, openScope(deps, caller, scopeRequest(params)), {
      request,
      found,
      place,
      time,
    });
  return retryWhileBusy(tell, COUNTING_BUSY_MS);
}

type FoundHits = Extract<SearchAnswer, { kind: "found" }>;

interface Searched {
  readonly request: SearchRequest;
  readonly found: FoundHits;
  readonly place: Place;
  readonly time: TimeFormat;
}

function tellMatches(
  deps: RecallDependencies,
  scope: OpenScope,
  { request, found, place, time }: Searched,
): ToolResult {
  const hits = visibleHits(found.hits, scope).slice(place.skip);
  if (hits.length === 0)
    return answer(nothingFound(request, scope, found, place), noMatches(found));
  const page = renderHits({ hits, summaries: coveringSummaries(hits, scope), time });
  const next = nextPlace(place, page.count, hits.length, found.cursor);
  const shownHits = hits.slice(0, page.count);
  noteReads(deps, scope, shownHits);
  const text = [
    headline(request, scope, page.count),
    page.text,
    ...(found.stopped === undefined ? [] : [found.stopped]),
    nextStep(next),
  ].join("\n\n");
  return answer(text, {
    matches: shownHits.map(matchRow),
    ...(next === undefined ? {} : { cursor: next }),
    ...(found.stopped === undefined ? {} : { stopped: found.stopped }),
  });
}

function readRequest(params: Params, time: TimeFormat): Omit<SearchRequest, "conversations"> {
  const pattern = params.requiredText(
    "pattern",
    'pattern: "deployment" or pattern: "config\\\\.\\\\w+"',
  );
  const mode = params.choice("mode", MODES, "regex");
  const since = params.time("since", time);
  const before = params.time("before", time);
  if (since !== undefined && before !== undefined && since >= before) {
    throw new InputError(
      `since (${since}) must be earlier than before (${before}); swap them or leave one out.`,
    );
  }
  return {
    pattern,
    mode,
    scope: params.choice("scope", SCOPES, "both"),
    since,
    before,
    limit: params.count("limit", { least: 1, most: MOST_HITS }) ?? DEFAULT_HITS,
    sort: params.choice("sort", SORTS, mode === "full_text" ? "relevance" : "recency"),
  };
}

function readPlace(cursor: string | undefined): Place {
  if (cursor === undefined) return { skip: 0, cursor: undefined };
  const match = /^(\d{1,3})~(.*)$/s.exec(cursor.trim());
  if (!match) {
    throw new InputError(
      `cursor is ${shown(cursor)}, which no page ended with; copy it whole from the end of the page before, or leave it out to begin again.`,
    );
  }
  return { skip: Number(match[1]), cursor: match[2] === "" ? undefined : match[2] };
}

function nextPlace(
  { skip, cursor }: Place,
  count: number,
  hits: number,
  searchCursor: string | undefined,
): string | undefined {
  if (count < hits) return `${skip + count}~${cursor ?? ""}`;
  return searchCursor === undefined ? undefined : `0~${searchCursor}`;
}

/** Whatever a search answers, nothing leaves the scope. */
function visibleHits(hits: readonly Hit[], scope: OpenScope): Hit[] {
  const inScope = hits.filter(({ conversationId }) => scope.visible.has(conversationId));
  const covering = new Set(coveringSummaries(inScope, scope).map(({ id }) => id));
  return inScope.map((hit) =>
    hit.type === "message" && hit.coveredBy !== null && !covering.has(hit.coveredBy)
      ? { ...hit, coveredBy: null }
      : hit,
  );
}

function coveringSummaries(hits: readonly Hit[], { stores, visible }: OpenScope) {
  const ids = hits.flatMap((hit) =>
    hit.type === "message" && hit.coveredBy !== null ? [hit.coveredBy] : [],
  );
  return stores.summaries
    .many([...new Set(ids)])
    .filter(({ conversationId }) => visible.has(conversationId));
}

function noteReads(deps: RecallDependencies, scope: OpenScope, hits: readonly Hit[]): void {
  for (const [conversation, own] of Map.groupBy(hits, ({ conversationId }) => conversationId)) {
    const allowance = allowanceFor(scope, conversation, deps.now);
    const reads = own.map((hit) => ({
      itemId: hit.type === "message" ? messageRef(hit.id) : hit.id,
      tokens: 0,
    }));
    if (allowance && !allowance.take(reads)) throw new InputError(notGiven(allowance));
  }
}

function headline(
  request: Pick<SearchRequest, "pattern" | "mode" | "scope">,
  scope: OpenScope,
  count: number,
): string {
  return `${count} match${count === 1 ? "" : "es"} on this page for ${shown(request.pattern)}, ${searched(request, scope)}. What matched stands between ⟦ and ⟧.`;
}

const LOOKED_INTO = {
  messages: "messages",
  summaries: "summaries",
  both: "messages and summaries",
} as const;

function searched(
  { mode, scope }: Pick<SearchRequest, "mode" | "scope">,
  { label }: OpenScope,
): string {
  return `${mode} over ${LOOKED_INTO[scope]} of ${label}`;
}

function nextStep(cursor: string | undefined): string {
  const more = cursor === undefined ? "" : `More: send the same call with cursor: "${cursor}".\n`;
  return `${more}lcm_describe(id) shows one of them whole; lcm_expand_query answers a question from what is beneath a summary.`;
}

function nothingStored({ label, canWiden }: OpenScope): string {
  const wider = canWiden
    ? " Try allConversations: true to look into the others of this agent."
    : "";
  return `There is nothing to search: ${label}.${wider}`;
}

function noMatches(found: FoundHits) {
  return {
    matches: [],
    ...(found.cursor === undefined ? {} : { cursor: `0~${found.cursor}` }),
    ...(found.stopped === undefined ? {} : { stopped: found.stopped }),
  };
}

function nothingFound(
  request: SearchRequest,
  scope: OpenScope,
  found: FoundHits,
  place: Place,
): string {
  const what =
    place.skip > 0 || place.cursor !== undefined ? "Nothing more matched" : "Nothing matched";
  const bounds = [
    request.since === undefined ? undefined : `since ${request.since}`,
    request.before === undefined ? undefined : `before ${request.before}`,
  ].filter((text) => text !== undefined);
  const within = bounds.length > 0 ? `, ${bounds.join(" and ")}` : "";
  const lines = [
    `${what} ${shown(request.pattern)}: ${searched(request, scope)}${within}.`,
    ...(found.stopped === undefined ? [] : [found.stopped]),
    ...(found.cursor === undefined
      ? [`Try: ${advice(request, scope).join("; ")}.`]
      : [`Go on: send the same call with cursor: "0~${found.cursor}".`]),
  ];
  return lines.join("\n");
}

function advice(request: SearchRequest, { canWiden }: OpenScope): string[] {
  return [
    ...(request.mode === "regex"
      ? [
          'mode: "full_text" with the words or the question',
          "(?i:…) around the pattern to ignore case, or a shorter one",
        ]
      : ["other words for the same thing", 'mode: "regex" for a part of a word or for code']),
    ...(request.since !== undefined || request.before !== undefined
      ? ["without since and before"]
      : []),
    ...(request.scope === "both" ? [] : ['scope: "both"']),
    ...(canWiden ? ["allConversations: true"] : []),
  ];
}
