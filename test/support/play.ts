// A conversation to which anything may happen, and what must hold whatever does.

import { expect } from "vitest";
import { renderStyle } from "../../src/assembler/render-summary.js";
import { loadState } from "../../src/compaction/load-state.js";
import { isMessage, type ViewItem } from "../../src/compaction/view-items.js";
import { currentPolicy } from "../../src/current-policy.js";
import { isAgentMessage } from "../../src/message-codec.js";
import type { AgentMessage, MessageId, SummaryId } from "../../src/types.js";
import { Chat } from "./chat.js";
import { assistantMessage, toolLoop, userMessage } from "./messages.js";
import { prose } from "./prose.js";
import type { Summarizer } from "./summarizers.js";

export type Move =
  | { readonly kind: "turn"; readonly sizes: readonly number[]; readonly loops: number }
  | { readonly kind: "work" }
  | { readonly kind: "idle" }
  | { readonly kind: "rewind"; readonly back: number }
  | { readonly kind: "switch" }
  | { readonly kind: "reset"; readonly keep: number }
  | { readonly kind: "new id" }
  | { readonly kind: "compact" }
  | { readonly kind: "overflow"; readonly attempt: number }
  | { readonly kind: "budget"; readonly share: number }
  | { readonly kind: "steered" };

const BUDGET = 12_000;

export class Play {
  readonly chat: Chat;
  #left: string[] | undefined;
  #calls = 0;
  #lastVersion = -1;
  #lastList: readonly AgentMessage[] = [];

  constructor(summarize: Summarizer) {
    this.chat = new Chat({
      summarize,
      budget: BUDGET,
      window: 24_000,
      config: { freshTailCount: 8, leafChunkTokens: 2_500, summaryTokensPerDay: 0 },
      open: { timing: { callMs: 5, gapMs: 0 } },
    });
  }

  async make(step: Move): Promise<void> {
    const { chat } = this;
    const { host, key } = chat;
    switch (step.kind) {
      case "turn":
        this.#checkList(await chat.turn(this.#rows(step.sizes, step.loops)));
        break;
      case "work":
        await this.#shrinking(() => chat.work());
        break;
      case "idle":
        host.tick(3_600_000);
        await this.#shrinking(() => chat.work());
        break;
      case "rewind": {
        // The host rewinds to what a user sent, nowhere else.
        const sent = host.transcript(key).filter(({ message }) => message.role === "user");
        const at = sent.at(-1 - Math.min(step.back, sent.length - 1));
        this.#left = host.activeIds(key);
        if (at) host.rewind(key, at.entryId);
        break;
      }
      case "switch":
        if (this.#left) this.#left = host.switchTo(key, this.#left);
        break;
      case "reset":
        host.reset(key, "new", host.activeIds(key).at(-1 - step.keep));
        break;
      case "new id":
        host.newSessionId(key);
        this.#left = undefined;
        break;
      case "compact":
        await this.#shrinking(() => this.#compact("manual", 1));
        break;
      case "overflow":
        await this.#shrinking(() => this.#compact("overflow", step.attempt));
        break;
      case "budget":
        chat.budget = Math.floor(BUDGET * step.share);
        chat.window = chat.budget * 2;
        break;
      case "steered":
        for (const row of this.#rows([40, 40], 0)) host.append(key, row);
        host.rotate(key);
        break;
    }
  }

  #rows(sizes: readonly number[], loops: number): AgentMessage[] {
    const at = this.chat.host.tick(60_000);
    const rows = [userMessage(prose(sizes[0] ?? 1, at), at)];
    for (let loop = 0; loop < loops; loop += 1) {
      this.#calls += 1;
      rows.push(...toolLoop(`c${this.#calls}`, prose(sizes[2] ?? 10, at + loop), at + loop));
    }
    rows.push(assistantMessage(prose(sizes[1] ?? 1, at + 1), at + 9));
    return rows;
  }

  async #compact(trigger: string, attempt: number): Promise<void> {
    const { chat } = this;
    const answer = await chat.lcm.createEngine().compact({
      ...chat.host.ref(chat.key),
      tokenBudget: chat.window,
      currentTokenCount: chat.window + 500,
      runtimeContext: { trigger, attempt },
    });
    expect(answer.ok).toBe(true);
    const { tokensBefore = 1, tokensAfter = 0 } = answer.result ?? {};
    expect(tokensAfter).toBeLessThan(tokensBefore);
  }

