// What an agent sees of the tools: output in pages with marks and ids, sentences for wrong input, and
// answers in every state of the database.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveConfig } from "../src/db/config.js";
import { createSelfOpeningRecall } from "../src/lcm.js";
import { TOOL_FACTORIES, TOOL_NAMES, type ToolName } from "../src/tools/index.js";
import { silentLogger } from "../src/types.js";
import { toolLoop, userMessage } from "./support/messages.js";
import { errorOf, KEYS, RecallWorld, textOf } from "./support/recall-world.js";
import { ScriptedSearch } from "./support/scripted-search.js";
import { temporaryDirectory } from "./support/workspace.js";

interface Match {
  readonly id: string;
  readonly snippet: string;
}

interface Grepped {
  readonly matches: readonly Match[];
  readonly cursor?: string;
}

describe("lcm_grep", () => {
  it("groups matches by the summary that covers them, and marks what matched", async () => {
    const world = new RecallWorld();
    const { leaf, id } = await world.store(KEYS.own, "we chose *port* `5433` for it");
    const result = await world.call(KEYS.own, "lcm_grep", { pattern: "`\\d+`" });
    const text = textOf(result);
    expect(text).toContain(`${leaf} (leaf, depth 0,`);
    expect(text).toContain("- msg_1 user, 2026-11-18 08:01 UTC: we chose *port* ⟦`5433`⟧ for it");
    expect(text.match(/between ⟦ and ⟧/g)).toHaveLength(1);
    const { matches } = result!.details as Grepped;
    expect(matches).toHaveLength(2);
    expect(matches[0]).toMatchObject({
      id: "msg_1",
      type: "message",
      conversationId: id,
      createdAt: "2026-11-18T08:01:00.000Z",
      role: "user",
      coveredBy: leaf,
    });
  });

  it("tells of summaries their depth, kind and id", async () => {
    const world = new RecallWorld();
    const { leaf } = await world.store(KEYS.own, "nothing");
    const params = { pattern: "Expand for details", scope: "summaries" };
    const result = await world.call(KEYS.own, "lcm_grep", params);
    expect((result!.details as Grepped).matches).toMatchObject([
      { id: leaf, summaryId: leaf, type: "summary", depth: 0, kind: "leaf" },
    ]);
  });

  it("comes in pages below 15,000 characters whose cursors lead through every match once", async () => {
    const world = new RecallWorld();
    const said = Array.from({ length: 230 }, (_, n) => `needle ${n} ${"hay ".repeat(40)}`);
    await world.store(KEYS.own, "needle of the user", said);
    for (const limit of [7, 50, 200]) {
      const ids: string[] = [];
      for (let cursor: string | undefined; ;) {
        const params = {
          pattern: "needle",
          limit,
          scope: "messages",
          ...(cursor ? { cursor } : {}),
        };
        const result = await world.call(KEYS.own, "lcm_grep", params);
        expect(textOf(result).length).toBeLessThan(15_000);
        const { matches, cursor: next } = result!.details as Grepped;
        expect(matches.length).toBeLessThanOrEqual(limit);
        ids.push(...matches.map(({ id }) => id));
        if (next === undefined) break;
        expect(textOf(result)).toContain(JSON.stringify(next));
        cursor = next;
      }
      expect(ids).toHaveLength(232);
      expect(new Set(ids).size).toBe(232);
    }
  });

  it("says what was searched and what to try when nothing matched", async () => {
    const world = new RecallWorld();
    await world.store(KEYS.own, "nothing");
    await world.store(KEYS.sibling, "zebra");
    const params = { pattern: "zebra", since: "2026-01-01", scope: "messages" };
    expect(await world.text(KEYS.own, "lcm_grep", params)).toMatch(
      /Nothing matched "zebra": regex over messages of this conversation \(1\), since 2026-01-01T00:00:00.000Z\.\nTry: mode: "full_text".*without since and before; scope: "both"; allConversations: true\./,
    );
  });

  it("passes on why a search stopped early", async () => {
    const world = new RecallWorld();
    await world.store(KEYS.own, "needle");
    world.search.stopped = "The deadline came before everything was looked at.";
    expect(await world.text(KEYS.own, "lcm_grep", { pattern: "needle" })).toContain(
      "The deadline came",
    );
  });

  it("takes a time without a zone as the operator's", async () => {
    const world = new RecallWorld({ timezone: "America/Los_Angeles" });
    await world.store(KEYS.own, "needle");
    await world.call(KEYS.own, "lcm_grep", { pattern: "needle", since: "2026-02-19T10:00" });
    await world.call(KEYS.own, "lcm_grep", { pattern: "needle", since: "2026-02-19T10:00+01:00" });
    expect(world.search.requests.map(({ since }) => since)).toEqual([
      "2026-02-19T18:00:00.000Z",
      "2026-02-19T09:00:00.000Z",
    ]);
  });
});

