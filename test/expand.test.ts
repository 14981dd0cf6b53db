// Expansion goes down: from any node to exactly the messages it stands for, in pieces of any size.

import { describe, expect, it } from "vitest";
import { issueGrant } from "../src/expansion-auth.js";
import type { MessageId, SummaryId } from "../src/types.js";
import { Chat } from "./support/chat.js";
import { errorOf, KEYS, RecallWorld } from "./support/recall-world.js";
import { ScriptedSearch } from "./support/scripted-search.js";

interface Expanded {
  readonly readIds: readonly string[];
  readonly totalTokens: number;
  readonly truncated: boolean;
  readonly cursor?: string;
}

/** A conversation with a graph of three levels. */
async function deepChat(): Promise<Chat> {
  const chat: Chat = new Chat({
    config: { incrementalMaxDepth: 3, condensedMinFanout: 2, leafChunkTokens: 2_000 },
    open: { search: new ScriptedSearch(() => chat.stores) },
  });
  await chat.turns(60);
  return chat;
}

function grantFor(chat: Chat, tokenCap: number): string {
  const grant = issueGrant(
    chat.stores,
    {
      sessionKey: KEYS.recall,
      conversations: [chat.conversation],
      own: [chat.conversation],
      parent: undefined,
      tokenCap,
      ttlMs: 60_000,
    },
    chat.host.now(),
  );
  return grant!.id;
}

async function expand(chat: Chat, params: object) {
  const session = chat.host.ref(KEYS.recall);
  const tools = chat.lcm.tools({ kind: "session", session });
  const result = await tools.find(({ name }) => name === "lcm_expand")!.execute("call", params);
  return { text: result.content[0]!.text, details: result.details as Expanded };
}

/** Follows the cursor to the end. */
async function expandAll(chat: Chat, params: object): Promise<{ ids: string[]; pages: string[] }> {
  const ids: string[] = [];
  const pages: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { text, details } = await expand(chat, { ...params, ...(cursor ? { cursor } : {}) });
    ids.push(...details.readIds);
    pages.push(text);
    if (!details.truncated) return { ids, pages };
    cursor = details.cursor;
  }
}

const messagesAmong = (ids: readonly string[]): MessageId[] =>
  ids.filter((id) => id.startsWith("msg_")).map((id) => Number(id.slice(4)) as MessageId);