  /** A pass lowers the view's tokens, or changes nothing; only a better node may lengthen it. */
  async #shrinking(pass: () => Promise<void>): Promise<void> {
    const { chat } = this;
    const before = this.#tokens();
    await pass();
    const after = this.#tokens();
    if (before === undefined || after === undefined || after <= before) return;
    const healed = chat.stores.db.get("SELECT 1 FROM supersessions");
    // A compaction may first read what the transcript has and we have not.
    const grew = chat.stores.db.get("SELECT 1 FROM sync_events");
    expect(healed ?? grew).toBeDefined();
  }

  #tokens(): number | undefined {
    const found = this.chat.stores.conversations.find(this.chat.host.ref(this.chat.key));
    return found && this.chat.stores.views.state(found.id).tokens;
  }

  /** Between two publishes the list only grows. */
  #checkList({ messages, version }: Awaited<ReturnType<Chat["turn"]>>): void {
    if (version === this.#lastVersion) {
      expect(messages.slice(0, this.#lastList.length)).toEqual(this.#lastList);
    }
    this.#lastVersion = version;
    this.#lastList = messages;
  }

  /** What must hold whenever the transcript has been read. */
  async check(): Promise<void> {
    const { chat } = this;
    const { messages, estimatedTokens } = await chat.look();
    expect(chat.covered()).toEqual(chat.branch());
    expect(this.#live()).toEqual(chat.branch());
    this.#checkGraph();
    this.#checkRuns();
    expect(estimatedTokens).toBeLessThanOrEqual(Math.max(chat.budget, 600));
    checkPairs(messages);
  }

  /**
   * The messages that the live nodes cover, each as often as they do, and those that none covers: the
   * view as it is with everything prepared in its place.
   */
  #live(): MessageId[] {
    const { stores, lcm, conversation } = this.chat;
    const policy = currentPolicy(stores, lcm.config, conversation)!;
    const { elements, tail } = loadState(stores, conversation, {
      policy,
      style: renderStyle(lcm.config),
    });
    return [...elements.map(({ ref }) => ref), ...tail.map(refOf)].flatMap((ref) =>
      typeof ref === "number" ? [ref] : this.chat.expand(ref),
    );
  }

  /** A leaf that is whole on the branch covers a run of it. */
  #checkRuns(): void {
    const { chat } = this;
    const places = new Map(chat.branch().map((id, index) => [id, index]));
    const leaves = chat.stores.db.all<{ id: SummaryId }>(
      "SELECT summary_id AS id FROM summaries WHERE depth = 0",
    );
    for (const { id } of leaves) {
      const run = chat.expand(id).map((message) => places.get(message));
      const [first] = run;
      if (first === undefined || run.includes(undefined)) continue;
      expect(run).toEqual(run.map((_, index) => first + index));
    }
  }

  #checkGraph(): void {
    const { stores } = this.chat;
    const nodes = stores.db.all<{ id: never; depth: number; tokens: number; source: number }>(
      "SELECT summary_id AS id, depth, token_count AS tokens, source_tokens AS source FROM summaries",
    );
    for (const { id, depth, tokens, source } of nodes) {
      expect(tokens).toBeLessThan(source);
      for (const below of stores.summaries.many(stores.summaries.sourceIds(id))) {
        expect(below.depth).toBeLessThan(depth);
      }
      expect(this.chat.expand(id)).toHaveLength(stores.summaries.get(id)!.messageCount);
    }
  }
}

function refOf(item: ViewItem): MessageId | SummaryId {
  return isMessage(item) ? item.messageId : item.summaryId;
}

function checkPairs(messages: readonly AgentMessage[]): void {
  let open: string[] = [];
  for (const message of messages) {
    expect(isAgentMessage(message)).toBe(true);
    if (message.role === "toolResult") {
      expect(open).toContain(message["toolCallId"]);
      open = open.filter((id) => id !== message["toolCallId"]);
      continue;
    }
    expect(open).toEqual([]);
    if (message.role !== "assistant") continue;
    const blocks = message["content"] as { type: string; id?: string }[];
    expect(blocks.length).toBeGreaterThan(0);
    open = blocks.filter(({ type }) => type === "toolCall").map(({ id }) => id as string);
  }
  expect(open).toEqual([]);
}
