// The recall tools of one caller.

import { validGrant } from "../expansion-auth.js";
import { LcmError } from "../errors.js";
import { isSubagent } from "../recall-scope.js";
import { RECALL_SESSION_MARK } from "../session-policy.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import type { Tool } from "./common.js";
import type { RecallCaller } from "../open-scope.js";
import { describeTool } from "./lcm-describe-tool.js";
import { expandQueryTool } from "./lcm-expand-query-tool.js";
import { expandTool } from "./lcm-expand-tool.js";
import { grepTool } from "./lcm-grep-tool.js";

type ToolFactory = (deps: RecallDependencies, caller: RecallCaller) => Tool | undefined;

/** Every tool by its name. A tool that a session has no use for is not offered to it. */
export const TOOL_FACTORIES = {
  lcm_grep: grepTool,
  lcm_describe: describeTool,
  lcm_expand: (deps, caller) => (holdsGrant(deps, caller) ? expandTool(deps, caller) : undefined),
  lcm_expand_query: (deps, caller) =>
    isRecallSession(caller) ? undefined : expandQueryTool(deps, caller),
} satisfies Readonly<Record<string, ToolFactory>>;

export type ToolName = keyof typeof TOOL_FACTORIES;

export const TOOL_NAMES = Object.keys(TOOL_FACTORIES) as readonly ToolName[];

export function recallTools(deps: RecallDependencies, caller: RecallCaller): Tool[] {
  return TOOL_NAMES.map((name) => TOOL_FACTORIES[name](deps, caller)).filter(
    (tool) => tool !== undefined,
  );
}

function holdsGrant({ stores, now, log }: RecallDependencies, caller: RecallCaller): boolean {
  if (caller.kind === "person" || !isSubagent(caller.session.sessionKey)) return false;
  try {
    return validGrant(stores(), caller.session.sessionKey, now()) !== undefined;
  } catch (error) {
    if (!(error instanceof LcmError)) throw error;
    log.warn(`lcm_expand is not offered: ${error.message}`);
    return false;
  }
}

function isRecallSession(caller: RecallCaller): boolean {
  return caller.kind === "session" && caller.session.sessionKey.includes(RECALL_SESSION_MARK);
}
