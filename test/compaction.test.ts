// What a growing conversation goes through: passed on as it is, prepared in the background, published
// together, condensed by depth; and what never happens to it.

import { describe, expect, it } from "vitest";
import type { AgentMessage } from "../src/types.js";
import { Chat } from "./support/chat.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { prose } from "./support/prose.js";
import { depthOf, obedient, sourceOf } from "./support/summarizers.js";

/** With the budget that a window of 32,000 tokens leaves. */
const THRESHOLD = Math.floor(0.75 * 17_842);

function textOf(messages: readonly AgentMessage[]): string {
  return messages.map(({ content }) => JSON.stringify(content)).join("\n");
}

describe("a conversation below half the threshold", () => {
  it("reaches the model as the host has it, and no model is asked", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    await chat.turns(10);
    const engine = chat.lcm.createEngine();
    const hosts = chat.hostMessages;
    await chat.begin(engine);
    const { messages, systemPromptAddition } = await engine.assemble(chat.call(hosts, 31_900));
    expect(messages).toBe(hosts);
    expect(systemPromptAddition).toBeUndefined();
    expect(summarize.requests).toEqual([]);
  });
});

describe("a conversation that grows", () => {
  it("has its leaves prepared as chunks fall due, and sees them together at the threshold", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    const seen: { calls: number; shown: number }[] = [];
    while (chat.shownOrNone().length === 0) {
      await chat.turns(1);
      seen.push({ calls: summarize.requests.length, shown: chat.shownOrNone().length });
    }
    const before = seen.at(-2);
    expect(before).toMatchObject({ shown: 0 });
    expect(before?.calls).toBeGreaterThan(0);
    expect(chat.shownSummaries().length).toBeGreaterThan(1);
    expect(chat.viewTokens).toBeLessThan(THRESHOLD * 0.6);
  });

  it("shows the model a list that only grows between two publishes, in and across turns", async () => {
    const chat = new Chat();
    let last = { version: -1, list: "" };
    let publishes = 0;
    for (let turn = 0; turn < 60; turn += 1) {
      const engine = chat.lcm.createEngine();
      const first = await chat.begin(engine);
      const { version } = chat;
      const list = JSON.stringify(first.messages).slice(0, -1);
      const isPublished = version !== last.version;
      expect(isPublished || list.startsWith(last.list)).toBe(true);
      if (isPublished) publishes += 1;
      last = { version, list };
      // The background may publish while the turn runs; the turn keeps what it began with.
      await chat.work();
      const second = await chat.loop(engine, first, 2_000);
      expect(second.messages).toEqual(first.messages);
      await engine.commitTurn(chat.host.turn(chat.key, chat.talk()));
      await engine.dispose();
      await chat.work();
    }
    expect(publishes).toBeGreaterThan(2);
    expect(publishes).toBeLessThan(9);
  });

  it("covers every message once, at any time, and expands to exactly what was said", async () => {
    const chat = new Chat();
    for (let turn = 0; turn < 80; turn += 1) {
      await chat.turns(1);
      expect(chat.covered()).toEqual(chat.branch());
    }
    expect(chat.branch()).toHaveLength(320);
  });

  it("is condensed by depth, and each node keeps what its sources planted", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    await chat.turns(110, () => chat.talk({ user: 300, result: 300, reply: 300 }));
    expect(chat.summaries().every(({ level }) => level === "normal")).toBe(true);
    const { stores } = chat;
    const depths = new Set(summarize.requests.map(depthOf));
    expect([...depths].toSorted()).toEqual(expect.arrayContaining([0, 1, 2]));
    for (const { id, content } of stores.db.all<{ id: never; content: string }>(
      "SELECT summary_id AS id, content FROM summaries",
    )) {
      const covered = textOf(chat.expand(id).map((message) => stores.messages.get(message)));
      const planted = covered.match(/PLANTED-\d+/g) ?? [];
      expect(planted.slice(0, 12)).toEqual(content.match(/PLANTED-\d+/g)?.slice(0, 12) ?? []);
    }
  });

  it("leaves the model what it needs to find its way: ids, ranges, footers, and how to recall", async () => {
    const chat = new Chat();
    await chat.turns(60);
    const { messages, systemPromptAddition } = await chat.look();
    const first = String(messages[0]?.["content"]);
    expect(first).toMatch(
      /^<summary id="sum_[0-9a-f]{16}" kind="condensed" depth="1" descendant_count="\d+" earliest_at="2026-11-18T\d\d:\d\d:\d\d" latest_at="2026-11-18T\d\d:\d\d:\d\d">/,
    );
    expect(first).toContain("Expand for details about:");
    expect(systemPromptAddition).toMatch(
      /lossy[\s\S]*in UTC[\s\S]*lcm_grep[\s\S]*lcm_expand_query/,
    );
    const plain = await chat.lcm
      .createEngine()
      .assemble({ ...chat.call(chat.hostMessages, chat.budget), availableTools: new Set() });
    expect(plain.systemPromptAddition).toBeUndefined();
  });
});