describe("lcm_expand", () => {
  it("leads from every node of a graph to exactly its original messages", async () => {
    const chat = await deepChat();
    const nodes = chat.stores.summaries.many(chat.allSummaries());
    expect(new Set(nodes.map(({ depth }) => depth))).toEqual(new Set([0, 1, 2, 3]));
    grantFor(chat, 10_000_000);
    for (const { id } of nodes) {
      const { ids, pages } = await expandAll(chat, {
        summaryIds: [id],
        maxDepth: 10,
        includeMessages: true,
      });
      expect(messagesAmong(ids)).toEqual(chat.expand(id));
      expect(ids.filter((one) => one.startsWith("sum_"))).toEqual(chat.tree(id));
      expect(pages.every((page) => page.length < 15_000)).toBe(true);
    }
  });

  it("gives the texts: of the layer below, and of the messages when they are asked for", async () => {
    const chat = await deepChat();
    grantFor(chat, 10_000_000);
    const top = chat.stores.summaries.many(chat.allSummaries()).find(({ depth }) => depth === 1)!;
    const sources = chat.stores.summaries.many(chat.stores.summaries.sourceIds(top.id));
    const layer = await expand(chat, { summaryIds: [top.id] });
    for (const { content } of sources) expect(layer.text).toContain(content);
    expect(messagesAmong(layer.details.readIds)).toEqual([]);
    const leaf = sources[0]!.id;
    const [first] = chat.expand(leaf);
    const said = String(chat.stores.messages.get(first!)["content"]);
    expect((await expand(chat, { summaryIds: [leaf] })).text).not.toContain(said);
    expect((await expand(chat, { summaryIds: [leaf], includeMessages: true })).text).toContain(
      said,
    );
  });

  it("keeps to the cap of the call and of the grant, and says how to go on", async () => {
    const chat = await deepChat();
    const grant = grantFor(chat, 3_000);
    const [root] = chat.shownSummaries();
    const params = { summaryIds: [root], maxDepth: 10, includeMessages: true };
    const first = await expand(chat, { ...params, tokenCap: 1_500 });
    expect(first.details.totalTokens).toBeLessThanOrEqual(1_500);
    expect(first.details.truncated).toBe(true);
    expect(first.text).toContain(`cursor: "${first.details.cursor}"`);
    expect(chat.stores.grants.remaining(grant)).toBe(3_000 - first.details.totalTokens);
    const second = await expand(chat, { ...params, cursor: first.details.cursor });
    expect(first.details.totalTokens + second.details.totalTokens).toBeLessThanOrEqual(3_000);
    expect(first.details.readIds.filter((id) => second.details.readIds.includes(id))).toEqual([]);
    const third = await expand(chat, { ...params, cursor: second.details.cursor });
    expect(third.text).toMatch(/grant holds \d+ more tokens/);
  });

  it("goes past a message that is longer than any page, and says where it is whole", async () => {
    const world = new RecallWorld();
    const { id, leaf, messages } = await world.store(KEYS.own, "short", [
      "long ".repeat(20_000),
      "behind it",
    ]);
    world.grant(KEYS.recall, [id], { tokenCap: 1_000_000 });
    const texts: string[] = [];
    let cursor: string | undefined;
    do {
      const params = { summaryIds: [leaf], includeMessages: true, ...(cursor ? { cursor } : {}) };
      const result = await world.call(KEYS.recall, "lcm_expand", params);
      expect(errorOf(result)).toBeUndefined();
      texts.push(result!.content[0]!.text);
      cursor = (result!.details as Expanded).cursor;
    } while (cursor !== undefined);
    expect(texts.join("\n")).toContain("behind it");
    expect(texts.join("\n")).toContain(`lcm_describe(id: "msg_${messages[2]}") shows it whole`);
    expect(texts.every((text) => text.length < 15_000)).toBe(true);
  });

  it("finds summaries by a query, through the messages they cover", async () => {
    const chat = await deepChat();
    grantFor(chat, 100_000);
    const { text, details } = await expand(chat, { query: "PLANTED-2" });
    expect(details.readIds.some((id) => id.startsWith("msg_"))).toBe(true);
    expect(text).toContain("PLANTED-2");
  });

  it("says why a search stopped that found nothing", async () => {
    const world = new RecallWorld();
    const { id } = await world.store(KEYS.own, "nothing");
    world.grant(KEYS.recall, [id]);
    world.search.stopped = "Another search was still running.";
    expect(await world.text(KEYS.recall, "lcm_expand", { query: "zebra" })).toContain(
      "Another search was still running.",
    );
  });

  it("reads what stands for a superseded node now, however it is reached, and only once", async () => {
    const world = new RecallWorld();
    const stored = await world.store(KEYS.own, "harbor");
    const { id, leaf, messages } = stored;
    const better = world.leaf(id, messages, "Better harbor");
    const over = world.condensed(stored, [leaf, better], "Over both");
    world.lcm.stores.summaries.supersede(leaf, better, "test", "2026-11-18T09:00:00.000Z");
    world.grant(KEYS.recall, [id], { tokenCap: 100_000 });
    const read = async (params: object): Promise<readonly string[]> => {
      const result = await world.call(KEYS.recall, "lcm_expand", { maxDepth: 1, ...params });
      return (result!.details as Expanded).readIds;
    };
    const lines = messages.map((message) => `msg_${message}`);
    expect(await read({ summaryIds: [leaf] })).toEqual([better, ...lines]);
    expect(await read({ summaryIds: [leaf, better] })).toEqual([better, ...lines]);
    expect(await read({ query: "harbor" })).toEqual([better, ...lines]);
    expect(await read({ summaryIds: [over] })).toEqual([over, better]);
    expect(await read({ summaryIds: [leaf], cursor: leaf })).toEqual(lines);
  });

  it("offers a superseded node's successor in lcm_describe", async () => {
    const world = new RecallWorld();
    const { id, leaf, messages } = await world.store(KEYS.own, "nothing");
    const better = world.leaf(id, messages, "Better");
    const { summaries } = world.lcm.stores;
    summaries.supersede(leaf, better, "test", "2026-11-18T09:00:00.000Z");
    const text = await world.text(KEYS.own, "lcm_describe", { id: leaf });
    expect(text).toContain(`Superseded by ${better}`);
    const one: SummaryId[] = [better];
    expect(await world.text(KEYS.own, "lcm_describe", { id: `msg_${messages[0]}` })).toContain(
      `Covered by ${one.join(", ")}\n`,
    );
  });
});
