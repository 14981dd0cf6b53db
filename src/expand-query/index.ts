// Answers one question from what is beneath summaries: through a sub-agent where the host starts one,
// else with one bounded model call, else with the excerpts themselves.

import { messageRef } from "../assembler/forms.js";
import { retryWhileBusy } from "../db/connection.js";
import {
  type Allowance,
  COUNTING_BUSY_MS,
  grantAllowance,
  issueGrant,
  OwnAllowance,
} from "../expansion-auth.js";
import { decideExpansion, type ExpansionDecision } from "../expansion-policy.js";
import { callModel } from "../model-call.js";
import { marked } from "../retrieval/snippet-text.js";
import type { RecallDependencies } from "../recall-dependencies.js";
import type { OpenScope } from "../open-scope.js";
import type { Grant, Read } from "../store/grant-store.js";
import { modelAccess } from "../summarize/access.js";
import { isoAt, timeFormat } from "../time-format.js";
import { estimateTokens } from "../tokens.js";
import type { ConversationId, Model } from "../types.js";
import { checkCitations, limitAnswer, readAnswer } from "./answer.js";
import type { Found } from "./find.js";
import { expansionInput, gather, type Material } from "./material.js";
import { CHILD_TOOLS, RECALL_TIMING, recallSessionKey, runSubagent } from "./sub-agent.js";
import { modelTask, type Question, subagentTask, SYSTEM_PROMPT } from "./task.js";

export interface RecallAnswer {
  readonly answer: string;
  readonly citedIds: readonly string[];
  /** Cited by the model, and not among what was read. */
  readonly droppedIds: readonly string[];
  readonly expandedSummaryCount: number;
  readonly totalSourceTokens: number;
  readonly truncated: boolean;
  readonly via: "sub-agent" | "in-process" | "excerpts";
  readonly route: ExpansionDecision["route"];
  /** Why the answer came the way it did, where that was not the first choice. */
  readonly note: string | undefined;
}

export interface RecallRequest extends Question {
  readonly agentId: string;
  readonly scope: OpenScope;
  readonly found: Found;
  readonly signal?: AbortSignal | undefined;
}

/** Undefined when the caller stopped it. */
export async function recall(
  deps: RecallDependencies,
  request: RecallRequest,
): Promise<RecallAnswer | undefined> {
  const timing = deps.recallTiming ?? RECALL_TIMING;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timing.limitMs);
  const end = performance.now() + timing.limitMs;
  const stop = request.signal ?? new AbortController().signal;
  try {
    const attempt = new Attempt(deps, request, {
      signal: AbortSignal.any([stop, limit.signal]),
      left: () => Math.max(1, Math.floor(end - performance.now())),
      cleanUpMs: timing.cleanUpMs,
    });
    const answer = await attempt.answer();
    return stop.aborted ? undefined : answer;
  } finally {
    clearTimeout(timer);
  }
}

interface Bounds {
  readonly signal: AbortSignal;
  readonly left: () => number;
  readonly cleanUpMs: number;
}

const GRANT_TTL_MS = 150_000;
const CALL_MS = 60_000;
const MOST_CHARACTERS = 12_000;
const PROMPT_VERSION = "recall-1";

class Attempt {
  readonly #cap: number;
  readonly #decision: ExpansionDecision;

  constructor(
    private readonly deps: RecallDependencies,
    private readonly request: RecallRequest,
    private readonly bounds: Bounds,
  ) {
    const { scope, found, prompt } = request;
    const { maxExpandTokens } = deps.config();
    const held = scope.grant && scope.stores.grants.remaining(scope.grant.id);
    this.#cap = Math.min(maxExpandTokens, held ?? maxExpandTokens);
    this.#decision = decideExpansion(expansionInput(scope, found, prompt, this.#cap));
  }

