// Full-text search, as a tool asks for it.

import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Database } from "../src/db/connection.js";
import { createSearch } from "../src/search/index.js";
import type { ConversationId } from "../src/types.js";
import { toolLoop } from "./support/messages.js";
import { hitsOf, markedIn, Talk } from "./support/search.js";
import { temporaryDirectory } from "./support/workspace.js";

describe("a question in words", () => {
  it("finds the answer that shares no word with it", async () => {
    const talk = new Talk();
    for (let index = 0; index < 30; index += 1) talk.user(`small talk number ${index} about lunch`);
    talk.user("I am hiding the spare key of the cabin.");
    talk.assistant("Where will it live?");
    const answer = talk.user("Under the third flower pot.");
    talk.assistant("Noted.");
    for (let index = 0; index < 30; index += 1) talk.user(`more small talk ${index} about dinner`);
    const found = await talk.find("Where did I put the spare key of the cabin?");
    expect(found.slice(0, 4)).toContain(answer);
  });

  it("is not bothered by rows that are no messages", async () => {
    const talk = new Talk();
    const id = talk.user("the spare key of the cabin");
    const { db } = talk.lcm.stores;
    db.exec(`INSERT INTO messages (conversation_id, role, in_context, starts_turn, token_count, created_at, body)
        VALUES (1, 'unknown', 0, 0, 1, '2026-02-10T09:05:00.000Z', 'null');
      INSERT INTO transcript_entries (segment_id, position, message_id) VALUES (1, 1, 2)`);
    expect((await talk.find("where is the spare key of the cabin?"))[0]).toBe(id);
    expect(await talk.find("n.ll", { mode: "regex" })).toEqual([]);
  });

  it("is not bothered by words that stand nowhere", async () => {
    const talk = new Talk();
    const id = talk.user("The gateway listens on port 8443.");
    expect(await talk.find("which xyzzy port does the gateway plugh use")).toEqual([id]);
  });

  it("of nothing but stop words looks for those", async () => {
    const talk = new Talk();
    const id = talk.user("To be or not to be");
    talk.user("Something else entirely.");
    expect(await talk.find("to be or not to be")).toContain(id);
  });

  it("favors the speaker it names", async () => {
    const talk = new Talk();
    const user = talk.user("The budget is tight this year.");
    const assistant = talk.assistant("The budget is tight this year.");
    expect((await talk.find("what did the user say about the budget"))[0]).toBe(user);
    expect((await talk.find("what did you say about the budget"))[0]).toBe(assistant);
  });

  it("finds what was said on a day", async () => {
    const talk = new Talk();
    talk.at("2026-02-16T10:00:00Z").user("We painted the fence.");
    const right = talk.at("2026-02-17T10:00:00Z").user("We planted the trees.");
    talk.at("2026-03-17T10:00:00Z").user("We mowed the lawn.");
    for (const date of ["February 17", "17th of February 2026", "2026-02-17", "Feb 17"]) {
      expect(await talk.find(`what did we do on ${date}`)).toContain(right);
      expect((await talk.find(`what did we do on ${date}`))[0]).toBe(right);
    }
    expect((await talk.find("what happened in march"))[0]).not.toBe(right);
  });
});

describe("words", () => {
  it("find their other forms, and nothing beside them", async () => {
    const talk = new Talk();
    const id = talk.user("He was running late.");
    talk.user("Nobody came.");
    expect(await talk.find("runs")).toEqual([id]);
    expect(await talk.find("running late")).toEqual([id]);
  });

  it("in quotes are found as they stand together", async () => {
    const talk = new Talk();
    const id = talk.user("the quick brown fox");
    talk.user("the brown quick fox");
    expect(await talk.find('"quick brown"')).toEqual([id]);
    expect(await talk.find('fox "quick brown"')).toEqual([id]);
    expect(await talk.find('"quick brown" "no such"')).toEqual([]);
    expect(await talk.find('"brown quick" where is the lazy fox hiding today?')).toHaveLength(1);
  });

  it("with a star are found by their beginning", async () => {
    const talk = new Talk();
    const id = talk.user("The configuration is broken.");
    talk.user("The confusion is complete.");
    expect(await talk.find("configur*")).toEqual([id]);
    expect(await talk.find("conf*")).toHaveLength(2);
  });

  it.each([
    ["user", "call getUserName() first"],
    ["userName", "call getUserName() first"],
    ["getUserName", "call getUserName() first"],
    ["case_word", "rename snake_case_word please"],
    ["snake", "rename snake_case_word please"],
    ["db/connection.ts", "open src/db/connection.ts again"],
    ["connection", "open src/db/connection.ts again"],
    ["cafe", "Das Café ist zu"],
    ["数据库", "我们的数据库在哪里"],
    ["数据", "我们的数据库在哪里"],
    ["東京", "明日東京タワーへ行く"],
    ["안녕", "여러분 안녕하세요"],
    ['"数据库在"', "我们的数据库在哪里"],
  ])("find a part: %s", async (part, text) => {
    const talk = new Talk();
    const id = talk.user(text);
    talk.user("nothing of the kind 其他");
    const [hit, ...others] = hitsOf(await talk.ask(part));
    expect([hit?.id, ...others]).toEqual([id]);
    expect(hit && markedIn(hit).length).toBeGreaterThan(0);
  });

  it("are found in tool calls and results", async () => {
    const talk = new Talk();
    const [call, result] = toolLoop("c1", "permission denied", 1_770_000_000_000);
    const ids = [talk.add(call!), talk.add(result!)];
    expect(await talk.find("exec")).toEqual([ids[0]]);
    expect(await talk.find("permission")).toEqual([ids[1]]);
  });
});

