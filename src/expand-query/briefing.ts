// What a sub-agent is given: a grant for the conversations concerned, and a task that says where to
// look. Made together in one transaction, so that no grant is left behind without a task.

import { messageRef } from "../assembler/forms.js";
import { issueGrant } from "../expansion-auth.js";
import type { ExpansionDecision } from "../expansion-policy.js";
import type { OpenScope } from "../open-scope.js";
import { marked } from "../retrieval/snippet-text.js";
import type { Grant } from "../store/grant-store.js";
import type { TimeFormat } from "../time-format.js";
import type { ConversationId } from "../types.js";
import type { Found } from "./find.js";
import { type Question, subagentTask } from "./task.js";

export interface BriefingRequest extends Question {
  readonly scope: OpenScope;
  readonly found: Found;
  readonly decision: ExpansionDecision;
  readonly sessionKey: string;
  readonly tokenCap: number;
  readonly time: TimeFormat;
}

export interface Briefing {
  readonly grant: Grant;
  readonly message: string;
}

/** Longer than a question may take. */
const TTL_MS = 150_000;

/** Undefined when the giver has nothing left to give. */
export function brief(request: BriefingRequest, now: number): Briefing | undefined {
  const { stores } = request.scope;
  return stores.db.transaction(() => {
    const grant = issue(request, now);
    if (!grant) return undefined;
    const { found, prompt, maxTokens, decision } = request;
    const shown = new Set(found.hits.map(({ id }) => id));
    stores.grants.noteReads(
      grant.id,
      found.messages
        .filter((id) => shown.has(id))
        .map((id) => ({ itemId: messageRef(id), tokens: 0 })),
    );
    const message = subagentTask({
      prompt,
      maxTokens,
      summaryIds: found.summaries,
      foundLines: foundLines(request),
      decision,
      tokenCap: grant.tokenCap,
    });
    return { grant, message };
  });
}

function issue(request: BriefingRequest, now: number): Grant | undefined {
  const { scope, found, sessionKey, tokenCap } = request;
  const conversations = conversationsOf(scope, found);
  const granted = new Set(scope.grant?.conversations);
  const isUnderGrant = conversations.some((id) => granted.has(id) && id !== scope.own);
  return issueGrant(
    scope.stores,
    {
      sessionKey,
      conversations,
      // What its own grant does not name, the caller may read by itself and so may hand on.
      own: scope.conversations.filter((id) => !granted.has(id) || id === scope.own),
      parent: isUnderGrant ? scope.grant : undefined,
      tokenCap,
      ttlMs: TTL_MS,
    },
    now,
  );
}

/** Those that the candidates belong to: a sub-agent is let into nothing else. */
export function conversationsOf({ stores, visible }: OpenScope, found: Found): ConversationId[] {
  const rows = [
    ...stores.summaries.many(found.summaries),
    ...stores.recall.messages(found.messages),
  ];
  const ids = new Set(rows.map(({ conversationId }) => conversationId));
  return [...ids].filter((id) => visible.has(id));
}

function foundLines({ found, time }: BriefingRequest): string[] {
  return found.messages.map((id) => {
    const hit = found.hits.find((one) => one.type === "message" && one.id === id);
    if (hit?.type !== "message") return `- ${messageRef(id)}`;
    return `- ${messageRef(id)} ${hit.role}, ${time.timestamp(hit.createdAt)}: ${marked(hit.snippet)}`;
  });
}