describe("lcm_describe", () => {
  it("shows a long message in pages that hold every character of it", async () => {
    const world = new RecallWorld();
    const long = Array.from({ length: 4_000 }, (_, n) => `line ${n} 😀`).join("\n");
    const { messages } = await world.store(KEYS.own, "short", [long]);
    const pages: string[] = [];
    for (let page = 1, last = 1; page <= last; page += 1) {
      const result = await world.call(KEYS.own, "lcm_describe", { id: `msg_${messages[2]}`, page });
      expect(textOf(result).length).toBeLessThan(15_000);
      expect(textOf(result).isWellFormed()).toBe(true);
      pages.push(textOf(result).replace(/\n\n\[Page [^\]]*\]$/, ""));
      last = (result!.details as { pages: number }).pages;
    }
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.join("")).toContain(long);
  });

  it("shows calls with their arguments, results, and images by type and size only", async () => {
    const world = new RecallWorld();
    const { host, lcm } = world;
    const data = Buffer.alloc(3_000, 7).toString("base64");
    const image = { type: "image", mimeType: "image/png", data };
    const odd = { type: "audio", source: { data } };
    const rows = [
      { ...userMessage("", host.tick()), content: [{ type: "text", text: "see" }, image, odd] },
      ...toolLoop("call-1", "it is Tuesday", host.tick()),
    ];
    await lcm.createEngine().commitTurn(host.turn(KEYS.own, rows));
    const texts = await Promise.all(
      [1, 2, 3].map((id) => world.text(KEYS.own, "lcm_describe", { id: `msg_${id}` })),
    );
    expect(texts[0]).toContain("see\n[image, image/png, 3,000 bytes]");
    expect(texts.join("\n")).not.toContain(data.slice(0, 40));
    expect(texts[1]).toContain('[calls exec] {"command":"date"}');
    expect(texts[2]).toContain("exec result");
    expect(texts[2]).toContain("it is Tuesday");
  });

  it("shows what is known of a stored file", async () => {
    const world = new RecallWorld();
    const { id } = await world.store(KEYS.own, "nothing");
    world.lcm.stores.db.run(
      `INSERT INTO large_files (file_id, conversation_id, file_name, mime_type, byte_size, storage_uri,
         exploration_summary, created_at)
       VALUES ('file_0123456789abcdef', ?, 'a.csv', 'text/csv', 1234, '/tmp/a.csv', '3 columns', '2026-11-18')`,
      id,
    );
    const text = await world.text(KEYS.own, "lcm_describe", { id: "FILE_0123456789ABCDEF" });
    expect(text).toContain("a.csv, text/csv, 1,234 bytes");
    expect(text).toContain("3 columns");
  });

  it.each(["msg_1", "MSG_1", " msg_1 ", "[msg_1]", '"msg_1".', "msg#1", "id: msg 1"])(
    "understands %j",
    async (id) => {
      const world = new RecallWorld();
      await world.store(KEYS.own, "the harbor code");
      expect(await world.text(KEYS.own, "lcm_describe", { id })).toContain("the harbor code");
    },
  );
});

