// The parameters that widen or move the scope of a call, the same in all four tools.

import { Type } from "@sinclair/typebox";
import type { ScopeRequest } from "../recall-scope.js";
import type { Params } from "./input.js";

/** Said the same way by all four tools. */
export const SCOPE_PARAMETERS = {
  conversationId: Type.Optional(
    Type.Number({
      description:
        "Look into this conversation instead of the current one. Results of lcm_grep name conversations.",
    }),
  ),
  allConversations: Type.Optional(
    Type.Boolean({
      description:
        "Look into every conversation you may read, not only the current one. Default false.",
      default: false,
    }),
  ),
};

/** A conversation that is named goes before all of them. */
export function scopeRequest(params: Params): ScopeRequest {
  const bounds = { least: 1, most: Number.MAX_SAFE_INTEGER };
  const conversation = params.count("conversationId", bounds);
  const all = params.flag("allConversations", false);
  if (conversation !== undefined) return { kind: "one", conversation };
  return all ? { kind: "all" } : { kind: "own" };
}
