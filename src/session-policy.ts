// Which sessions are ours to keep. Pure; decided from the key alone, which every host call carries.

import { sessionPatternToRegExp } from "./db/config.js";
import type { SessionRef } from "./types.js";

export type SessionClass =
  | "kept"
  /** May use memory, adds nothing to it. */
  | "stateless"
  /** Acknowledged and never stored: private, internal, our own recall runs, or named by the operator. */
  | "ignored";

export interface SessionPatterns {
  readonly ignoreSessionPatterns: readonly string[];
  readonly statelessSessionPatterns: readonly string[];
}

/** Sub-agent sessions this plugin starts for recall carry this mark in their key. */
export const RECALL_SESSION_MARK = "lcm-recall-";

const INCOGNITO = /^agent:[^:]+:(?:dashboard|subagent|internal-session-effects):incognito-[^:]+$/i;
const INTERNAL = /^agent:[^:]+:internal-session-effects:/i;
const RECALL = new RegExp(`^agent:[^:]+:subagent:${RECALL_SESSION_MARK}`, "i");

export function classifySession(sessionKey: string, patterns: SessionPatterns): SessionClass {
  if ([INCOGNITO, INTERNAL, RECALL].some((pattern) => pattern.test(sessionKey))) return "ignored";
  if (matchesAny(sessionKey, patterns.ignoreSessionPatterns)) return "ignored";
  return matchesAny(sessionKey, patterns.statelessSessionPatterns) ? "stateless" : "kept";
}

function matchesAny(key: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => sessionPatternToRegExp(pattern).test(key));
}

interface HostSession {
  readonly sessionId: string;
  readonly sessionKey?: string | undefined;
  readonly agentId?: string | undefined;
}

/** Hosts may leave out the key or the agent; both have one meaning then. */
export function sessionRef({ sessionId, sessionKey, agentId }: HostSession): SessionRef {
  const agent = agentId ?? /^agent:([^:]+):/.exec(sessionKey ?? "")?.[1] ?? "main";
  return { agentId: agent, sessionKey: sessionKey ?? `agent:${agent}:session:${sessionId}`, sessionId };
}
