// Conversations of two agents and a sub-agent, each with a leaf over its messages, and the tools of any
// session among them.

import type { LcmConfig } from "../../src/db/config.js";
import { issueGrant } from "../../src/expansion-auth.js";
import type { Lcm, OpenLcmOptions } from "../../src/lcm.js";
import type { Sources } from "../../src/store/summary-store.js";
import type { Tool, ToolResult } from "../../src/tools/common.js";
import type { ToolName } from "../../src/tools/index.js";
import type { ConversationId, MessageId, SummaryId } from "../../src/types.js";
import { FakeHost } from "./fake-host.js";
import { assistantMessage, userMessage } from "./messages.js";
import { ScriptedSearch } from "./scripted-search.js";
import { openWithHost } from "./workspace.js";

export const KEYS = {
  own: "agent:main:web1",
  sibling: "agent:main:web2",
  foreign: "agent:ops:web1",
  child: "agent:main:subagent:worker",
  recall: "agent:main:subagent:lcm-recall-1",
} as const;

export interface Stored {
  readonly id: ConversationId;
  readonly leaf: SummaryId;
  readonly messages: readonly MessageId[];
}

export class RecallWorld {
  readonly host = new FakeHost();
  readonly lcm: Lcm;
  readonly search: ScriptedSearch;

  constructor(config: Partial<LcmConfig> = {}, open: Partial<OpenLcmOptions> = {}) {
    this.search = new ScriptedSearch(() => this.lcm.stores);
    this.lcm = openWithHost(this.host, { config, search: this.search, ...open });
  }

  /** Stores a turn that says something, and a leaf over it. */
  async store(key: string, says: string, extra: readonly string[] = []): Promise<Stored> {
    const { host } = this;
    const rows = [
      userMessage(says, host.tick(60_000)),
      assistantMessage(`noted: ${says}`, host.tick()),
      ...extra.map((text) => assistantMessage(text, host.tick())),
    ];
    const engine = this.lcm.createEngine();
    await engine.commitTurn(host.turn(key, rows));
    await engine.dispose();
    const { conversations, db } = this.lcm.stores;
    const found = conversations.find(host.ref(key));
    if (!found) throw new Error(`${key} is not stored`);
    const messages = db
      .all<{ id: MessageId }>(
        "SELECT message_id AS id FROM messages WHERE conversation_id = ? ORDER BY message_id",
        found.id,
      )
      .map(({ id }) => id);
    return { id: found.id, leaf: this.leaf(found.id, messages, `A note of ${key}`), messages };
  }

  leaf(conversationId: ConversationId, messages: readonly MessageId[], content: string): SummaryId {
    return this.#node(conversationId, messages, content, { kind: "leaf", messages });
  }

  condensed({ id, messages }: Stored, summaries: readonly SummaryId[], content: string): SummaryId {
    return this.#node(id, messages, content, { kind: "condensed", summaries });
  }

  #node(
    conversationId: ConversationId,
    messages: readonly MessageId[],
    content: string,
    sources: Sources,
  ): SummaryId {
    const at = new Date(this.host.now()).toISOString();
    const { summaries } = this.lcm.stores;
    return summaries.insert(
      {
        conversationId,
        depth: sources.kind === "leaf" ? 0 : 1,
        content: `${content}\nExpand for details about: what was said`,
        tokens: 20,
        earliestAt: at,
        latestAt: at,
        descendantCount: 0,
        messageCount: messages.length,
        firstMessageId: messages[0]!,
        lastMessageId: messages.at(-1)!,
        fileIds: [],
        level: "normal",
        model: "fake/fake-1",
        promptVersion: "test",
        previousContext: null,
        sourceTokens: 5_000,
      },
      sources,
      at,
    );
  }

  grant(
    sessionKey: string,
    conversations: readonly ConversationId[],
    { tokenCap = 4_000, ttlMs = 60_000 } = {},
  ): string {
    const request = { sessionKey, conversations, own: conversations, parent: undefined };
    const grant = issueGrant(this.lcm.stores, { ...request, tokenCap, ttlMs }, this.host.now());
    if (!grant) throw new Error("no grant was made");
    return grant.id;
  }

  tools(key: string): Tool[] {
    return this.lcm.tools({ kind: "session", session: this.host.ref(key) });
  }

  /** Calls a tool as a session would; undefined when it is not offered. */
  async call(key: string, name: ToolName, params: unknown): Promise<ToolResult | undefined> {
    return this.tools(key)
      .find((tool) => tool.name === name)
      ?.execute("call-1", params);
  }

  async text(key: string, name: ToolName, params: unknown): Promise<string> {
    return textOf(await this.call(key, name, params));
  }
}

export function textOf(result: ToolResult | undefined): string {
  return result?.content.map(({ text }) => text).join("\n") ?? "(not offered)";
}

export function errorOf(result: ToolResult | undefined): string | undefined {
  return (result?.details as { error?: string } | undefined)?.error;
}