  async answer(): Promise<RecallAnswer> {
    if (this.#decision.route === "direct") return this.#inProcess(this.#decision.reason);
    const { subagents } = this.deps;
    if (!subagents) return this.#inProcess("no sub-agents can be started here");
    const { scope, agentId } = this.request;
    const sessionKey = recallSessionKey(agentId);
    const grant = await patiently(() => this.#issue(sessionKey));
    if (!grant) return this.#inProcess("the grant of this session holds no more tokens");
    const { grants } = scope.stores;
    const outcome = await runSubagent({
      ...this.bounds,
      host: subagents,
      task: {
        sessionKey,
        message: await patiently(() => this.#briefing(grant)),
        systemPrompt: SYSTEM_PROMPT,
        tools: CHILD_TOOLS,
      },
      revoke: () => patiently(() => grants.revoke(grant.id, isoAt(this.deps.now()))),
      log: this.deps.log,
    });
    switch (outcome.kind) {
      case "answered":
        return this.#read(outcome.reply, grants.reads(grant.id), "sub-agent");
      case "refused":
        return this.#inProcess(`no sub-agent could be started (${outcome.reason})`);
      case "failed":
        return this.#inProcess(`the sub-agent failed (${outcome.reason})`);
      case "ended":
        return this.#excerpts(
          await patiently(() => this.#gather()),
          "the sub-agent did not answer in time",
        );
    }
  }

  #issue(sessionKey: string): Grant | undefined {
    const { scope, found } = this.request;
    const conversations = conversationsOf(scope, found);
    // What its own grant does not name, the caller may hand on: it was asked for and allowed.
    const granted = new Set(scope.grant?.conversations);
    const isUnderGrant = conversations.some((id) => granted.has(id) && id !== scope.own);
    const own = scope.conversations.filter((id) => !granted.has(id) || id === scope.own);
    return issueGrant(
      scope.stores,
      {
        sessionKey,
        conversations,
        own,
        parent: isUnderGrant ? scope.grant : undefined,
        tokenCap: this.#cap,
        ttlMs: GRANT_TTL_MS,
      },
      this.deps.now(),
    );
  }

  #briefing(grant: Grant): string {
    const { found, prompt, maxTokens, scope } = this.request;
    const time = timeFormat(this.deps.config().timezone);
    const lines = found.hits.flatMap((hit) =>
      hit.type === "message" && found.messages.includes(hit.id)
        ? [
            `- ${messageRef(hit.id)} ${hit.role}, ${time.timestamp(hit.createdAt)}: ${marked(hit.snippet)}`,
          ]
        : [],
    );
    const known = new Set(found.hits.map(({ id }) => id));
    const named = found.messages.filter((id) => !known.has(id)).map((id) => `- ${messageRef(id)}`);
    scope.stores.grants.noteReads(
      grant.id,
      found.messages
        .filter((id) => known.has(id))
        .map((id) => ({ itemId: messageRef(id), tokens: 0 })),
    );
    return subagentTask({
      prompt,
      maxTokens,
      summaryIds: found.summaries,
      foundLines: [...named, ...lines],
      decision: this.#decision,
      tokenCap: grant.tokenCap,
    });
  }

  async #inProcess(reason: string): Promise<RecallAnswer> {
    const { reads, material } = await patiently(() => this.#gather());
    const model = this.deps.model?.();
    if (!model) return this.#excerpts({ reads, material }, `${reason}, and no model can be asked`);
    if (material.excerpts.length === 0) return this.#excerpts({ reads, material }, reason);
    const reply = await this.#ask(model, material);
    if ("failure" in reply) {
      return this.#excerpts(
        { reads, material },
        `${reason}, and no model could be asked (${reply.failure})`,
      );
    }
    return this.#read(reply.text, reads, "in-process", reason);
  }

