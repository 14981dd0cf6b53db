// lcm_expand: what a node was built from, layer by layer down to the original messages. For sub-agents
// with a grant, which pays for every token.

import { Type } from "@sinclair/typebox";
import { decideExpansion } from "../expansion-policy.js";
import { retryWhileBusy } from "../db/connection.js";
import { type Allowance, COUNTING_BUSY_MS, grantAllowance } from "../expansion-auth.js";
import { findCandidates, type Found, stillInScope } from "../expand-query/find.js";
import { expansionInput } from "../expand-query/material.js";
import { after, walk } from "../retrieval/expand.js";
import { type Cutting, fill } from "../retrieval/expand-text.js";
import type { Grant } from "../store/grant-store.js";
import { timeFormat } from "../time-format.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import { SCOPE_PARAMETERS, scopeRequest } from "./lcm-conversation-scope.js";
import { answer, guarded, type Tool, type ToolResult } from "./common.js";
import { InputError, shown } from "../errors.js";
import { Params } from "./input.js";
import { type OpenScope, openScope, type RecallCaller } from "../open-scope.js";
import { PAGE_CHARACTERS } from "./pages.js";

const parameters = Type.Object({
  summaryIds: Type.Optional(
    Type.Array(Type.String(), { description: "The summaries to expand (sum_…)." }),
  ),
  query: Type.Optional(
    Type.String({ description: "Words to find summaries by, when you have no ids." }),
  ),
  maxDepth: Type.Optional(
    Type.Number({
      description:
        "Layers to go down, 1 to 10. 1 gives what a summary was built from; the bottom layer are the original messages. By default as deep as the query needs, 1 with summaryIds.",
    }),
  ),
  includeMessages: Type.Optional(
    Type.Boolean({
      description:
        "Whole original messages at the bottom; otherwise one line for each. Default false.",
      default: false,
    }),
  ),
  tokenCap: Type.Optional(
    Type.Number({
      description: "Most tokens to read with this call; never more than the grant holds.",
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: "From the end of a cut answer, to go on; send the rest unchanged.",
    }),
  ),
  ...SCOPE_PARAMETERS,
});

const DESCRIPTION = `Read what summaries were built from: finer summaries, and at the bottom the original messages. For sub-agents only; what is read counts against this session's grant.
Send summaryIds (or a query) with maxDepth, and includeMessages: true for the exact words. A cut answer says how to go on. lcm_describe(id) shows a single message or summary whole.`;

/** Offered only in sessions that hold a grant: see `recallTools`. */
export function expandTool(deps: RecallDependencies, caller: RecallCaller): Tool {
  return {
    name: "lcm_expand",
    label: "LCM Expand",
    description: DESCRIPTION,
    parameters,
    execute: (_callId, raw, signal) =>
      guarded(
        deps,
        "lcm_expand",
        () => expand(deps, caller, new Params(raw, "lcm_expand"), signal),
        signal,
      ),
  };
}

async function expand(
  deps: RecallDependencies,
  caller: RecallCaller,
  params: Params,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const ids = params.texts("summaryIds");
  const query = params.text("query");
  if (ids.length === 0 && query === undefined) {
    throw new InputError(
      'lcm_expand needs summaryIds, for example ["sum_0123456789abcdef"], or a query to find some.',
    );
  }
  const asked = readLimits(params);
  const open = (): UnderGrant => underGrant(deps, caller, params);
  const found = await findCandidates(deps.search, open, { ids, query }, signal);
  const read = () => expandFound(deps, open(), found, { ...asked, ids, query });
  return retryWhileBusy(read, COUNTING_BUSY_MS);
}

interface UnderGrant extends OpenScope {
  readonly grant: Grant;
}

function underGrant(deps: RecallDependencies, caller: RecallCaller, params: Params): UnderGrant {
  const scope = openScope(deps, caller, scopeRequest(params));
  if (!scope.grant) throw new InputError(NO_GRANT);
  return { ...scope, grant: scope.grant };
}

interface Asked extends Limits {
  readonly ids: readonly string[];
  readonly query: string | undefined;
}

