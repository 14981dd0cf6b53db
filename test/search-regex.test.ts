// Search by regular expression: newest first, off the main thread, under a deadline.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePattern } from "../src/search/regex-pattern.js";
import { mayRunAway, parseRegex, requiredTexts } from "../src/search/regex-syntax.js";
import { RUN_AWAY, searchRunAway } from "./support/run-away.js";
import { hitsOf, markedIn, REGEX, Talk } from "./support/search.js";

describe("a regular expression", () => {
  it("finds what matches, newest first, with the match marked", async () => {
    const talk = new Talk();
    const old = talk.user("error 404 at noon");
    talk.user("error without a number");
    const recent = talk.user("again:\nerror 500 at night");
    const hits = hitsOf(await talk.ask(String.raw`error \d+`, REGEX));
    expect(hits.map(({ id }) => id)).toEqual([recent, old]);
    expect(hits.map(markedIn)).toEqual([["error 500"], ["error 404"]]);
  });

  it("tells upper from lower case, unless it begins with (?i)", async () => {
    const talk = new Talk();
    const id = talk.user("Heron and HERON");
    expect(await talk.find("heron", REGEX)).toEqual([]);
    expect(await talk.find("(?i)hErOn", REGEX)).toEqual([id]);
  });

  it("looks at summaries too, in the order of time", async () => {
    const talk = new Talk();
    const one = talk.user("heron one");
    const leaf = talk.summary("heron in short", [one]);
    const two = talk.user("heron two");
    expect(await talk.find("heron", REGEX)).toEqual([two, one, leaf]);
    expect(await talk.find("heron", { ...REGEX, scope: "summaries" })).toEqual([leaf]);
    expect(await talk.find("heron", { ...REGEX, scope: "messages" })).toEqual([two, one]);
  });

  it("that is not valid is refused with what is wrong and what to send instead", async () => {
    const talk = new Talk();
    talk.user("x");
    expect(await talk.ask("(unclosed", REGEX)).toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(
        /"\(unclosed" is not a regular expression \(Unterminated group\).*full_text/,
      ),
    });
  });

  it("that is longer than anybody writes is refused", async () => {
    const talk = new Talk();
    talk.user("x");
    for (const pattern of ["(".repeat(50_000) + ")".repeat(50_000), "a".repeat(3_000)]) {
      const answer = await talk.ask(pattern, REGEX);
      expect(answer).toMatchObject({ kind: "refused", reason: expect.stringContaining("2000") });
    }
  });

  it("comes in pages, each hit once", async () => {
    const talk = new Talk();
    const ids = talk.addAll(
      Array.from({ length: 5_000 }, (_, index) => (index % 9 === 0 ? "heron" : "egret")),
    );
    const herons = ids.filter((_, index) => index % 9 === 0);
    const pages = await talk.pages("her+on", { ...REGEX, limit: 100 });
    expect(pages.flat()).toEqual(herons.toReversed());
    expect(pages.slice(0, -1).every((page) => page.length === 100)).toBe(true);
  });
});