describe("hits", () => {
  it("say what they are of, and what covers them", async () => {
    const talk = new Talk();
    const [one, two] = [talk.user("the heron project"), talk.user("unrelated")];
    const leaf = talk.summary("They spoke about the heron project.", [one, two]);
    const hits = new Map(hitsOf(await talk.ask("heron")).map((hit) => [hit.type, hit]));
    expect(hits.get("message")).toMatchObject({ id: one, role: "user", coveredBy: leaf });
    expect(hits.get("summary")).toMatchObject({ id: leaf, depth: 0, kind: "leaf" });
    expect(await talk.find("heron", { scope: "messages" })).toEqual([one]);
    expect(await talk.find("heron", { scope: "summaries" })).toEqual([leaf]);
  });

  it.each(["full_text", "regex"] as const)("leave superseded summaries out: %s", async (mode) => {
    const talk = new Talk();
    const id = talk.user("nothing");
    const old = talk.summary("heron, quoted", [id]);
    const better = talk.summary("heron, told", [id]);
    expect(await talk.find("heron", { mode })).toHaveLength(2);
    talk.lcm.stores.summaries.supersede(old, better, "test", "2026-11-18T09:00:00.000Z");
    expect(await talk.find("heron", { mode })).toEqual([better]);
    expect(await talk.find("heron", { mode, since: "2026-01-01T00:00:00.000Z" })).toEqual([better]);
  });

  it("are of the conversations that were asked for", async () => {
    const talk = new Talk();
    const ids = Array.from({ length: 20 }, (_, index) =>
      talk.user("a heron flew by", `web${index}`),
    );
    const conversations = ids.map((_, index) => talk.conversation(`web${index}`));
    expect(await talk.find("heron", { conversations: [conversations[3]!] })).toEqual([ids[3]]);
    expect(
      new Set(await talk.find("heron", { conversations: conversations.slice(0, 18) })),
    ).toEqual(new Set(ids.slice(0, 18)));
    expect(new Set(await talk.find("heron", { conversations }))).toEqual(new Set(ids));
    expect(await talk.find("heron", { conversations: [] })).toEqual([]);
    expect(await talk.find("c1", { conversations })).toEqual([]);
  });

  it("are of the time that was asked for", async () => {
    const talk = new Talk();
    const old = talk.at("2026-01-01T00:00:00Z").user("heron");
    const recent = talk.at("2026-02-01T00:00:00Z").user("heron");
    expect(await talk.find("heron", { since: "2026-01-15T00:00:00.000Z" })).toEqual([recent]);
    expect(await talk.find("heron", { before: "2026-01-15T00:00:00.000Z" })).toEqual([old]);
    expect(await talk.find("heron", { mode: "regex", since: "2026-01-15T00:00:00.000Z" })).toEqual([
      recent,
    ]);
  });

  it("are the same in the order of time", async () => {
    const talk = new Talk();
    const ids = talk.addAll(
      Array.from({ length: 40 }, (_, index) => `heron ${"and more ".repeat(index % 7)}`),
    );
    const found = await talk.find("heron", { sort: "recency" });
    expect(found).toEqual(ids.toReversed());
    expect(new Set(await talk.find("heron"))).toEqual(new Set(found));
  });

  it.each(["relevance", "recency"] as const)("come in pages, each once: %s", async (sort) => {
    const talk = new Talk();
    const ids = talk.addAll(Array.from({ length: 1_500 }, (_, index) => `heron number ${index}`));
    const leaf = talk.summary("heron after heron", ids.slice(0, 5));
    const pages = await talk.pages("heron", { sort, limit: 190 });
    expect(pages.flat().sort()).toEqual([...ids, leaf].sort());
    expect(pages.every((page) => page.length > 0)).toBe(true);
  });

  it("stay on their pages while more is stored", async () => {
    const talk = new Talk();
    const ids = talk.addAll(Array.from({ length: 20 }, (_, index) => `heron number ${index}`));
    const first = await talk.ask("heron", { limit: 10 });
    talk.addAll(Array.from({ length: 20 }, () => "heron of later"));
    const cursor = first.kind === "found" ? first.cursor : undefined;
    const second = await talk.find("heron", { cursor, limit: 10 });
    expect([...hitsOf(first).map(({ id }) => id), ...second].sort()).toEqual([...ids].sort());
  });
});