describe("what goes into a leaf", () => {
  it("is prefixed with roles and times, and with what came before", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    await chat.turns(60);
    const leaves = summarize.requests.filter((request) => depthOf(request) === 0);
    expect(sourceOf(leaves[0]!)).toMatch(/^\[2026-11-18 08:01 UTC\] user\nPLANTED-1 /);
    expect(sourceOf(leaves[0]!)).toMatch(
      /\[2026-11-18 08:01 UTC\] assistant\ncalls exec \{"command":"date"\}\n\n\[2026-11-18 08:01 UTC\] exec result\n/,
    );
    expect(leaves[0]!.prompt).not.toContain("previous_context");
    expect(leaves[1]!.prompt).toContain("<previous_context>\nSummary 1. ");
    const stored = chat.stores.db.all<{ previous: string | null }>(
      "SELECT previous_context AS previous FROM summaries WHERE depth = 0 ORDER BY rowid",
    );
    expect(stored[0]?.previous).toBeNull();
    expect(stored[1]?.previous).toMatch(/^Summary 1\. /);
    const condensed = summarize.requests.find((request) => depthOf(request) === 1);
    expect(sourceOf(condensed!)).toMatch(
      /^\[2026-11-18 08:01–08:\d\d UTC\] sum_[0-9a-f]{16}\nSummary/,
    );
  });

  it("never splits a tool call from its results, nor a turn where it fits", async () => {
    const chat = new Chat();
    await chat.turns(60);
    const { stores } = chat;
    const leaves = stores.db.all<{ id: never }>(
      "SELECT summary_id AS id FROM summaries WHERE depth = 0",
    );
    for (const { id } of leaves) {
      const roles = chat.expand(id).map((message) => stores.messages.get(message).role);
      expect(roles[0]).toBe("user");
      expect(roles.at(-1)).toBe("assistant");
    }
  });

  it("quotes bulky output in part, and stays within what it covers", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    await chat.turns(30, () => chat.talk({ result: 3_000 }));
    expect(summarize.requests.length).toBeGreaterThan(0);
    for (const request of summarize.requests.filter((one) => depthOf(one) === 0)) {
      expect(sourceOf(request).length / 4).toBeLessThan(2 * 4_460);
    }
    expect(sourceOf(summarize.requests[0]!)).toMatch(/\[… [\d,]+ characters left out …\]/);
  });
});