describe("wrong input", () => {
  const wrong: readonly [ToolName, object, RegExp][] = [
    ["lcm_grep", {}, /lcm_grep needs pattern, for example/],
    ["lcm_grep", { pattern: "  " }, /needs pattern/],
    ["lcm_grep", { pattern: 5 }, /pattern is 5 but must be text/],
    ["lcm_grep", { pattern: "(" }, /pattern can not be used/],
    [
      "lcm_grep",
      { pattern: "a", mode: "glob" },
      /mode is "glob" but must be "regex" or "full_text"/,
    ],
    ["lcm_grep", { pattern: "a", scope: "files" }, /scope is "files" but must be "messages" or/],
    [
      "lcm_grep",
      { pattern: "a", sort: "best" },
      /sort is "best" but must be "relevance" or "recency"/,
    ],
    [
      "lcm_grep",
      { pattern: "a", limit: 201 },
      /limit is 201 but must be a whole number from 1 to 200/,
    ],
    ["lcm_grep", { pattern: "a", limit: 0 }, /limit is 0 but must be a whole number from 1 to 200/],
    [
      "lcm_grep",
      { pattern: "a", since: "yesterday" },
      /since is "yesterday" but must be an ISO time/,
    ],
    [
      "lcm_grep",
      { pattern: "a", since: "0000-01-01" },
      /since is "0000-01-01" but must be an ISO time/,
    ],
    [
      "lcm_grep",
      { pattern: "a", before: "2026-02-30" },
      /before is "2026-02-30" but must be an ISO time/,
    ],
    ["lcm_grep", { pattern: "a", before: 5 }, /before is 5 but must be an ISO time/],
    [
      "lcm_grep",
      { pattern: "a", since: "2026-02-02", before: "2026-02-01" },
      /since \(2026-02-02.*must be earlier/,
    ],
    ["lcm_grep", { pattern: "a", cursor: "next" }, /cursor is "next", which no page ended with/],
    [
      "lcm_grep",
      { pattern: "a", conversationId: "x" },
      /conversationId is "x" but must be a whole number/,
    ],
    ["lcm_grep", { pattern: "a", conversationId: 99 }, /There is no conversation 99/],
    [
      "lcm_grep",
      { pattern: "a", allConversations: "yes" },
      /allConversations is "yes" but must be true or false/,
    ],
    ["lcm_describe", {}, /lcm_describe needs id/],
    ["lcm_describe", { id: "it" }, /id is "it", which is no id\. Send one that begins with sum_/],
    ["lcm_describe", { id: "sum_ffffffffffffffff" }, /There is no sum_ffffffffffffffff/],
    ["lcm_describe", { id: "msg_999999" }, /There is no msg_999999/],
    ["lcm_describe", { id: "msg_1", page: 9 }, /msg_1 has 1 page; there is no page 9/],
    ["lcm_describe", { id: "msg_1", page: 1.5 }, /page is 1.5 but must be a whole number/],
    ["lcm_expand_query", {}, /lcm_expand_query needs prompt/],
    ["lcm_expand_query", { prompt: "why?" }, /needs query, .* or summaryIds/],
    ["lcm_expand_query", { prompt: "why?", query: 1 }, /query is 1 but must be text/],
    [
      "lcm_expand_query",
      { prompt: "why?", summaryIds: [1] },
      /summaryIds is \[1\] but must be a list of ids/,
    ],
    [
      "lcm_expand_query",
      { prompt: "why?", summaryIds: ["sum_f", "x"] },
      /holds "sum_f", "x", which are no summaries/,
    ],
    [
      "lcm_expand_query",
      { prompt: "why?", query: "a", maxTokens: -1 },
      /maxTokens is -1 but must be a whole number from 1 to 3000/,
    ],
    ["lcm_expand", {}, /lcm_expand needs summaryIds/],
    ["lcm_expand", { summaryIds: ["sum_f"] }, /summaryIds holds "sum_f"/],
    [
      "lcm_expand",
      { query: "a", maxDepth: 11 },
      /maxDepth is 11 but must be a whole number from 1 to 10/,
    ],
    [
      "lcm_expand",
      { query: "a", tokenCap: 0 },
      /tokenCap is 0 but must be a whole number of at least 1/,
    ],
    [
      "lcm_expand",
      { query: "a", includeMessages: 3 },
      /includeMessages is 3 but must be true or false/,
    ],
    ["lcm_expand", { query: "zebra" }, /No summary was found for "zebra"/],
  ];

  it.each(wrong)("of %s %j is answered with a sentence", async (name, params, sentence) => {
    const world = new RecallWorld();
    const { id } = await world.store(KEYS.own, "nothing");
    world.grant(KEYS.recall, [id]);
    const key = name === "lcm_expand" ? KEYS.recall : KEYS.own;
    const result = await world.call(key, name, params);
    expect(textOf(result)).toMatch(sentence);
    expect(errorOf(result)).toBe(textOf(result));
  });

  it("of any sort never throws out of a tool, and never fills more than a page", async () => {
    const world = new RecallWorld();
    const { id } = await world.store(KEYS.own, "nothing");
    world.grant(KEYS.child, [id]);
    const names = fc.constantFrom(
      "pattern",
      "id",
      "prompt",
      "query",
      "summaryIds",
      "limit",
      "page",
      "cursor",
      "since",
      "conversationId",
      "maxTokens",
      "mode",
    );
    const values = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string()),
      fc.object(),
    );
    const params = fc.oneof(fc.dictionary(names, values), values);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...TOOL_NAMES), params, async (name, raw) => {
        const result = await world.call(KEYS.child, name, raw);
        return textOf(result).length > 10 && textOf(result).length < 15_000;
      }),
      { numRuns: 200 },
    );
  });
});

