// lcm_expand_query: through a sub-agent, with one model call, or with excerpts; always bounded, always
// cleaned up, and citing only what was read.

import { describe, expect, it } from "vitest";
import type { RecallAnswer } from "../src/expand-query/index.js";
import type { LcmConfig } from "../src/db/config.js";
import {
  type ModelRequest,
  silentLogger,
  type SubagentEnd,
  type SubagentTask,
} from "../src/types.js";
import { createStores } from "../src/store/index.js";
import { TOOL_FACTORIES } from "../src/tools/index.js";
import { FaultyDatabase } from "./support/faulty-database.js";
import { KEYS, RecallWorld, type Stored, textOf } from "./support/recall-world.js";
import { ScriptedSubagents } from "./support/scripted-subagents.js";

const FACT = "the harbor code is 7391";
const ASK = { prompt: "What is the exact harbor code?", query: "harbor code" };

interface Options {
  readonly work?: (task: SubagentTask, world: RecallWorld) => Promise<SubagentEnd>;
  readonly model?: (request: ModelRequest) => Promise<string>;
  readonly config?: Partial<LcmConfig>;
  readonly limitMs?: number;
}

interface SetUp {
  readonly world: RecallWorld;
  readonly stored: Stored;
  readonly host: ScriptedSubagents;
}

/** Reads the leaf as a sub-agent would, and answers. */
const reader =
  (cited: (stored: readonly string[]) => readonly string[] = (ids) => ids) =>
  async (task: SubagentTask, world: RecallWorld): Promise<SubagentEnd> => {
    const summaryIds = /"summaryIds":(\[[^\]]*\])/.exec(task.message)?.[1] ?? "[]";
    const params = { summaryIds: JSON.parse(summaryIds) as string[], includeMessages: true };
    const result = await world.call(task.sessionKey, "lcm_expand", params);
    const { readIds } = result!.details as { readIds: string[] };
    const fact = /harbor code is \d+/.exec(textOf(result))?.[0];
    const reply = JSON.stringify({ answer: `It says: ${fact}`, citedIds: cited(readIds) });
    return { status: "ok", reply: `Here you are:\n\`\`\`json\n${reply}\n\`\`\`` };
  };

async function setUp({ work, model, config, limitMs = 5_000 }: Options = {}): Promise<SetUp> {
  const host = new ScriptedSubagents((task) => (work ?? reader())(task, world));
  const world: RecallWorld = new RecallWorld(config, {
    subagents: host,
    recallTiming: { limitMs, cleanUpMs: 200 },
    ...(model ? { summarize: model } : {}),
  });
  const stored = await world.store(
    KEYS.own,
    FACT,
    Array<string>(40).fill("filler text. ".repeat(12)),
  );
  return { world, stored, host };
}

async function ask({ world }: Pick<SetUp, "world">, params: object = ASK): Promise<RecallAnswer> {
  const result = await world.call(KEYS.own, "lcm_expand_query", params);
  return result!.details as RecallAnswer;
}

/** No session, and no grant that holds, is left. */
function leftovers({ world, host }: SetUp): { sessions: number; grants: number } {
  const row = world.lcm.stores.db.get<{ grants: number }>(
    "SELECT count(*) AS grants FROM expansion_grants WHERE revoked_at IS NULL",
  );
  return { sessions: host.sessions.size, grants: row?.grants ?? 0 };
}

const CLEAN = { sessions: 0, grants: 0 };

