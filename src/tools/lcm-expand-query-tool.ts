// lcm_expand_query: a question in, a short answer with citations out.

import { Type } from "@sinclair/typebox";
import { findCandidates } from "../expand-query/find.js";
import { recall, type RecallAnswer } from "../expand-query/index.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import { SCOPE_PARAMETERS, scopeRequest } from "./lcm-conversation-scope.js";
import { answer, guarded, type Tool, type ToolResult } from "./common.js";
import { InputError, shown, listed } from "../errors.js";
import { Params } from "./input.js";
import { openScope, type RecallCaller } from "../open-scope.js";

const DEFAULT_TOKENS = 2_000;
/** A page of output holds no more. */
const MOST_TOKENS = 3_000;

const parameters = Type.Object({
  prompt: Type.String({
    description: "The question to answer, with all that is needed to understand it.",
  }),
  query: Type.Optional(
    Type.String({
      description: "Words or a sentence to find summaries and messages by, when you have no ids.",
    }),
  ),
  summaryIds: Type.Optional(
    Type.Array(Type.String(), {
      description: "The summaries to look beneath (sum_…), when you have them.",
    }),
  ),
  maxTokens: Type.Optional(
    Type.Number({ description: "Most tokens of the answer, 1 to 3000.", default: DEFAULT_TOKENS }),
  ),
  ...SCOPE_PARAMETERS,
});

const DESCRIPTION = `Answer one focused question from the original messages beneath summaries. A bounded sub-agent reads down to the sources and reports exact commands, errors, values, reasons or quotes with the ids they come from. Takes up to two minutes and costs little; do not ration it.
Send prompt with summaryIds (from the <summary> elements in your context or from lcm_grep) or with a query to find them. Use it when a summary says "Expand for details about:" what you need; for one item whose id you know, lcm_describe is quicker.`;

/** Not offered to the sub-agents that it starts: see `recallTools`. */
export function expandQueryTool(deps: RecallDependencies, caller: RecallCaller): Tool {
  return {
    name: "lcm_expand_query",
    label: "LCM Expand Query",
    description: DESCRIPTION,
    parameters,
    execute: (_callId, raw, signal) =>
      guarded(
        deps,
        "lcm_expand_query",
        () => expandQuery(deps, caller, new Params(raw, "lcm_expand_query"), signal),
        signal,
      ),
  };
}

async function expandQuery(
  deps: RecallDependencies,
  caller: RecallCaller,
  params: Params,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const prompt = params.requiredText("prompt", 'prompt: "Which port did we choose, and why?"');
  const query = params.text("query");
  const ids = params.texts("summaryIds");
  const maxTokens = params.count("maxTokens", { least: 1, most: MOST_TOKENS }) ?? DEFAULT_TOKENS;
  if (ids.length === 0 && query === undefined) {
    throw new InputError(
      'lcm_expand_query needs query, for example query: "database port", or summaryIds to look beneath.',
    );
  }
  const open = () => openScope(deps, caller, scopeRequest(params));
  const scope = open();
  if (scope.conversations.length === 0)
    return nothing(`There is nothing to search: ${scope.label}.`);
  const found = await findCandidates(deps.search, open, { ids, query }, signal);
  if (found.summaries.length === 0 && found.messages.length === 0) {
    const stopped = found.stopped === undefined ? "" : ` ${found.stopped}`;
    const wider = scope.canWiden ? ", or allConversations: true" : "";
    return nothing(
      `Nothing was found for ${shown(query)} in ${scope.label}.${stopped} Try other words for the same thing, lcm_grep with a pattern${wider}.`,
    );
  }
  const agentId = caller.kind === "session" ? caller.session.agentId : (caller.agentId ?? "main");
  const recalled = await recall(deps, { prompt, maxTokens, agentId, open, found, signal });
  if (!recalled) throw new InputError("The question was stopped before it was answered.");
  return answer(render(recalled), recalled);
}

function nothing(text: string): ToolResult {
  const details = {
    answer: text,
    citedIds: [],
    expandedSummaryCount: 0,
    totalSourceTokens: 0,
    truncated: false,
  };
  return answer(text, { ...details, via: "direct" });
}

const WAY = {
  "sub-agent": "A sub-agent read the sources",
  "in-process": "Answered from excerpts by one model call",
  excerpts: "Not answered: these are the excerpts that may hold the answer, as they are",
} as const;

function render(recalled: RecallAnswer): string {
  const { answer: text, citedIds, droppedIds, truncated, via, note } = recalled;
  const { expandedSummaryCount, totalSourceTokens } = recalled;
  const cited = citedIds.length > 0 ? `Cited: ${listed(citedIds)}.` : "Nothing is cited.";
  const dropped =
    droppedIds.length > 0 ? ` Left out, because it was not read: ${listed(droppedIds)}.` : "";
  const why = note === undefined ? "" : ` (${note})`;
  const cut = truncated ? " The answer was cut: ask for less at once, or raise maxTokens." : "";
  return `${text}\n\n${cited}${dropped} ${WAY[via]}${why}: ${expandedSummaryCount} summaries, ${totalSourceTokens} tokens.${cut}`;
}