function readCursor(cursor: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(cursor ?? "", "base64url").toString()) as Record<string, unknown>;
}

function writeCursor(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

describe("a cursor", () => {
  it.each(["nonsense", "", "e30"])("that is %j is refused", async (cursor) => {
    const talk = new Talk();
    talk.user("heron");
    for (const mode of ["full_text", "regex"] as const) {
      expect(await talk.ask("heron", { cursor, mode })).toMatchObject({
        kind: "refused",
        reason: expect.stringContaining("another search"),
      });
    }
  });

  it("that was written by hand is refused, whatever stands in it", async () => {
    const talk = new Talk();
    talk.addAll(["heron", "heron"]);
    for (const mode of ["full_text", "regex"] as const) {
      const first = await talk.ask("heron", { limit: 1, mode });
      const whole = readCursor(first.kind === "found" ? first.cursor : undefined);
      const place = whole["place"] as Record<string, unknown>;
      for (const key of [...Object.keys(place), ...(mode === "full_text" ? ["below"] : [])]) {
        for (const value of ["x", -1, 0.5, {}, null, [1]]) {
          const cursor = writeCursor({ ...whole, place: { ...place, [key]: value } });
          expect(await talk.ask("heron", { limit: 1, mode, cursor })).toMatchObject({
            kind: "refused",
            reason: expect.stringContaining("another search"),
          });
        }
      }
    }
  });

  it("goes on when a conversation appears between two pages", async () => {
    const talk = new Talk();
    const [older, newer] = talk.addAll(["heron", "heron"]);
    for (const mode of ["full_text", "regex"] as const) {
      const first = await talk.ask("heron", { limit: 1, mode });
      expect(hitsOf(first).map(({ id }) => id)).toEqual([newer]);
      const cursor = first.kind === "found" ? first.cursor : undefined;
      const conversations = [talk.conversation(), talk.conversation(`new-${mode}`)];
      expect(await talk.find("heron", { limit: 1, mode, cursor, conversations })).toEqual([older]);
    }
  });

  it("of another search is refused", async () => {
    const talk = new Talk();
    talk.addAll(["heron", "heron"]);
    const first = await talk.ask("heron", { limit: 1 });
    const cursor = first.kind === "found" ? first.cursor : undefined;
    expect(cursor).toBeDefined();
    expect(await talk.ask("egret", { cursor })).toMatchObject({ kind: "refused" });
  });
});

describe("any input", () => {
  it.each([
    '"',
    '""',
    "* *",
    "^a",
    "a AND",
    "NEAR(a b, 2)",
    "text:heron",
    "{text}: a",
    "-a",
    "(a",
    "a + b",
    "\0heron\0",
    "' OR 1=1 --",
    "a".repeat(100_000),
    '"a '.repeat(30_000),
    "字".repeat(5_000),
    "😀",
  ])("is no error: %.20s", async (pattern) => {
    const talk = new Talk();
    talk.user("a heron");
    expect((await talk.ask(pattern)).kind).toMatch(/found|refused/);
  });

  it("is no error, whatever it is", async () => {
    const talk = new Talk();
    talk.user("a heron and b");
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        '"',
        "*",
        "(",
        ")",
        "AND",
        "OR",
        "NOT",
        "NEAR",
        ":",
        "-",
        "^",
        "+",
        "{",
        "}",
        "\0",
        "February",
        "17",
        "userName",
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        expect((await talk.ask(pieces.join(" "))).kind).toMatch(/found|refused/);
      }),
      { numRuns: 200 },
    );
  });

  it("without a word to look for is refused with what to send instead", async () => {
    expect(await new Talk().ask("?! --")).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining('mode "regex"'),
    });
  });
});

