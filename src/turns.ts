// The turns in progress, by session key: which view each was begun with, and what the host told about
// their models. Lives as long as the engine object, which is one turn.

import { ratioFor } from "./current-policy.js";
import { retryWhileBusy } from "./db/connection.js";
import type { LcmConfig } from "./db/config.js";
import { type AssembleCall, tokenCount } from "./host-calls.js";
import { meetSession } from "./meet-session.js";
import { isAgentMessage, roughTokens } from "./message-codec.js";
import { beginSession } from "./open-session.js";
import type { Stores } from "./store/index.js";
import { tellTrouble } from "./store-trouble.js";
import { isoAt } from "./time-format.js";
import { type TurnAnswer, turnFacts, TurnView } from "./turn-view.js";
import type {
  AgentMessage,
  Clock,
  ConversationId,
  Logger,
  SessionRef,
  TranscriptSource,
} from "./types.js";

export interface TurnsDependencies {
  readonly stores: () => Stores;
  readonly source: TranscriptSource;
  readonly config: LcmConfig;
  readonly now: Clock;
  readonly log: Logger;
  /** How long a reply may be held up by a lock. */
  readonly busyMs: number;
}

export class Turns {
  readonly #deps: TurnsDependencies;
  /** Null where the store could not be reached: such a turn stays with the host's messages. */
  readonly #views = new Map<string, TurnView | null>();
  readonly #windows = new Map<string, number>();
  /** Session ids whose transcript was read to its end. */
  readonly #read = new Set<string>();

  constructor(deps: TurnsDependencies) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#views.size;
  }

  has(session: SessionRef): boolean {
    return this.#views.has(session.sessionKey);
  }

  noteRead({ sessionId }: SessionRef): void {
    this.#read.add(sessionId);
  }

  noteWindow({ sessionKey }: SessionRef, told: unknown): void {
    const window = tokenCount(told);
    if (window !== undefined) this.#windows.set(sessionKey, window);
  }

  /** After an overflow: the next view takes no more than so many of our tokens. */
  capAt({ sessionKey }: SessionRef, conversationId: ConversationId, tokens: number): void {
    const { config, now } = this.#deps;
    const stores = this.#deps.stores();
    const { model } = stores.conversations.turnFacts(conversationId);
    const cap = tokens * ratioFor(stores, model);
    this.#views.set(sessionKey, new TurnView({ stores, config, now }, conversationId, cap));
  }

  async assemble(session: SessionRef, call: AssembleCall): Promise<TurnAnswer> {
    try {
      const view = await this.#viewOf(session, call);
      if (!view) return passThrough(call);
      const isRead = this.#read.has(session.sessionId);
      return await retryWhileBusy(() => view.assemble(call, isRead), this.#deps.busyMs);
    } catch (error) {
      const what = "messages pass through unchanged; the store can not be reached";
      tellTrouble(this.#deps, what, error);
      return passThrough(call);
    }
  }

  async #viewOf(session: SessionRef, call: AssembleCall): Promise<TurnView | null> {
    const { sessionKey } = session;
    const known = this.#views.get(sessionKey);
    if (known !== undefined) return known;
    this.#views.set(sessionKey, null);
    const { source, config, now, busyMs } = this.#deps;
    const stores = await retryWhileBusy(() => this.#deps.stores(), busyMs);
    await meetSession({ stores, source, now }, session, busyMs);
    const begin = (): ConversationId =>
      stores.db.transaction(() => this.#begin(stores, session, call), "relaxed");
    const conversationId = await retryWhileBusy(begin, busyMs);
    const view = new TurnView({ stores, config, now }, conversationId);
    this.#views.set(sessionKey, view);
    return view;
  }

  /** Notes that the host asked us, and what it told about this turn's model. */
  #begin(stores: Stores, session: SessionRef, call: AssembleCall): ConversationId {
    const { conversations, events } = stores;
    const { source, now } = this.#deps;
    const { sessionId, sessionKey } = session;
    const startedAt = isoAt(now());
    const position = this.#turnPosition(stores, session);
    const { id } = beginSession({ stores, source }, session, startedAt).conversation;
    const window = this.#windows.get(sessionKey) ?? conversations.turnFacts(id).contextWindow;
    events.recordTurnStart(id, { sessionId, position, startedAt });
    conversations.markActive(id, startedAt);
    conversations.recordTurnFacts(id, turnFacts(call, window));
    return id;
  }

  /** Where the turn that begins now stands; null when our knowledge of the transcript is not current. */
  #turnPosition({ conversations, messages }: Stores, session: SessionRef): number | null {
    const conversation = conversations.find(session);
    const segment = conversation && conversations.segment(conversation.id, session.sessionId);
    if (!segment) return 0;
    if (!this.#read.has(session.sessionId)) return null;
    return (messages.head(segment.id)?.position ?? -1) + 1;
  }
}

/** The host's own messages, as they are. */
export function passThrough(call: AssembleCall | undefined): TurnAnswer {
  const messages = Array.isArray(call?.messages) ? (call.messages as AgentMessage[]) : [];
  const estimatedTokens = messages
    .filter(isAgentMessage)
    .reduce((sum, message) => sum + roughTokens(message), 0);
  return { messages, estimatedTokens, hasSummaries: false };
}