describe("bulk", () => {
  it("becomes stubs before any model is asked, each with an id that leads back", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    await chat.turns(6, () => chat.talk({ user: 20, result: 2_600, reply: 20 }));
    expect(summarize.requests).toEqual([]);
    const { messages } = await chat.look();
    const stub = messages.find((message) => textOf([message]).includes("shown in short"));
    expect(stub).toMatchObject({ role: "toolResult", toolCallId: "call-1", toolName: "exec" });
    expect(textOf([stub!])).toMatch(
      /\[msg_3: exec result of [\d,]+ tokens, shown in short\. It begins: .* … and ends: .*lcm_describe\(id: \\"msg_3\\"\) gives the original\.\]/,
    );
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("in one message above a quarter of the budget is a reference from the next turn on", async () => {
    const chat = new Chat();
    await chat.turns(2);
    const paste = userMessage(prose(6_000, 7), chat.host.tick());
    await chat.turn([paste, assistantMessage("read", chat.host.tick())]);
    const { messages } = await chat.look();
    const shown = messages.find((message) => textOf([message]).includes("shown in short"));
    expect(shown).toMatchObject({ role: "user", timestamp: paste["timestamp"] });
    expect(textOf([shown!]).length).toBeLessThan(1_200);
    expect(chat.stores.messages.get(chat.branch()[8]!)).toEqual(paste);
  });

  it("in a tool call above a quarter of the budget loses its arguments, not its result", async () => {
    const chat = new Chat();
    const at = chat.host.tick();
    const [call, result] = toolLoop("big", "written", at) as [AgentMessage, AgentMessage];
    const block = { type: "toolCall", id: "big", name: "write", arguments: { text: prose(6_000) } };
    await chat.turn([userMessage("write it", at), { ...call, content: [block] }, result]);
    const { messages } = await chat.look();
    expect(messages[1]?.["content"]).toMatchObject([
      { type: "text" },
      { type: "toolCall", id: "big", arguments: { omitted: expect.stringContaining("msg_2") } },
    ]);
    expect(messages[2]).toMatchObject({ role: "toolResult", toolCallId: "big" });
  });
});

describe("an idle conversation", () => {
  it("is published above half the threshold once no cache holds it, and not before", async () => {
    const chat = new Chat();
    while (chat.summaries().length === 0) await chat.turns(1);
    expect(chat.viewTokens).toBeGreaterThan(THRESHOLD / 2);
    chat.host.tick(4 * 60_000);
    await chat.work();
    expect(chat.shownSummaries()).toEqual([]);
    chat.host.tick(2 * 60_000);
    await chat.work();
    expect(chat.shownSummaries()).toHaveLength(1);
  });
});

describe("branches", () => {
  it("cut by a rewind lose only what they lost, level by level, and come back whole", async () => {
    const summarize = obedient();
    const chat = new Chat({ summarize });
    await chat.turns(75);
    const { host, key } = chat;
    const before = chat.shownSummaries();
    const depthsBefore = chat.stores.summaries.many(before).map(({ depth }) => depth);
    expect(Math.max(...depthsBefore)).toBeGreaterThan(0);
    const calls = summarize.requests.length;

    const left = host.activeIds(key);
    const cutAt = host.transcript(key)[8 * 4];
    host.rewind(key, cutAt!.entryId);
    await chat.look();
    expect(chat.covered()).toEqual(chat.branch());
    expect(chat.branch()).toHaveLength(32);
    const kept = chat.stores.summaries.many(chat.shownSummaries());
    expect(kept.map(({ depth }) => depth)).toEqual(kept.map(() => 0));

    host.switchTo(key, left);
    await chat.look();
    expect(chat.shownSummaries()).toEqual(before);
    expect(chat.covered()).toEqual(chat.branch());
    expect(summarize.requests).toHaveLength(calls);
  });

  it("keep their beginning in the provider's cache: a rewind of one turn changes nothing before it", async () => {
    const chat = new Chat();
    await chat.turns(70);
    const { messages: before } = await chat.look();
    const rows = chat.host.transcript(chat.key);
    chat.host.rewind(chat.key, rows[rows.length - 4]!.entryId);
    const { messages: after } = await chat.look();
    expect(JSON.stringify(after)).toBe(JSON.stringify(before.slice(0, -4)));
  });

  it("are never joined by a leaf across a reset that kept a tail", async () => {
    const chat = new Chat();
    await chat.turns(4);
    const entries = chat.host.activeIds(chat.key);
    chat.host.reset(chat.key, "idle", entries.at(-4)!);
    await chat.turns(40);
    const resetAt = chat.branch().indexOf(17 as never);
    expect(resetAt).toBe(4);
    for (const { id } of chat.stores.db.all<{ id: never }>(
      "SELECT summary_id AS id FROM summaries WHERE depth = 0",
    )) {
      const sides = new Set(chat.expand(id).map((message) => message >= 17));
      expect(sides.size).toBe(1);
    }
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("start small again after a reset, and the old nodes stay stored", async () => {
    const chat = new Chat();
    await chat.turns(60);
    const nodes = chat.summaries();
    chat.host.reset(chat.key, "new");
    await chat.turns(1);
    expect(chat.shownSummaries()).toEqual([]);
    expect(chat.branch()).toHaveLength(4);
    expect(chat.summaries()).toEqual(nodes);
    const { messages } = await chat.look();
    expect(messages).toHaveLength(chat.hostMessages.length);
  });
});

describe("a budget that shrinks in mid-session", () => {
  it("is only a smaller budget: what is prepared is published at once", async () => {
    const chat = new Chat({ budget: 101_427, window: 128_000 });
    await chat.turns(60, () => chat.talk({ user: 300, result: 400, reply: 300 }));
    expect(chat.viewTokens).toBeGreaterThan(50_000);
    Object.assign(chat, { budget: 17_433, window: 32_000 });
    const { messages, estimatedTokens } = await chat.look();
    expect(estimatedTokens).toBeLessThanOrEqual(17_433);
    expect(chat.shownSummaries()).toHaveLength(3);
    expect(messages.length).toBeGreaterThan(20);
  });

  it("folds what is not prepared into a pointer, until it is summarized", async () => {
    const chat = new Chat({ budget: 101_427, window: 128_000 });
    for (let turn = 0; turn < 60; turn += 1) await chat.turn();
    Object.assign(chat, { budget: 17_433, window: 32_000 });
    const { messages, estimatedTokens } = await chat.look();
    expect(estimatedTokens).toBeLessThanOrEqual(0.8 * 17_433);
    expect(textOf(messages)).toMatch(
      /<folded messages=\\"\d+\\" summaries=\\"0\\" range=\\"2026-11-18 [^"]*\\" first=\\"msg_\d+\\" last=\\"msg_\d+\\">/,
    );
    expect(chat.covered()).toEqual(chat.branch());
    await chat.turns(1);
    const after = await chat.look();
    expect(textOf(after.messages)).not.toContain("<folded");
    expect(after.estimatedTokens).toBeLessThanOrEqual(0.75 * 17_433);
    expect(chat.covered()).toEqual(chat.branch());
  });

  it("keeps a fold's beginning in the cache while the conversation goes on", async () => {
    const chat = new Chat({
      budget: 60_000,
      window: 80_000,
      config: { autocompactDisabled: true },
    });
    await chat.turns(100);
    Object.assign(chat, { budget: 17_433, window: 32_000 });
    const lists: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const { messages } = await chat.turn();
      lists.push(JSON.stringify(messages).slice(0, -1));
    }
    for (const [index, list] of lists.slice(1).entries()) {
      expect(list.startsWith(lists[index]!)).toBe(true);
    }
  });
});

describe("a race", () => {
  it("for the same chunk has one winner, and nothing is covered or published twice", async () => {
    const model = obedient();
    let isFirst = true;
    const chat: Chat = new Chat({
      summarize: async (request) => {
        if (isFirst) {
          // While the model thinks, somebody compacts by hand.
          isFirst = false;
          await chat.lcm.createEngine().compact({
            ...chat.host.ref(chat.key),
            tokenBudget: chat.window,
            runtimeContext: { trigger: "manual" },
          });
        }
        return model(request);
      },
      open: { timing: { callMs: 10_000, gapMs: 0 } },
    });
    await chat.turns(40);
    expect(chat.covered()).toEqual(chat.branch());
    const outcomes = chat.stores.db.all("SELECT DISTINCT outcome FROM summary_attempts ORDER BY 1");
    expect(outcomes).toEqual([{ outcome: "accepted" }, { outcome: "stale" }]);
    const twice = chat.stores.db.all(
      `SELECT message_id FROM summary_messages JOIN summaries USING (summary_id)
       GROUP BY message_id HAVING count(*) > 1`,
    );
    expect(twice).toEqual([]);
  });
});
