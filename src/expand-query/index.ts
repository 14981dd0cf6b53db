// Answers one question from what is beneath summaries: through a sub-agent where the host starts one,
// else with one bounded model call, else with the excerpts themselves.

import { InputError } from "../errors.js";
import { type Allowance, grantAllowance, OwnAllowance } from "../expansion-auth.js";
import { decideExpansion, type ExpansionDecision } from "../expansion-policy.js";
import type { OpenScope } from "../open-scope.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import { isoAt, timeFormat } from "../time-format.js";
import type { ConversationId, SubagentHost } from "../types.js";
import { brief, conversationsOf } from "./briefing.js";
import { type Found, stillInScope } from "./find.js";
import { expansionInput, gather, type Material } from "./material.js";
import { askOnce } from "./one-call.js";
import { patiently } from "./patiently.js";
import { fromExcerpts, fromReply, readingOf, type RecallAnswer } from "./result.js";
import {
  CHILD_TOOLS,
  RECALL_TIMING,
  recallSessionKey,
  runSubagent,
  type SubagentOutcome,
} from "./sub-agent.js";
import { type Question, SYSTEM_PROMPT } from "./task.js";

export type { RecallAnswer } from "./result.js";

export interface RecallRequest extends Question {
  readonly agentId: string;
  /** Opened again for each look: what may be read can become less meanwhile. */
  readonly open: () => OpenScope;
  readonly found: Found;
  readonly signal?: AbortSignal | undefined;
}

/** A request with all that is decided before anything is read. */
interface Attempt extends RecallRequest {
  readonly deps: RecallDependencies;
  readonly decision: ExpansionDecision;
  readonly tokenCap: number;
  /** Over when the caller stops it or the time is up. */
  readonly over: AbortSignal;
  /** Milliseconds until then, at least 1. */
  readonly left: () => number;
  readonly cleanUpMs: number;
}

/** Undefined when the caller stopped it. */
export async function recall(
  deps: RecallDependencies,
  request: RecallRequest,
): Promise<RecallAnswer | undefined> {
  const { limitMs, cleanUpMs } = deps.recallTiming ?? RECALL_TIMING;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), limitMs);
  const end = performance.now() + limitMs;
  const stop = request.signal ?? new AbortController().signal;
  try {
    const answer = await answerIt({
      ...request,
      ...decide(deps, request),
      deps,
      over: AbortSignal.any([stop, limit.signal]),
      left: () => Math.max(1, Math.floor(end - performance.now())),
      cleanUpMs,
    });
    return stop.aborted ? undefined : answer;
  } finally {
    clearTimeout(timer);
  }
}

function decide(deps: RecallDependencies, request: RecallRequest) {
  const { scope, found } = readable(request);
  const held = scope.grant
    ? scope.stores.grants.remaining(scope.grant.id)
    : Number.POSITIVE_INFINITY;
  const tokenCap = Math.min(deps.config().maxExpandTokens, held);
  const decision = decideExpansion(expansionInput(scope, found, request.prompt, tokenCap));
  return { tokenCap, decision };
}

const GONE =
  "What was found can not be read any more: its conversation was deleted, or the grant that opened it has ended. Send the question again to look at what is left.";

/** What may be read now of what was found. */
function readable({ open, found }: RecallRequest): { scope: OpenScope; found: Found } {
  const scope = open();
  const left = stillInScope(scope, found);
  if (left.summaries.length + left.messages.length === 0) throw new InputError(GONE);
  return { scope, found: left };
}

/** An answer is told only while all that it may rest on can be read. */
function assertOpen({ open }: RecallRequest, conversations: readonly ConversationId[]): void {
  const { visible } = open();
  if (!conversations.every((id) => visible.has(id))) throw new InputError(GONE);
}

