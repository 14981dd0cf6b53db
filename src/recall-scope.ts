// Who may read what: from the caller, what it asks for, its grant and the operator's setting to the
// conversations that may be looked at, or a refusal that says why and what to do. Pure.

import type { LcmConfig } from "./db/config.js";
import type { SessionClass } from "./session-policy.js";
import type { VisibleConversation } from "./store/recall-store.js";
import type { ConversationId } from "./types.js";

export type RecallReach = LcmConfig["recallScope"];

/** What the parameters of a tool ask for. A number goes before `all`. */
export type ScopeRequest =
  | { readonly kind: "own" }
  | { readonly kind: "one"; readonly conversation: number }
  | { readonly kind: "all" };

/** Why a sub-agent has, or has not, its parent's memory. */
export type GrantState =
  | { readonly kind: "none" }
  | { readonly kind: "expired" | "revoked" }
  | { readonly kind: "valid"; readonly conversations: readonly ConversationId[] };

export type ScopeCaller =
  /** A person at the terminal of the machine that holds the database. */
  | {
      readonly kind: "person";
      readonly agentId: string | undefined;
      readonly sessionKey: string | undefined;
    }
  | {
      readonly kind: "session";
      readonly agentId: string;
      readonly sessionKey: string;
      readonly class: SessionClass;
      readonly grant: GrantState;
    };

export interface ScopeFacts {
  readonly caller: ScopeCaller;
  readonly request: ScopeRequest;
  readonly reach: RecallReach;
  /** Every conversation that was not deleted in the host. */
  readonly visible: readonly VisibleConversation[];
}

export type Scope =
  | {
      readonly kind: "open";
      readonly conversations: readonly ConversationId[];
      /** In words, for the answer: `conversation 4`. */
      readonly label: string;
      /** The caller's own conversation, when something of it is stored. */
      readonly own: ConversationId | undefined;
      /** True when the caller could ask for more. */
      readonly canWiden: boolean;
    }
  | { readonly kind: "refused"; readonly reason: string };

type OpenScope = Extract<Scope, { kind: "open" }>;

const SUBAGENT = /^agent:[^:]+:(?:.*:)?subagent:/i;

export function isSubagent(sessionKey: string): boolean {
  return SUBAGENT.test(sessionKey);
}

export function decideScope(facts: ScopeFacts): Scope {
  const { caller } = facts;
  if (caller.kind === "person") return personScope(caller, facts);
  if (caller.class === "ignored" && !mayReadByGrant(caller)) {
    return refused(
      `${caller.sessionKey} has no memory: it is private, internal, or named by ignoreSessionPatterns. Nothing of it is stored and nothing can be looked up from it.`,
    );
  }
  return isSubagent(caller.sessionKey) ? subagentScope(caller, facts) : sessionScope(caller, facts);
}

type SessionCaller = Extract<ScopeCaller, { kind: "session" }>;

/** Sub-agents for recall are not stored, and read what their grant gives them. */
function mayReadByGrant({ sessionKey, grant }: SessionCaller): boolean {
  return isSubagent(sessionKey) && grant.kind !== "none";
}

function personScope(
  { agentId, sessionKey }: Extract<ScopeCaller, { kind: "person" }>,
  { request, visible }: ScopeFacts,
): Scope {
  const named = visible.filter(
    (one) =>
      (agentId === undefined || one.agentId === agentId) &&
      (sessionKey === undefined || one.sessionKey === sessionKey),
  );
  if (request.kind === "one") return oneOf(named, request.conversation, undefined);
  const who = [
    sessionKey === undefined ? undefined : `the session ${sessionKey}`,
    agentId === undefined ? undefined : `agent ${agentId}`,
  ].filter((text) => text !== undefined);
  if (who.length > 0 && named.length === 0) {
    return refused(`Nothing is stored for ${who.join(" of ")}. openclaw lcm status lists what is.`);
  }
  const label = who.length > 0 ? `what is stored for ${who.join(" of ")}` : "all conversations";
  return { kind: "open", conversations: idsOf(named), label, own: undefined, canWiden: false };
}

/** Its own conversation and what its grant names, whatever the operator's setting says. */
function subagentScope(caller: SessionCaller, { request, visible }: ScopeFacts): Scope {
  const own = ownConversation(caller, visible);
  const granted = caller.grant.kind === "valid" ? caller.grant.conversations : [];
  const known = new Set<ConversationId>(granted);
  if (own !== undefined) known.add(own);
  const readable = visible.filter(({ id }) => known.has(id));
  if (request.kind === "one") {
    if (readable.some(({ id }) => id === request.conversation)) {
      return oneOf(readable, request.conversation, own);
    }
    return refused(
      `A sub-agent reads its own conversation and those of its grant, and conversation ${request.conversation} is not among them. ${grantAdvice(caller.grant)}`,
    );
  }
  if (readable.length === 0)
    return refused(`There is nothing to read here yet. ${grantAdvice(caller.grant)}`);
  return {
    kind: "open",
    conversations: idsOf(readable),
    label: `${conversationsLabel(idsOf(readable))} (${SUBAGENT_LABEL[caller.grant.kind]})`,
    own,
    canWiden: false,
  };
}