  /** One call, recorded before it is made, so that the daily budget counts it. */
  async #ask(
    model: Model,
    { excerpts }: Material,
  ): Promise<{ text: string } | { failure: string }> {
    const { deps, request, bounds } = this;
    const { stores } = request.scope;
    const { attempts } = stores;
    const config = deps.config();
    const now = (): string => isoAt(deps.now());
    const access = modelAccess(attempts, config, timeFormat(config.timezone), now());
    if (!access.allowed) return { failure: access.reason };
    const prompt = modelTask(request, excerpts);
    const [conversationId] = conversationsOf(request.scope, request.found);
    const attempt = await patiently(() =>
      attempts.begin(
        {
          conversationId: conversationId as ConversationId,
          heals: null,
          requestedModel: "",
          promptVersion: PROMPT_VERSION,
          level: "normal",
          inputTokens: estimateTokens(prompt),
        },
        now(),
      ),
    );
    const call = {
      prompt,
      purpose: "recall" as const,
      maxTokens: request.maxTokens * 2 + 1_024,
      temperature: 0.1,
      model: "",
    };
    const reply = await callModel(model, call, bounds.signal, Math.min(CALL_MS, bounds.left()));
    if (reply.kind === "failed") {
      const { outcome, detail } = reply;
      await patiently(() => attempts.end(attempt, { outcome, detail }, now()));
      return { failure: detail };
    }
    const { text, ...told } = reply.answer;
    const outcome = text.trim() === "" ? "empty" : "accepted";
    const outputTokens = told.outputTokens ?? estimateTokens(text);
    await patiently(() => attempts.end(attempt, { ...told, outputTokens, outcome }, now()));
    return outcome === "empty" ? { failure: "its answer was empty" } : { text };
  }

  /** Counted against the caller's own grant where it has one. */
  #gather(): { reads: Read[]; material: Material } {
    const { scope, found } = this.request;
    const time = timeFormat(this.deps.config().timezone);
    const own = new OwnAllowance(this.#cap);
    const material = gather(scope, found, this.#decision, { allowance: this.#bounded(own), time });
    const reads = material.excerpts.map((one) => ({ itemId: one.ref, tokens: one.tokens }));
    return { reads, material };
  }

  #bounded(own: OwnAllowance): Allowance {
    const { scope } = this.request;
    if (!scope.grant) return own;
    const granted = grantAllowance(scope.stores, scope.grant.id, this.deps.now);
    return {
      remaining: () => Math.min(own.remaining(), granted.remaining()),
      take: (reads) => granted.take(reads),
    };
  }

  #read(
    reply: string,
    reads: readonly Read[],
    via: "sub-agent" | "in-process",
    reason?: string,
  ): RecallAnswer {
    const read = readAnswer(reply);
    const known = new Set(reads.map(({ itemId }) => itemId));
    const { cited, dropped } = checkCitations(read.citedIds, (id) => known.has(id));
    const limited = this.#limit(read.answer);
    return {
      ...counted(reads),
      answer: limited.text,
      citedIds: cited,
      droppedIds: dropped,
      truncated: limited.isCut || read.isPartial,
      via,
      route: this.#decision.route,
      note: reason,
    };
  }

  #excerpts(
    { reads, material }: { reads: readonly Read[]; material: Material },
    reason: string,
  ): RecallAnswer {
    const limited = this.#limit(material.excerpts.map(({ text }) => text).join("\n\n"));
    return {
      ...counted(reads),
      answer: limited.text,
      citedIds: reads.map(({ itemId }) => itemId).filter((id) => limited.text.includes(`[${id}]`)),
      droppedIds: [],
      truncated: limited.isCut || material.isCut,
      via: "excerpts",
      route: this.#decision.route,
      note: reason,
    };
  }

  #limit(text: string) {
    return limitAnswer(text, { tokens: this.request.maxTokens, characters: MOST_CHARACTERS });
  }
}

/** Waits for another process's lock. */
function patiently<T>(work: () => T): Promise<T> {
  return retryWhileBusy(work, COUNTING_BUSY_MS);
}

/** Those that the candidates belong to: a sub-agent is let into nothing else. */
function conversationsOf({ stores, visible }: OpenScope, found: Found): ConversationId[] {
  const rows = [
    ...stores.summaries.many(found.summaries),
    ...stores.recall.messages(found.messages),
  ];
  return [...new Set(rows.map(({ conversationId }) => conversationId))].filter((id) =>
    visible.has(id),
  );
}

function counted(reads: readonly Read[]) {
  const summaries = reads.filter(({ itemId, tokens }) => tokens > 0 && itemId.startsWith("sum_"));
  return {
    expandedSummaryCount: summaries.length,
    totalSourceTokens: reads.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}