describe("a call that is aborted", () => {
  it("says so, and does not blame the memory", async () => {
    const run = (_request: unknown, signal?: AbortSignal): Promise<never> =>
      Promise.reject(signal?.reason as Error);
    const world = new RecallWorld({}, { search: { run, close: async () => {} } });
    await world.store(KEYS.own, "nothing");
    const tool = world.tools(KEYS.own).find(({ name }) => name === "lcm_grep")!;
    const result = await tool.execute("call-1", { pattern: "nothing" }, AbortSignal.abort());
    expect(errorOf(result)).toMatch(/was stopped before it had an answer/);
  });
});

describe("the state of the database", () => {
  const calls: readonly [ToolName, object][] = [
    ["lcm_grep", { pattern: "a" }],
    ["lcm_describe", { id: "msg_1" }],
    ["lcm_expand_query", { prompt: "why?", query: "a" }],
  ];

  function openTools(databasePath: string) {
    const stateDir = dirname(databasePath);
    const config = { ...resolveConfig({ env: {}, stateDir, homeDir: "/" }).config, databasePath };
    const recall: ReturnType<typeof createSelfOpeningRecall> = createSelfOpeningRecall({
      search: new ScriptedSearch(() => recall.stores()),
      config: () => config,
      now: Date.now,
      log: silentLogger,
    });
    const session = { agentId: "main", sessionKey: KEYS.own };
    return {
      recall,
      call: (name: ToolName, params: object) =>
        TOOL_FACTORIES[name](recall, { kind: "session", session })!.execute("call", params),
    };
  }

  it.each(calls)(
    "before the first turn lets %s say that nothing is stored",
    async (name, params) => {
      const { recall, call } = openTools(join(temporaryDirectory(), "lcm.db"));
      expect(textOf(await call(name, params))).toMatch(/nothing is stored yet|There is no msg_1/);
      recall.release();
    },
  );

  it.each(calls)("when it is broken lets %s say so, until it is mended", async (name, params) => {
    const path = join(temporaryDirectory(), "broken", "lcm.db");
    writeFileSync(dirname(path), "");
    const { recall, call } = openTools(path);
    const result = await call(name, params);
    expect(errorOf(result)).toMatch(/The memory can not be read now: .*broken/);
    const { rmSync } = await import("node:fs");
    rmSync(dirname(path));
    mkdirSync(dirname(path));
    expect(textOf(await call(name, params))).not.toContain("can not be read");
    recall.release();
  });

  it("does not keep a session without a grant from its other tools when it is broken", () => {
    const path = join(temporaryDirectory(), "broken", "lcm.db");
    writeFileSync(dirname(path), "");
    const { recall } = openTools(path);
    const session = { agentId: "main", sessionKey: KEYS.child };
    expect(TOOL_FACTORIES.lcm_expand(recall, { kind: "session", session })).toBeUndefined();
  });
});

describe("which tools a session is offered", () => {
  it.each([
    [KEYS.own, ["lcm_grep", "lcm_describe", "lcm_expand_query"]],
    [KEYS.child, ["lcm_grep", "lcm_describe", "lcm_expand", "lcm_expand_query"]],
    [KEYS.recall, ["lcm_grep", "lcm_describe", "lcm_expand"]],
  ])("%s", async (key, names) => {
    const world = new RecallWorld();
    const { id } = await world.store(KEYS.own, "nothing");
    world.grant(KEYS.child, [id]);
    world.grant(KEYS.recall, [id]);
    expect(world.tools(key).map(({ name }) => name)).toEqual(names);
  });
});
