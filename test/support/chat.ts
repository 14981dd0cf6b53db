// A conversation played through the engine as the host plays one: bootstrap, a view before the prompt
// and one before each model call, the commit, maintenance.

import type { LcmConfig } from "../../src/db/config.js";
import type { LcmContextEngine } from "../../src/engine.js";
import type { Lcm, OpenLcmOptions } from "../../src/lcm.js";
import type { AgentMessage, ConversationId, MessageId, SummaryId } from "../../src/types.js";
import { FakeHost } from "./fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./messages.js";
import { prose } from "./prose.js";
import { obedient, type Summarizer } from "./summarizers.js";
import { coveredMessages, expandNode, openWithHost } from "./workspace.js";

export interface ChatOptions {
  readonly config?: Partial<LcmConfig>;
  readonly summarize?: Summarizer | undefined;
  /** What the host offers for history before the prompt; in the tool loop it offers the window. */
  readonly budget?: number;
  readonly window?: number;
  readonly open?: Partial<OpenLcmOptions>;
}

export type Assembled = Awaited<ReturnType<LcmContextEngine["assemble"]>>;

const KEY = "agent:main:web1";
/** As observed with a window of 32,000 tokens. */
const BUDGET = 17_842;
const WINDOW = 32_000;

export class Chat {
  readonly host: FakeHost;
  readonly lcm: Lcm;
  readonly key = KEY;
  budget: number;
  window: number;
  #turns = 0;

  constructor({ config, summarize = obedient(), budget, window, open }: ChatOptions = {}) {
    this.host = new FakeHost();
    this.budget = budget ?? BUDGET;
    this.window = window ?? WINDOW;
    this.lcm = openWithHost(this.host, {
      summarize,
      timing: { callMs: 200, gapMs: 0 },
      ...(config ? { config } : {}),
      ...open,
    });
  }

  get stores() {
    return this.lcm.stores;
  }

  get conversation(): ConversationId {
    const found = this.stores.conversations.find(this.host.ref(KEY));
    if (!found) throw new Error("no turn has begun yet");
    return found.id;
  }

  get viewTokens(): number {
    return this.stores.views.state(this.conversation).tokens;
  }

  get version(): number {
    return this.stores.views.state(this.conversation).version;
  }

  /** The host's own list of messages, from which it would prompt a model without an engine. */
  get hostMessages(): AgentMessage[] {
    return this.host.transcript(KEY).map(({ message }) => message);
  }

  /** A turn without the background work behind it. Returns what the model was given first. */
  async turn(
    rows: readonly AgentMessage[] = this.talk(),
  ): Promise<Assembled & { readonly version: number }> {
    const engine = this.lcm.createEngine();
    const assembled = await this.begin(engine);
    const { version } = this;
    await this.loop(engine, assembled);
    await engine.commitTurn(this.host.turn(KEY, rows));
    await engine.maintain({ ...this.host.ref(KEY) });
    await engine.dispose();
    return { ...assembled, version };
  }

  /** Turns, each with the background work that is due behind it. */
  async turns(count: number, rows?: () => readonly AgentMessage[]): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      await this.turn(rows?.());
      await this.work();
    }
  }

  work(): Promise<void> {
    return this.lcm.worker.drain();
  }

  /** What the model would be given if a turn began now. */
  async look(): Promise<Assembled> {
    const engine = this.lcm.createEngine();
    const assembled = await this.begin(engine);
    await engine.dispose();
    return assembled;
  }

  async begin(engine: LcmContextEngine): Promise<Assembled> {
    const session = this.host.ref(KEY);
    await engine.bootstrap({ ...session, runtimeContext: { tokenBudget: this.window } });
    return engine.assemble(this.call(this.hostMessages, this.budget, { maxOutputTokens: 8_000 }));
  }

  /** The call before a model call: with our own list, and a budget that forgets the system prompt. */
  loop(engine: LcmContextEngine, { messages }: Assembled, pending = 100): Promise<Assembled> {
    return engine.assemble(this.call(messages, this.window - pending, { maxOutputTokens: null }));
  }

  call(messages: readonly AgentMessage[], tokenBudget: number, limits: object = {}) {
    return {
      ...this.host.ref(KEY),
      messages,
      tokenBudget,
      prompt: "and now?",
      model: "fake-1",
      availableTools: new Set(["lcm_grep", "lcm_describe", "lcm_expand_query"]),
      runtimeSettings: { model: { provider: "fake" }, limits },
    };
  }

  /** A turn with a tool call, about 450 tokens. */
  talk(sizes: { user?: number; result?: number; reply?: number } = {}): AgentMessage[] {
    this.#turns += 1;
    const { user = 100, result = 150, reply = 150 } = sizes;
    const seed = this.#turns;
    const at = this.host.tick(60_000);
    return [
      userMessage(`PLANTED-${seed} ${prose(user, seed)}`, at),
      ...toolLoop(`call-${seed}`, prose(result, seed + 1), at + 1),
      assistantMessage(prose(reply, seed + 2), at + 9),
    ];
  }

  /** The messages that the view covers, each as often as it does, in order. */
  covered(): MessageId[] {
    return coveredMessages(this.stores, this.conversation);
  }

  /** Down to the original messages. */
  expand(node: SummaryId): MessageId[] {
    return expandNode(this.stores, node);
  }

  /** A node and everything beneath it that is a node. */
  tree(node: SummaryId): SummaryId[] {
    return [node, ...this.stores.summaries.sourceIds(node).flatMap((source) => this.tree(source))];
  }

  allSummaries(): SummaryId[] {
    return this.stores.db
      .all<{ id: SummaryId }>("SELECT summary_id AS id FROM summaries ORDER BY rowid")
      .map(({ id }) => id);
  }

  /** What of the live branch goes to a model since the last reset, in order. */
  branch(): MessageId[] {
    const { conversations, boundaries, messages } = this.stores;
    const segment = conversations.currentSegment(this.conversation);
    if (segment === undefined) return [];
    const { position } = boundaries.viewStart(segment);
    return messages.branchFrom(segment, position).map(({ id }) => id);
  }

  summaries(): { depth: number; level: string; count: number }[] {
    return this.stores.db.all(
      "SELECT depth, level, count(*) AS count FROM summaries GROUP BY depth, level ORDER BY depth, level",
    );
  }

  /** As `shownSummaries`, also before the first turn. */
  shownOrNone(): SummaryId[] {
    return this.stores.conversations.find(this.host.ref(KEY)) ? this.shownSummaries() : [];
  }

  /** The ids of the summaries in the view, in order. */
  shownSummaries(): SummaryId[] {
    const items = this.stores.views.newest(this.conversation, 100_000);
    return items.flatMap((item) => ("summaryId" in item ? [item.summaryId] : []));
  }
}