describe("through a sub-agent", () => {
  it("answers with what it read, cited and counted", async () => {
    const set = await setUp();
    const answer = await ask(set);
    expect(answer).toMatchObject({
      answer: "It says: harbor code is 7391",
      via: "sub-agent",
      truncated: false,
      expandedSummaryCount: 1,
      droppedIds: [],
    });
    expect(answer.citedIds).toContain(set.stored.leaf);
    expect(answer.citedIds).toContain(`msg_${set.stored.messages[0]}`);
    expect(answer.totalSourceTokens).toBeGreaterThan(100);
    expect(leftovers(set)).toEqual(CLEAN);
  });

  it("gives it a session that is not stored, three tools, a bounded grant, and no way to ask again", async () => {
    const offered: string[][] = [];
    const grants: unknown[] = [];
    const set = await setUp({
      config: { maxExpandTokens: 700 },
      work: async (task, world) => {
        offered.push(world.tools(task.sessionKey).map(({ name }) => name));
        const { id, tokenCap, conversations } = world.lcm.stores.grants.latestOf(task.sessionKey)!;
        grants.push({ tokenCap, conversations, isRandom: /^grant_[0-9a-f]{32}$/.test(id) });
        return reader()(task, world);
      },
    });
    await ask(set);
    const [task] = set.host.tasks;
    expect(task?.sessionKey).toMatch(/^agent:main:subagent:lcm-recall-[0-9a-f-]{36}$/);
    expect(task?.tools).toEqual(["lcm_grep", "lcm_describe", "lcm_expand"]);
    expect(offered).toEqual([["lcm_grep", "lcm_describe", "lcm_expand"]]);
    expect(grants).toEqual([{ tokenCap: 700, conversations: [set.stored.id], isRandom: true }]);
  });

  it("counts what it read again as often as it was read", async () => {
    let once = 0;
    const set = await setUp({
      work: async (task, world) => {
        const id = `msg_${set.stored.messages[5]}`;
        const describeIt = () => world.call(task.sessionKey, "lcm_describe", { id });
        await describeIt();
        once = world.lcm.stores.grants.latestOf(task.sessionKey)!.tokensUsed;
        await describeIt();
        await describeIt();
        return { status: "ok", reply: JSON.stringify({ answer: "filler", citedIds: [id] }) };
      },
    });
    const answer = await ask(set);
    expect(once).toBeGreaterThan(10);
    expect(answer).toMatchObject({ via: "sub-agent", totalSourceTokens: 3 * once });
  });

  it("drops what it cites without having read it, and says so", async () => {
    const set = await setUp({
      work: reader(([first]) => [first!, "sum_ffffffffffffffff", "msg_999", "nonsense"]),
    });
    const result = await set.world.call(KEYS.own, "lcm_expand_query", ASK);
    const answer = result!.details as RecallAnswer;
    expect(answer.citedIds).toEqual([set.stored.leaf]);
    expect(answer.droppedIds).toEqual(["sum_ffffffffffffffff", "msg_999"]);
    expect(textOf(result)).toContain("because it was not read: sum_ffffffffffffffff, msg_999");
  });

  it("keeps the answer within maxTokens, whatever the sub-agent says", async () => {
    const long = "word ".repeat(4_000);
    const set = await setUp({
      work: async () => ({ status: "ok", reply: JSON.stringify({ answer: long, citedIds: [] }) }),
    });
    const short = await ask(set, { ...ASK, maxTokens: 50 });
    expect(short.truncated).toBe(true);
    expect(short.answer.length).toBeLessThan(300);
    const usual = await set.world.call(KEYS.own, "lcm_expand_query", ASK);
    expect(textOf(usual).length).toBeLessThan(15_000);
    expect((usual!.details as RecallAnswer).truncated).toBe(true);
  });

  it.each([
    ["JSON alone", '{"answer":"7391","citedIds":[]}'],
    ["JSON between words", 'Sure! {"answer": "7391"} Anything else?'],
    ["a fence", '```\n{"answer":"7391"}\n```'],
    ["plain words", "7391"],
  ])("understands a reply that is %s", async (_what, reply) => {
    const set = await setUp({ work: async () => ({ status: "ok", reply }) });
    expect((await ask(set)).answer).toBe("7391");
  });

  it("waits on while the host says that it is still at work, and reads the reply from the session", async () => {
    const set = await setUp({ work: async () => ({ status: "ok" }) });
    set.host.first.push({ status: "pending" });
    set.host.last = "7391";
    expect((await ask(set)).answer).toBe("7391");
    expect(set.host.calls).toEqual(["run", "wait", "wait", "lastReply", "remove"]);
  });

  it("is under the grant of a sub-agent that asks: no more tokens, no longer", async () => {
    const seen: { tokenCap: number; expiresAt: string; parentId: string | null }[] = [];
    const set = await setUp({
      work: async (task, world) => {
        const grant = world.lcm.stores.grants.latestOf(task.sessionKey)!;
        seen.push(grant);
        return reader()(task, world);
      },
    });
    const parent = set.world.grant(KEYS.child, [set.stored.id], { tokenCap: 300, ttlMs: 9_000 });
    const result = await set.world.call(KEYS.child, "lcm_expand_query", ASK);
    expect(result!.details).toMatchObject({ via: "sub-agent" });
    const { grants } = set.world.lcm.stores;
    expect(seen).toMatchObject([
      { tokenCap: 300, parentId: parent, expiresAt: grants.get(parent)!.expiresAt },
    ]);
    expect(grants.remaining(parent)).toBeLessThan(300);
  });
});