const SUBAGENT_LABEL = {
  none: "this sub-agent's own; it has no grant for another",
  expired: "this sub-agent's own; its grant has expired",
  revoked: "this sub-agent's own; its grant was revoked",
  valid: "this sub-agent's own and its grant's",
} as const;

function grantAdvice(grant: GrantState): string {
  switch (grant.kind) {
    case "none":
      return "This sub-agent has no grant: answer from what the task says, or let the session that started it look things up.";
    case "expired":
      return "The grant of this sub-agent has expired: answer from what was read so far.";
    case "revoked":
      return "The grant of this sub-agent was revoked: answer from what was read so far.";
    case "valid":
      return `Its grant is for ${conversationsLabel(grant.conversations)}: leave conversationId out.`;
  }
}

function sessionScope(caller: SessionCaller, { request, reach, visible }: ScopeFacts): Scope {
  const own = ownConversation(caller, visible);
  const ofAgent = visible.filter(({ agentId }) => agentId === caller.agentId);
  const reachable = {
    conversation: visible.filter(({ id }) => id === own),
    agent: ofAgent,
    all: visible,
  };
  const readable = reachable[reach];
  if (request.kind === "one") {
    if (readable.some(({ id }) => id === request.conversation)) {
      return oneOf(readable, request.conversation, own);
    }
    return refused(foreignReason(request.conversation, reach, visible));
  }
  if (request.kind === "all") {
    return reach === "conversation"
      ? refused(
          'allConversations is not allowed here: recallScope is set to "conversation", so only this session\'s own conversation can be read. Leave allConversations out, or ask the operator to set recallScope (LCM_RECALL_SCOPE) to "agent".',
        )
      : allOf(readable, reach === "all" ? undefined : caller.agentId, own);
  }
  // What may only read has no conversation of its own; its agent's stand for it.
  if (caller.class === "stateless" && reach !== "conversation") {
    return allOf(ofAgent, caller.agentId, own);
  }
  return ownScope(own, reach !== "conversation" && readable.length > (own === undefined ? 0 : 1));
}

function allOf(
  readable: readonly VisibleConversation[],
  agentId: string | undefined,
  own: ConversationId | undefined,
): OpenScope {
  const label =
    agentId === undefined ? "all conversations" : `all conversations of agent ${agentId}`;
  return { kind: "open", conversations: idsOf(readable), label, own, canWiden: false };
}

function ownScope(own: ConversationId | undefined, canWiden: boolean): OpenScope {
  return {
    kind: "open",
    conversations: own === undefined ? [] : [own],
    label:
      own === undefined
        ? "this session's conversation, of which nothing is stored yet"
        : `this conversation (${own})`,
    own,
    canWiden,
  };
}

function foreignReason(
  conversation: number,
  reach: RecallReach,
  visible: readonly VisibleConversation[],
): string {
  if (reach === "conversation") {
    return `Conversation ${conversation} can not be read from here: recallScope is set to "conversation", so only this session's own can. Leave conversationId out.`;
  }
  if (!visible.some(({ id }) => id === conversation)) return unknown(conversation);
  return `Conversation ${conversation} belongs to another agent and recallScope is set to "agent". Leave conversationId out, or ask the operator to set recallScope (LCM_RECALL_SCOPE) to "all".`;
}

function oneOf(
  readable: readonly VisibleConversation[],
  conversation: number,
  own: ConversationId | undefined,
): Scope {
  const found = readable.find(({ id }) => id === conversation);
  if (!found) return refused(unknown(conversation));
  const label = found.id === own ? `this conversation (${own})` : `conversation ${found.id}`;
  return { kind: "open", conversations: [found.id], label, own, canWiden: false };
}

function unknown(conversation: number): string {
  return `There is no conversation ${conversation}. Take a conversationId from a result of lcm_grep, or leave it out to look at the current one.`;
}

function ownConversation(
  { agentId, sessionKey }: SessionCaller,
  visible: readonly VisibleConversation[],
): ConversationId | undefined {
  return visible.find((one) => one.agentId === agentId && one.sessionKey === sessionKey)?.id;
}

const MOST_NAMED = 5;

function conversationsLabel(ids: readonly ConversationId[]): string {
  const named = ids.slice(0, MOST_NAMED).join(", ");
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
  return `conversation${ids.length === 1 ? "" : "s"} ${named}${more}`;
}

function idsOf(conversations: readonly VisibleConversation[]): ConversationId[] {
  return conversations.map(({ id }) => id);
}

function refused(reason: string): Scope {
  return { kind: "refused", reason };
}