async function answerIt(attempt: Attempt): Promise<RecallAnswer> {
  const { decision, deps } = attempt;
  if (decision.route === "direct") return inProcess(attempt, decision.reason);
  if (!deps.subagents) return inProcess(attempt, "no sub-agents can be started here");
  return delegate(attempt, deps.subagents);
}

async function delegate(attempt: Attempt, host: SubagentHost): Promise<RecallAnswer> {
  const { deps, over: signal, left, cleanUpMs } = attempt;
  const sessionKey = recallSessionKey(attempt.agentId);
  const time = timeFormat(deps.config().timezone);
  const briefing = await patiently(() =>
    brief({ ...attempt, ...readable(attempt), sessionKey, time }, deps.now()),
  );
  if (!briefing) return inProcess(attempt, "the grant of this session holds no more tokens");
  const { grants } = deps.stores();
  const { grant, message } = briefing;
  const outcome = await runSubagent({
    host,
    task: { sessionKey, message, systemPrompt: SYSTEM_PROMPT, tools: CHILD_TOOLS },
    signal,
    left,
    cleanUpMs,
    revoke: () => patiently(() => grants.revoke(grant.id, isoAt(deps.now()))),
    log: deps.log,
  });
  if (outcome.kind !== "answered") return withoutSubagent(attempt, outcome);
  assertOpen(attempt, grant.conversations);
  return fromReply(outcome.reply, grants.reading(grant.id), "sub-agent", frame(attempt));
}

async function withoutSubagent(
  attempt: Attempt,
  outcome: Exclude<SubagentOutcome, { kind: "answered" }>,
): Promise<RecallAnswer> {
  switch (outcome.kind) {
    case "refused":
      return inProcess(attempt, `no sub-agent could be started (${outcome.reason})`);
    case "failed":
      return inProcess(attempt, `the sub-agent failed (${outcome.reason})`);
    case "ended": {
      const note = "the sub-agent did not answer in time";
      return fromExcerpts(await readSources(attempt), frame(attempt, note));
    }
  }
}

async function inProcess(attempt: Attempt, reason: string): Promise<RecallAnswer> {
  const { deps, over: signal, left } = attempt;
  const material = await readSources(attempt);
  const [conversationId] = material.conversations;
  if (conversationId === undefined) return fromExcerpts(material, frame(attempt, reason));
  const asked = await askOnce(deps, deps.stores(), {
    ...attempt,
    conversationId,
    excerpts: material.excerpts,
    signal,
    left: left(),
  });
  assertOpen(attempt, material.conversations);
  return asked.kind === "answered"
    ? fromReply(asked.reply, readingOf(material), "in-process", frame(attempt, reason))
    : fromExcerpts(material, frame(attempt, `${reason}, and ${asked.reason}`));
}

interface Sources extends Material {
  readonly conversations: readonly ConversationId[];
}

const NOTHING: Sources = { excerpts: [], tokens: 0, isCut: false, conversations: [] };

/** Nobody waits for what was stopped, and nothing is counted for it. */
async function readSources(attempt: Attempt): Promise<Sources> {
  const { deps, decision, signal } = attempt;
  if (signal?.aborted) return NOTHING;
  const time = timeFormat(deps.config().timezone);
  return patiently(() => {
    const { scope, found } = readable(attempt);
    const allowance = allowanceOf(attempt, scope);
    const material = gather(scope, found, decision, { allowance, time });
    return { ...material, conversations: conversationsOf(scope, found) };
  });
}

/** Counted against the caller's own grant where it has one. */
function allowanceOf({ deps, tokenCap }: Attempt, scope: OpenScope): Allowance {
  const own = new OwnAllowance(tokenCap);
  if (!scope.grant) return own;
  const granted = grantAllowance(scope.stores, scope.grant.id, deps.now);
  return {
    remaining: () => Math.min(own.remaining(), granted.remaining()),
    take: (reads) => granted.take(reads),
  };
}

function frame({ decision, maxTokens }: Attempt, note?: string) {
  return { route: decision.route, maxTokens, note };
}