describe("whatever goes wrong", () => {
  it("leaves no session and no grant when any call of the host fails", async () => {
    for (let failAt = 1; failAt <= 5; failAt += 1) {
      const set = await setUp({ work: async () => ({ status: "ok" }) });
      set.host.last = "7391";
      set.host.failAt = failAt;
      const answer = await ask(set);
      expect(answer.answer).toContain("7391");
      expect(leftovers(set)).toEqual(CLEAN);
    }
  });

  it.each(["once", "from-then-on"] as const)(
    "leaves no session and never throws when any statement of the database fails %s",
    async (kind) => {
      const set = await setUp();
      const db = new FaultyDatabase(set.world.lcm.stores.db.path);
      const stores = createStores(db);
      const { world, host } = set;
      const { config } = world.lcm;
      const deps = {
        stores: () => stores,
        search: world.search,
        config: () => config,
        now: world.host.now,
        log: silentLogger,
        subagents: host,
        recallTiming: { limitMs: 5_000, cleanUpMs: 200 },
      };
      const session = world.host.ref(KEYS.own);
      const tool = TOOL_FACTORIES.lcm_expand_query(deps, { kind: "session", session })!;
      let statements = 0;
      for (let isMet = true; isMet;) {
        statements += 1;
        db.arm(statements, kind);
        const result = await tool.execute("call", ASK);
        isMet = db.disarm();
        expect(textOf(result).length).toBeGreaterThan(30);
        expect(host.sessions.size).toBe(0);
        // A store that stays broken can not be told; the grant of a session that is gone then expires.
        const isTold = kind === "once";
        expect(isTold ? leftovers(set).grants : 0).toBe(0);
      }
      expect(statements).toBeGreaterThan(20);
      db.close();
    },
  );

  it.each([
    ["says that it failed", async (): Promise<SubagentEnd> => ({ status: "error", error: "429" })],
    ["ends without a word", async (): Promise<SubagentEnd> => ({ status: "ok", reply: " " })],
    ["is cut off by the host", async (): Promise<SubagentEnd> => ({ status: "timeout" })],
  ])("gives the excerpts when the sub-agent %s", async (_what, work) => {
    const set = await setUp({ work });
    const answer = await ask(set);
    expect(answer).toMatchObject({ via: "excerpts" });
    expect(answer.answer).toContain(FACT);
    expect(answer.citedIds).toContain(`msg_${set.stored.messages[0]}`);
    expect(leftovers(set)).toEqual(CLEAN);
  });

  it("ends at the time limit, with the session removed and the grant revoked", async () => {
    const set = await setUp({ work: () => new Promise(() => {}), limitMs: 60 });
    const answer = await ask(set);
    expect(answer).toMatchObject({ via: "excerpts" });
    expect(answer.note).toContain("did not answer in time");
    expect(leftovers(set)).toEqual(CLEAN);
  });

  it("ends when the caller stops it", async () => {
    const stop = new AbortController();
    const set = await setUp({
      work: () => {
        stop.abort();
        return new Promise(() => {});
      },
    });
    const tool = set.world.tools(KEYS.own).find(({ name }) => name === "lcm_expand_query")!;
    const result = await tool.execute("call", ASK, stop.signal);
    expect(textOf(result)).toContain("was stopped");
    expect(leftovers(set)).toEqual(CLEAN);
  });

  it("removes a session that begins only after the limit", async () => {
    const set = await setUp({ limitMs: 40 });
    let begin = (): void => {};
    set.host.starting = new Promise((resolve) => (begin = resolve));
    expect(await ask(set)).toMatchObject({ via: "excerpts" });
    begin();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(leftovers(set)).toEqual(CLEAN);
  });

  it("does not wait for a host that never answers a removal", async () => {
    const set = await setUp();
    set.host.remove = () => new Promise<void>(() => {});
    expect(await ask(set)).toMatchObject({ via: "sub-agent" });
    expect(leftovers(set).grants).toBe(0);
  });

  it("leaves no timer behind", async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const set = await setUp({ limitMs: 3_600_000 });
    const before = timers();
    await ask(set);
    expect(timers()).toBe(before);
  });
});

