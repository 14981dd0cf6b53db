// The view of one turn in progress. The host asks for it before every model call of the turn, with
// budgets that mean different things; the answer stays what it was at first, so that the provider's
// cache holds within the turn, and gets smaller only when the turn's own messages need the space.

import { assembleUnread, assembleView, type Assembled } from "./assembler/index.js";
import { renderStyle } from "./assembler/render-summary.js";
import { modelName } from "./calibration.js";
import { currentPolicy, ratioFor } from "./current-policy.js";
import type { LcmConfig } from "./db/config.js";
import { type AssembleCall, tokenCount } from "./host-calls.js";
import { isAgentMessage } from "./message-codec.js";
import type { TurnFacts } from "./store/conversation-store.js";
import type { Stores } from "./store/index.js";
import { estimateTokens } from "./tokens.js";
import type { AgentMessage, Clock, ConversationId } from "./types.js";
import { budgetBase, DEFAULT_BASE, viewPolicy } from "./view-policy.js";

export interface TurnViewDependencies {
  readonly stores: Stores;
  readonly config: LcmConfig;
  readonly now: Clock;
}

export interface TurnAnswer {
  readonly messages: AgentMessage[];
  /** In the model's tokens, as far as its counts are known. */
  readonly estimatedTokens: number;
  readonly hasSummaries: boolean;
}

/** The least a turn's view may be squeezed to, as a part of the budget that turns count on. */
const LEAST_SHARE = { atFirst: 1 / 16, inLoop: 1 / 4 };

export class TurnView {
  /** What the first call of the turn offered, which has the system prompt and the reserve taken off. */
  #offered: number | undefined;
  /** What the first call of the tool loop offered: later ones differ from it by the turn's messages. */
  #loopOffered: number | undefined;
  #assembled: Assembled | undefined;

  constructor(
    private readonly deps: TurnViewDependencies,
    private readonly conversationId: ConversationId,
    /** Set once an overflow showed that the window holds less than was thought. */
    private readonly cap: number = Number.POSITIVE_INFINITY,
  ) {}

  /** `isRead`: the store equals the transcript up to this turn. */
  assemble(call: AssembleCall, isRead: boolean): TurnAnswer {
    const { stores } = this.deps;
    const ratio = ratioFor(stores, stores.conversations.turnFacts(this.conversationId).model);
    const budget = Math.floor(this.#budget(call) / ratio);
    if (!this.#assembled || this.#assembled.tokens > budget) {
      this.#assembled = this.#read(call, isRead, budget);
    }
    const { messages, tokens, hasSummaries } = this.#assembled;
    return {
      // The host appends to the list it gets, and its own list it knows best.
      messages: messages ? [...messages] : (call.messages as AgentMessage[]),
      estimatedTokens: Math.round(tokens * ratio),
      hasSummaries,
    };
  }

  #read(call: AssembleCall, isRead: boolean, budget: number): Assembled {
    const { stores, config, now } = this.deps;
    const { conversationId } = this;
    const hosts = call.messages.filter(isAgentMessage);
    const { isStale } = stores.views.state(conversationId);
    if (!isRead || isStale) return assembleUnread({ stores, conversationId }, hosts, budget);
    const policy =
      currentPolicy(stores, config, conversationId) ?? viewPolicy(config, DEFAULT_BASE);
    const context = { stores, policy, style: renderStyle(config), now, conversationId };
    return assembleView(context, budget);
  }

  /** In the model's tokens. */
  #budget(call: AssembleCall): number {
    const { stores } = this.deps;
    const base = stores.conversations.turnFacts(this.conversationId).budgetBase ?? DEFAULT_BASE;
    const told = tokenCount(call.tokenBudget);
    if (this.#offered === undefined) {
      this.#offered = told ?? base;
      return Math.min(this.cap, Math.max(this.#offered, base * LEAST_SHARE.atFirst));
    }
    this.#loopOffered ??= told ?? base;
    const spent = this.#loopOffered - (told ?? this.#loopOffered);
    return Math.min(
      this.cap,
      Math.max(this.#offered - Math.max(0, spent), base * LEAST_SHARE.inLoop),
    );
  }
}

/** What the first call of a turn tells about its model and its budget. */
export function turnFacts(call: AssembleCall, window: number | null): Partial<TurnFacts> {
  const tokenBudget = tokenCount(call.tokenBudget);
  const model = modelName(call.runtimeSettings?.model?.provider, call.model);
  const promptTokens = typeof call.prompt === "string" ? estimateTokens(call.prompt) : 0;
  return {
    contextWindow: window,
    budgetBase:
      tokenBudget === undefined ? null : budgetBase({ tokenBudget, promptTokens, window }),
    model: model === "" ? null : model,
  };
}
