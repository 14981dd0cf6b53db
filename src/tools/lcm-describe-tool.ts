// lcm_describe: one summary, message or file, whole.

import { Type } from "@sinclair/typebox";
import { retryWhileBusy } from "../db/connection.js";
import { COUNTING_BUSY_MS } from "../expansion-auth.js";
import { describe, type Description } from "../retrieval/describe.js";
import { type ItemId, parseItemId } from "../retrieval/item-id.js";
import { timeFormat } from "../time-format.js";
import { estimateTokens } from "../tokens.js";
import type { ConversationId } from "../types.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import { SCOPE_PARAMETERS, scopeRequest } from "./lcm-conversation-scope.js";
import { answer, guarded, type Tool, type ToolResult } from "./common.js";
import { InputError, shown } from "../errors.js";
import { Params } from "./input.js";
import { descriptionDetails, renderDescription } from "./describe-text.js";
import {
  allowanceFor,
  type OpenScope,
  openScope,
  type RecallCaller,
  scopeFor,
} from "../open-scope.js";
import { pageOf } from "./pages.js";

const parameters = Type.Object({
  id: Type.String({
    description:
      "What to look up: sum_… for a summary, msg_… for an original message, file_… for a stored file.",
  }),
  ...SCOPE_PARAMETERS,
  page: Type.Optional(
    Type.Number({ description: "Which page of a long text, from 1.", default: 1 }),
  ),
});

const DESCRIPTION = `Look up one item by its id, whole and cheaply (no model, no sub-agent): a summary (sum_…) with its full text, time range, sources and source messages; an original message (msg_…) with its text, tool calls and results; a stored file (file_…).
Use it when a snippet of lcm_grep, a [msg_…] note or a <summary> in your context is not enough. For a question that needs the details beneath a summary, use lcm_expand_query.`;

export function describeTool(deps: RecallDependencies, caller: RecallCaller): Tool {
  return {
    name: "lcm_describe",
    label: "LCM Describe",
    description: DESCRIPTION,
    parameters,
    execute: (_callId, raw) =>
      guarded(deps, "lcm_describe", async () => {
        const params = new Params(raw, "lcm_describe");
        return retryWhileBusy(() => describeItem(deps, caller, params), COUNTING_BUSY_MS);
      }),
  };
}

type Found = Exclude<Description, { kind: "missing" | "elsewhere" }>;

function describeItem(deps: RecallDependencies, caller: RecallCaller, params: Params): ToolResult {
  const written = params.requiredText("id", 'id: "sum_0123456789abcdef" or id: "msg_42"');
  const number = params.count("page", { least: 1, most: 1_000_000 }) ?? 1;
  const item = parseItemId(written);
  if (!item) {
    throw new InputError(
      `id is ${shown(written)}, which is no id. Send one that begins with sum_, msg_ or file_, as lcm_grep and the summaries in your context show them.`,
    );
  }
  const scope = openScope(deps, caller, scopeRequest(params));
  const found = describe(scope.stores, item, scope.visible);
  if (found.kind === "missing") throw new InputError(missing(item));
  if (found.kind === "elsewhere") {
    throw new InputError(elsewhere(deps, caller, scope, item, found.conversation));
  }
  return onPage(deps, scope, item, found, number);
}

function onPage(
  deps: RecallDependencies,
  scope: OpenScope,
  item: ItemId,
  found: Found,
  number: number,
): ToolResult {
  const text = renderDescription(found, timeFormat(deps.config().timezone));
  const page = pageOf(text, number);
  if (!page) {
    const { count } = pageOf(text, 1) ?? { count: 1 };
    throw new InputError(
      `${item.text} has ${count} page${count === 1 ? "" : "s"}; there is no page ${number}.`,
    );
  }
  const allowance = allowanceFor(scope, conversationOf(found), deps.now);
  const tokens = estimateTokens(page.text);
  if (allowance && !allowance.take([{ itemId: item.text, tokens }])) {
    throw new InputError(
      `${item.text} takes ${tokens} tokens and the grant of this sub-agent holds ${allowance.remaining()} more: answer from what was read so far.`,
    );
  }
  const isLast = page.number === page.count;
  const rest = isLast
    ? ""
    : ` The next: lcm_describe(id: "${item.text}", page: ${page.number + 1}).`;
  const footer = page.count === 1 ? "" : `\n\n[Page ${page.number} of ${page.count}.${rest}]`;
  const pages = { page: page.number, pages: page.count };
  return answer(`${page.text}${footer}`, {
    ...descriptionDetails(found),
    ...pages,
  });
}

function conversationOf(found: Found): ConversationId {
  switch (found.kind) {
    case "summary":
      return found.summary.conversationId;
    case "message":
      return found.message.conversationId;
    case "file":
      return found.file.conversationId;
  }
}

function missing({ text }: ItemId): string {
  return `There is no ${text}. Check the id against lcm_grep or the summaries in your context; ids are never reused.`;
}

/** Says how to reach it only when the caller may; else nobody learns from it that the item exists. */
function elsewhere(
  deps: RecallDependencies,
  caller: RecallCaller,
  { stores, label }: OpenScope,
  item: ItemId,
  conversation: ConversationId,
): string {
  const wider = scopeFor(deps, stores, caller, { kind: "one", conversation });
  return wider.kind === "refused"
    ? missing(item)
    : `${item.text} is not in ${label}: send conversationId: ${conversation} or allConversations: true.`;
}