function expandFound(
  deps: RecallDependencies,
  scope: UnderGrant,
  candidates: Found,
  { ids, query, ...asked }: Asked,
): ToolResult {
  const allowance = grantAllowance(scope.stores, scope.grant.id, deps.now);
  const found = stillInScope(scope, candidates);
  if (found.summaries.length === 0) {
    const stopped = found.stopped === undefined ? "" : ` ${found.stopped}`;
    const direct = found.messages.map((id) => `msg_${id}`).join(", ");
    throw new InputError(
      direct === ""
        ? `No summary was found for ${shown(query)} in ${scope.label}.${stopped} Try other words, or lcm_grep.`
        : `No summary covers what was found. Read it with lcm_describe: ${direct}.`,
    );
  }
  const policy = decideExpansion(expansionInput(scope, found, query ?? "", allowance.remaining()));
  const depth = asked.maxDepth ?? (ids.length > 0 ? 1 : policy.maxDepth);
  const style = {
    includeMessages: asked.includeMessages ?? (ids.length === 0 && policy.includeMessages),
    time: timeFormat(deps.config().timezone),
  };
  const room = {
    tokens: Math.min(asked.tokenCap ?? Number.POSITIVE_INFINITY, allowance.remaining()),
    characters: PAGE_CHARACTERS,
  };
  const items = walk(scope.stores, {
    roots: found.summaries,
    maxDepth: depth,
    visible: scope.visible,
  });
  const cutting = fill(after(scope.stores, items, asked.cursor), room, style);
  charge(allowance, cutting);
  return report(scope, found.summaries, cutting, { asked, allowance });
}

const NO_GRANT =
  "lcm_expand works only under a grant, and this session has none that holds. Ask with lcm_expand_query, or look one item up with lcm_describe.";

interface Limits {
  readonly maxDepth: number | undefined;
  readonly tokenCap: number | undefined;
  readonly includeMessages: boolean | undefined;
  readonly cursor: string | undefined;
}

function readLimits(params: Params): Limits {
  return {
    maxDepth: params.count("maxDepth", { least: 1, most: 10 }),
    tokenCap: params.count("tokenCap", { least: 1, most: Number.MAX_SAFE_INTEGER }),
    includeMessages: params.has("includeMessages")
      ? params.flag("includeMessages", false)
      : undefined,
    cursor: params.text("cursor"),
  };
}

/** Another call may have taken the tokens since they were looked at. */
function charge(allowance: Allowance, { excerpts }: Cutting): void {
  if (allowance.take(excerpts.map(({ ref, tokens }) => ({ itemId: ref, tokens })))) return;
  throw new InputError(
    `The grant of this sub-agent holds ${allowance.remaining()} more tokens, and this would take more: send a smaller tokenCap, or answer from what was read so far.`,
  );
}

function report(
  scope: OpenScope,
  roots: readonly string[],
  { excerpts, tokens, isCut }: Cutting,
  { asked, allowance }: { asked: Limits; allowance: Allowance },
): ToolResult {
  const last = excerpts.at(-1)?.ref;
  const remaining = allowance.remaining();
  if (last === undefined) return nothingShown(scope, isCut, remaining, asked.cursor);
  const next = isCut
    ? `[Cut here. To go on send the same call with cursor: "${last}"; the grant holds ${remaining} more tokens.]`
    : `[That is all of it. The grant holds ${remaining} more tokens.]`;
  const text = [...excerpts.map((excerpt) => excerpt.text), next].join("\n\n");
  return answer(text, {
    expandedIds: roots,
    readIds: excerpts.map(({ ref }) => ref),
    totalTokens: tokens,
    truncated: isCut,
    remainingTokens: remaining,
    ...(isCut ? { cursor: last } : {}),
  });
}

function nothingShown(
  { label }: OpenScope,
  isCut: boolean,
  remaining: number,
  cursor: string | undefined,
): ToolResult {
  if (isCut) {
    throw new InputError(
      `The next item takes more than is left: the grant holds ${remaining} more tokens. Send a larger tokenCap if you set one, else answer from what was read so far.`,
    );
  }
  throw new InputError(
    `Nothing is left behind ${shown(cursor)} in ${label}. Leave cursor out to begin again.`,
  );
}
