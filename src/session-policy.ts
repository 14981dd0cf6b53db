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
  readonly sessionId?: unknown;
  readonly sessionKey?: unknown;
  /** Agents it may belong to when its key names none, the surest first. */
  readonly agentIds?: readonly unknown[];
}

/**
 * The session a host call is about; undefined when it names none. Keys mostly name their agent
 * (`agent:main:…`); the shared key `global` does not, and is one session per agent.
 */
export function sessionRef({
  sessionId,
  sessionKey,
  agentIds = [],
}: HostSession): SessionRef | undefined {
  const id = text(sessionId);
  const key = text(sessionKey);
  if (id === undefined && key === undefined) return undefined;
  const named = /^agent:([^:]+):/.exec(key ?? "")?.[1];
  const agentId = named ?? agentIds.map(text).find((agent) => agent !== undefined) ?? "main";
  return {
    agentId,
    sessionKey: key ?? `agent:${agentId}:session:${id}`,
    sessionId: id ?? "",
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