describe("a search", () => {
  it("of a database that does not exist finds nothing and makes none", async () => {
    const path = join(temporaryDirectory(), "none.db");
    const search = createSearch({ databasePath: () => path });
    const request = {
      pattern: "x",
      mode: "full_text",
      scope: "both",
      conversations: [1 as ConversationId],
      limit: 5,
      sort: "relevance",
    } as const;
    expect(await search.run(request)).toEqual({ kind: "found", hits: [] });
    await search.close();
  });

  it("of a fresh database finds nothing", async () => {
    const talk = new Talk();
    expect(await talk.ask("x")).toEqual({ kind: "found", hits: [] });
    expect(await talk.ask("x", { mode: "regex" })).toEqual({ kind: "found", hits: [] });
  });

  it("starts its thread again after it was closed, and sees what was stored meanwhile", async () => {
    const talk = new Talk();
    expect(await talk.find("heron")).toEqual([]);
    await talk.search.close();
    const id = talk.user("heron");
    expect(await talk.find("heron")).toEqual([id]);
  });

  it("runs beside others of its process, and ends when it is aborted", async () => {
    const talk = new Talk();
    const id = talk.user("heron");
    const answers = await Promise.all(Array.from({ length: 20 }, () => talk.find("heron")));
    expect(answers).toEqual(Array.from({ length: 20 }, () => [id]));
    talk.user(`${"a".repeat(60)}b`);
    const request = {
      pattern: "(?=a)(a+)+$",
      mode: "regex",
      scope: "both",
      conversations: [talk.conversation()],
      limit: 5,
      sort: "relevance",
    } as const;
    await expect(talk.search.run(request, AbortSignal.timeout(100))).rejects.toThrow(
      /abort|timeout/i,
    );
    expect(await talk.find("heron")).toEqual([id]);
  });

  it("does not wait for its turn behind more than one that runs away, and ends at once when it is aborted", async () => {
    const talk = new Talk();
    const id = talk.user("heron");
    talk.user(`${"a".repeat(60)}b`);
    const ended: string[] = [];
    const note = (name: string) => () => void ended.push(name);
    const runAway = "(?=a)(a+)+$";
    const first = talk.ask(runAway, { mode: "regex" }).finally(note("first"));
    const second = talk.ask(runAway, { mode: "regex" }).finally(note("second"));
    const third = talk.ask("heron").finally(note("third"));
    const aborting = new AbortController();
    const request = { pattern: "heron", mode: "regex", scope: "both", limit: 5 } as const;
    const fourth = talk.search
      .run({ ...request, sort: "recency", conversations: [talk.conversation()] }, aborting.signal)
      .finally(note("fourth"));
    aborting.abort();
    await expect(fourth).rejects.toBe(aborting.signal.reason);
    const waited = await third;
    expect(waited).toMatchObject({
      hits: [],
      stopped: expect.stringContaining("send the same again"),
    });
    await Promise.all([first, second]);
    expect(ended).toEqual(["fourth", "first", "third", "second"]);
    const cursor = waited.kind === "found" ? waited.cursor : undefined;
    expect(await talk.find("heron", { cursor })).toEqual([id]);
  });
});

describe("rows that nobody asks for any more", () => {
  it("do not keep the thread at an old moment", async () => {
    const talk = new Talk();
    for (let count = 0; count < 20; count += 1) talk.user(`heron ${count}`);
    expect(await talk.find("heron", { mode: "regex", limit: 3 })).toHaveLength(3);
    const id = talk.user("zebrafish");
    expect(await talk.find("zebrafish", { mode: "regex" })).toEqual([id]);
    expect(await talk.find("zebrafish")).toEqual([id]);
  });

  it("do not keep a connection from writing after another one", () => {
    const { db } = new Talk().lcm.stores;
    db.exec("CREATE TABLE numbers AS SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3");
    for (const row of db.iterate("SELECT n FROM numbers")) if (row) break;
    const other = new Database(db.path);
    other.run("INSERT INTO numbers VALUES (4)");
    other.close();
    db.run("INSERT INTO numbers VALUES (5)");
    expect(db.all("SELECT n FROM numbers")).toHaveLength(5);
  });
});

describe("lcm_grep over a real search", () => {
  it("ends each page with a cursor that an agent can send as it stands in the text", async () => {
    const talk = new Talk();
    for (let count = 0; count < 30; count += 1) talk.user(`heron ${count} ${"reeds ".repeat(20)}`);
    const session = { agentId: "main", sessionKey: "agent:main:web1", sessionId: "web1" };
    const [grep] = talk.lcm.tools({ kind: "session", session });
    for (const mode of ["regex", "full_text"]) {
      const found = new Set<string>();
      for (let cursor: string | undefined, pages = 0; pages === 0 || cursor; pages += 1) {
        const params = { pattern: "heron", mode, limit: 8, ...(cursor ? { cursor } : {}) };
        const { content } = await grep!.execute("call", params);
        const text = content.map((block) => ("text" in block ? block.text : "")).join("");
        for (const [id] of text.matchAll(/msg_\d+/g)) found.add(id);
        cursor = /cursor: "([^"]+)"/.exec(text)?.[1];
      }
      expect(found.size).toBe(30);
    }
  });
});