describe("where the host starts no sub-agents", () => {
  const refusing = async (): Promise<never> => {
    throw Object.assign(new Error("only available during a gateway request"), {
      code: "OPENCLAW_SUBAGENT_RUNTIME_REQUEST_SCOPE",
    });
  };

  it("asks a model once, with the found message in front, and counts the call", async () => {
    const requests: ModelRequest[] = [];
    const set = await setUp({
      model: async (request) => {
        requests.push(request);
        const id = /\[(msg_\d+)\]/.exec(request.prompt)?.[1];
        return JSON.stringify({ answer: "It is 7391.", citedIds: [id, "msg_999"] });
      },
    });
    set.host.run = refusing;
    const answer = await ask(set);
    expect(answer).toMatchObject({
      answer: "It is 7391.",
      via: "in-process",
      citedIds: [`msg_${set.stored.messages[0]}`],
      droppedIds: ["msg_999"],
    });
    expect(answer.note).toContain("only available during a gateway request");
    expect(requests).toHaveLength(1);
    expect(requests[0]?.prompt).toContain(FACT);
    expect(requests[0]?.purpose).toBe("recall");
    const attempts = set.world.lcm.stores.attempts.recent(5);
    expect(attempts).toMatchObject([{ outcome: "accepted" }]);
    expect(leftovers(set)).toEqual(CLEAN);
  });

  it("reads no more than maxExpandTokens", async () => {
    const set = await setUp({ config: { maxExpandTokens: 200 }, model: async () => "7391" });
    set.host.run = refusing;
    const { totalSourceTokens } = await ask(set);
    expect(totalSourceTokens).toBeGreaterThan(50);
    expect(totalSourceTokens).toBeLessThanOrEqual(200);
  });

  const modelless: readonly [string, Options["model"], Partial<LcmConfig>][] = [
    ["there is no model", undefined, {}],
    ["the day's budget is spent", async () => "unasked", { summaryTokensPerDay: 1 }],
    ["the model fails", () => Promise.reject(new Error("503")), {}],
    ["the model says nothing", async () => " ", {}],
  ];

  it.each(modelless)("gives the excerpts as they are when %s", async (_what, model, config) => {
    const set = await setUp({ config, ...(model ? { model } : {}) });
    set.host.run = refusing;
    const { attempts } = set.world.lcm.stores;
    const attempt = attempts.begin(
      {
        conversationId: set.stored.id,
        heals: null,
        requestedModel: "",
        promptVersion: "test",
        level: "normal",
        inputTokens: 10,
      },
      new Date(set.world.host.now()).toISOString(),
    );
    attempts.end(attempt, { outcome: "accepted" }, new Date(set.world.host.now()).toISOString());
    const result = await set.world.call(KEYS.own, "lcm_expand_query", ASK);
    expect(result!.details).toMatchObject({ via: "excerpts" });
    expect(textOf(result)).toContain(FACT);
    expect(textOf(result)).toContain("Not answered: these are the excerpts");
  });
});

describe("what there is to find", () => {
  it("is read at once when it is little, without a sub-agent", async () => {
    const set = await setUp({ model: async () => "7391" });
    const { messages } = await set.world.store(KEYS.sibling, "teatime is at five");
    const { db } = set.world.lcm.stores;
    for (const id of messages) db.run("DELETE FROM summary_messages WHERE message_id = ?", id);
    const answer = await ask(set, {
      prompt: "When is tea?",
      query: "teatime",
      allConversations: true,
    });
    expect(answer).toMatchObject({ via: "in-process", route: "direct" });
    expect(set.host.calls).toEqual([]);
  });

  it("is nothing, and that is said with what to try", async () => {
    const set = await setUp();
    const result = await set.world.call(KEYS.own, "lcm_expand_query", { ...ASK, query: "zebra" });
    expect(textOf(result)).toMatch(
      /Nothing was found for "zebra" in this conversation .* Try other words/,
    );
    expect(result!.details).toMatchObject({ citedIds: [], truncated: false });
  });
});