describe("what every match holds", () => {
  it.each([
    ["connection refused", ["connection refused"]],
    [String.raw`error \d+ at`, ["error ", " at"]],
    [String.raw`a\.b\(c`, ["a.b(c"]],
    ["abc+def", ["ab", "c", "def"]],
    ["abc?def", ["ab", "def"]],
    ["(abc)(?:def)", ["abc", "def"]],
    ["(abc)?def", ["def"]],
    ["abc|def", []],
    ["(abc|def)ghi", ["ghi"]],
    ["(?=abc)def(?!ghi)", ["def"]],
    ["(?i:abc)def", ["def"]],
    ["[abc]def", ["def"]],
    ["abc{0,2}def{2}", ["ab", "de", "f"]],
    [String.raw`(?<year>2026)\k<year>`, ["2026"]],
    [String.raw`tab\tend`, ["tab", "end"]],
    ["😀!", ["😀!"]],
  ])("%s", (pattern, texts) => {
    expect(requiredTexts(parseRegex(pattern))).toEqual(texts);
  });

  it("never loses a match", async () => {
    const letters = fc.constantFrom(...'abcABCé字 "\\\n.:/😀'.split(""), "😀");
    const text = fc.array(letters, { maxLength: 30 }).map((parts) => parts.join(""));
    const escape = (part: string): string => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const atom = fc.oneof(
      fc.array(letters, { minLength: 1, maxLength: 5 }).map((parts) => escape(parts.join(""))),
      fc.constantFrom(
        ".",
        "[ab]",
        "a?",
        "b*",
        "(?:abc)",
        "(abc|b)",
        "c+",
        "(?:a|b)?",
        "a{2}",
        "^",
        "$",
        "\\w",
        "\\n",
      ),
    );
    const pattern = fc
      .tuple(fc.constantFrom("", "(?i)"), fc.array(atom, { minLength: 1, maxLength: 4 }))
      .map(([flag, atoms]) => flag + atoms.join(""));
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 12 }),
        fc.array(pattern, { minLength: 1, maxLength: 8 }),
        async (texts, patterns) => {
          const talk = new Talk();
          const ids = talk.addAll(texts);
          for (const source of patterns) {
            const naive = new RegExp(
              source.replace(/^\(\?i\)/, ""),
              source.startsWith("(?i)") ? "i" : "",
            );
            const expected = ids.filter((_, index) => naive.test(texts[index] as string));
            expect(await talk.find(source, REGEX), source).toEqual(expected.toReversed());
          }
          await talk.search.close();
          talk.lcm.close();
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("a pattern that may never come to an end", () => {
  it.each(["(a+)+$", "(.*a){12}$", "(a|b)*c", "(?:x+y?)*", ".*.*.*z", "(a+){2,}", "((ab)*c)+"])(
    "is told: %s",
    (pattern) => {
      expect(mayRunAway(parseRegex(pattern))).toBe(true);
    },
  );

  it.each([
    "error",
    String.raw`\d+ of \d+`,
    "a.*b",
    "(abc)+",
    "(a|b)c",
    "[a-z]+@[a-z]+",
    "(a{2,5})",
    "(a|b)?",
  ])("is told from others: %s", (pattern) => {
    expect(mayRunAway(parseRegex(pattern))).toBe(false);
  });

  it("is looked for in linear time where that can be done", () => {
    const compiled = compilePattern("(x+x+)+y");
    if (compiled.kind !== "pattern") throw new Error(compiled.reason);
    expect(compiled.pattern.find("x".repeat(50_000))).toBeUndefined();
    expect(compiled.pattern.find("-xxxy")).toEqual([1, 5]);
  });

  it.each(RUN_AWAY)(
    "is answered in time from 10,000 messages, without holding up the main thread: %s",
    async (pattern) => {
      const { tookMs, lagMs } = await searchRunAway(pattern, 10_000);
      // Three times the promise, and the measure of a lag: machines that run tests are busy.
      expect(tookMs).toBeLessThan(6_000);
      expect(lagMs).toBeLessThan(150);
    },
    120_000,
  );

  it("and that only backtracking can match is ended at the deadline, and the cursor goes on past it", async () => {
    const talk = new Talk();
    const older = talk.user("aaaa");
    const hung = talk.user(`${"a".repeat(50)}!`);
    const newer = talk.user("aaa");
    const pattern = "(?=a)(a+)+$";
    const first = await talk.ask(pattern, REGEX);
    expect(hitsOf(first).map(({ id }) => id)).toEqual([newer]);
    expect(first).toMatchObject({
      stopped: expect.stringContaining(`message ${hung}`),
      cursor: expect.any(String),
    });
    const cursor = first.kind === "found" ? first.cursor : undefined;
    expect(await talk.ask(pattern, { ...REGEX, cursor })).toMatchObject({ hits: [{ id: older }] });
  });
});
