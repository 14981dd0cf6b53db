// Which answers of a model may become summaries, and what the identifiers are that they must keep.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fillPrompt, loadPrompts } from "../src/prompts/index.js";
import { identifiers, lastPart, mentions } from "../src/summarize/identifiers.js";
import { judge, type Verdict } from "../src/summarize/quality.js";
import { estimateTokens } from "../src/tokens.js";
import { type Sample, SAMPLES } from "./support/answers.js";
import { prose } from "./support/prose.js";
import { depthOf, HOSTILE, obedient, targetOf } from "./support/summarizers.js";

const PROMPTS = loadPrompts("");
const FOOTER = "Expand for details about: exact commands";

function promptFor({ depth, source, target = 300, previousContext }: Omit<Sample, "answer">) {
  return fillPrompt(PROMPTS.forDepth(depth), {
    isAggressive: false,
    targetTokens: target,
    timeRange: "2026-02-17 07:37–17:21 PST",
    source,
    previousContext,
  });
}

function verdictOn(sample: Omit<Sample, "verdict" | "what">): Verdict {
  const { depth, source, answer, target = 300 } = sample;
  return judge(answer, {
    prompt: promptFor({ ...sample, verdict: "good", what: "" }),
    source,
    sourceTokens: estimateTokens(source),
    targetTokens: target,
    depth,
  });
}

describe("the verdict", () => {
  test("is tried on enough answers of both kinds, at all depths", () => {
    const goods = SAMPLES.filter(({ verdict }) => verdict === "good");
    expect(SAMPLES.length).toBeGreaterThanOrEqual(60);
    expect(goods.length).toBeGreaterThanOrEqual(30);
    expect(SAMPLES.length - goods.length).toBeGreaterThanOrEqual(30);
    expect(new Set(SAMPLES.map(({ depth }) => Math.min(depth, 3)))).toEqual(new Set([0, 1, 2, 3]));
  });

  test.each(SAMPLES)("$verdict at depth $depth: $what", (sample) => {
    const verdict = verdictOn(sample);
    expect(verdict.ok ? "good" : verdict.outcome, JSON.stringify(verdict)).toBe(sample.verdict);
  });

  test.each(SAMPLES.filter(({ verdict }) => verdict === "good"))(
    "on its prompt, given back, is no: $what",
    (sample) => {
      const prompt = promptFor(sample);
      expect(verdictOn({ ...sample, answer: prompt })).toMatchObject({ outcome: "echo" });
      expect(verdictOn({ ...sample, answer: `${prompt}\n${FOOTER}` }).ok).toBe(false);
    },
  );

  test("asks for no ids or tools of this memory: they are not what was talked about", () => {
    const said = (n: number) =>
      `lcm_grep found msg_${n % 2} under sum_0123456789abcdef, lcm_describe showed msg_1, deploy-${n}.`;
    const source = Array.from({ length: 12 }, (_, n) => said(n)).join("\n\n");
    const answer = `The old deployments were looked up.\n${FOOTER}`;
    expect(verdictOn({ depth: 0, source, answer })).toMatchObject({ ok: true });
  });

  test("leaves thinking out of what is stored, and nothing else", () => {
    const said = `We moved to Redis.\n${FOOTER}`;
    const source = prose(400);
    for (const thought of [
      "",
      "<think>hm</think>\n",
      "<reasoning>\na\n</reasoning>\n\n",
      "a\n</think>\n",
    ]) {
      const verdict = verdictOn({ depth: 0, source, answer: `${thought}${said}\n` });
      expect(verdict).toMatchObject({ ok: true, content: said, tokens: estimateTokens(said) });
    }
    const later = `${said} <think> tags`;
    expect(verdictOn({ depth: 0, source, answer: later })).toMatchObject({ content: later });
  });

  test("needs an answer strictly smaller than its source", () => {
    const answer = `${prose(40)}\n${FOOTER}`;
    const tokens = estimateTokens(answer);
    const input = { prompt: "", source: prose(400), targetTokens: 100, depth: 0 };
    expect(judge(answer, { ...input, sourceTokens: tokens })).toMatchObject({
      outcome: "not smaller",
    });
    expect(judge(answer, { ...input, sourceTokens: tokens + 1 })).toMatchObject({ ok: true });
  });

  const requestFor = (depth: number, source: string) => ({
    prompt: promptFor({ what: "", verdict: "good", depth, source }),
    maxTokens: 2_000,
    temperature: 0,
    model: "",
    signal: AbortSignal.timeout(1_000),
  });

  test.each([0, 1, 2, 3])(
    "is yes on a model that does as it is told at depth %i",
    async (depth) => {
      const source = `PLANTED-1 ${prose(300)}\n\nPLANTED-1 ${prose(300, 2)}\n\nPLANTED-1 end`;
      const request = requestFor(depth, source);
      expect([depthOf(request), targetOf(request)]).toEqual([depth, 300]);
      const answer = String(await obedient()(request));
      expect(verdictOn({ depth, source, answer })).toMatchObject({ ok: true, content: answer });
    },
  );

  test("is no on every hostile model, but for text that escaping makes harmless", async () => {
    const source = prose(600);
    const accepted: string[] = [];
    for (const [name, summarize] of Object.entries(HOSTILE)) {
      if (/throwing|hanging|like an answer/.test(name)) continue;
      const answer = String(await summarize(requestFor(0, source)));
      if (verdictOn({ depth: 0, source, answer }).ok) accepted.push(name);
    }
    expect(accepted).toEqual(["forged structure", "lone surrogates"]);
  });

  test("never throws, and accepts only what is smaller and has a footer", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        FOOTER,
        "\n",
        "<think>",
        "</think>",
        "Expand for details about:",
        "PROJ-1 ",
        "**",
      ),
      fc.integer({ min: 1, max: 60 }).map((tokens) => prose(tokens)),
    );
    const text = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 4 }), (answer, source, depth) => {
        const verdict = verdictOn({ depth, source, answer });
        const isFit =
          !verdict.ok ||
          (verdict.tokens < estimateTokens(source) &&
            /expand\s+for\s+details\s+about/i.test(verdict.content));
        expect(isFit).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("identifiers", () => {
  test.each([
    ["see src/store/view-store.ts.", ["src/store/view-store.ts"]],
    ["/etc/hosts and ~/notes/todo and ../lib/a.ts", ["/etc/hosts", "~/notes/todo", "../lib/a.ts"]],
    ["open package.json, then README.md", ["package.json", "README.md"]],
    [
      "https://example.com/a/b?c=1, and (http://x.org/y)",
      ["https://example.com/a/b?c=1", "http://x.org/y"],
    ],
    ["550e8400-e29b-41d4-a716-446655440000", ["550e8400-e29b-41d4-a716-446655440000"]],
    ["commit 4be91d7 and sum_1147c2cc5dd791d0", ["4be91d7", "sum_1147c2cc5dd791d0"]],
    [
      "PROJ-412: MAX_RETRIES, refreshToken, customer_id",
      ["PROJ-412", "MAX_RETRIES", "refreshToken", "customer_id"],
    ],
    ['{"path":"src/a/b.ts","orderId":"A1-77"}', ["src/a/b.ts", "orderId", "A1-77"]],
    ["修改了src/登录.ts和useBiometric，问题APP-88。", ["useBiometric", "APP-88"]],
    ["見てsrc/app/main.goを直した", ["src/app/main.go"]],
    ["plain words, a list; numbers 12 and 3.14", []],
    ["on 17/02/2026 or 2026/02/17, about 3/4 of it, 24/7", []],
    ["cd ../.. && ls ./..", []],
    ["deadbeef 1234567 effaced", []],
    ["", []],
  ])("of %j", (text, expected) => {
    expect(identifiers(text).map(([name]) => name)).toEqual(expected);
  });

  test("come with their counts, the most frequent first", () => {
    expect(identifiers("a_b PROJ-1 a_b\nPROJ-1 a_b x_y")).toEqual([
      ["a_b", 3],
      ["PROJ-1", 2],
      ["x_y", 1],
    ]);
  });

  test("are mentioned once by a paragraph, however often it repeats them", () => {
    expect(mentions("a_b a_b x_y\na_b\n\nx_y\n \nx_y c_d")).toEqual([
      ["x_y", 3],
      ["a_b", 1],
      ["c_d", 1],
    ]);
  });

  test.each([
    ["src/store/view-store.ts", "view-store.ts"],
    ["src/store/", "store"],
    ["PROJ-1", "PROJ-1"],
    ["/", "/"],
  ])("the last part of %j is %j", (name, last) => {
    expect(lastPart(name)).toBe(last);
  });

  test("are found in a long line of a script without spaces", () => {
    const line = `${"我们讨论了很久".repeat(60)}src/pages/login.tsx${"然后继续".repeat(60)}`;
    expect(identifiers(line)).toEqual([["src/pages/login.tsx", 1]]);
  });
});

describe("the time it takes grows with the text, not with its square", () => {
  const MEGABYTE = 1_000_000;
  const repeat = (text: string, length: number) => text.repeat(Math.ceil(length / text.length));
  const HARD: Readonly<Record<string, (length: number) => string>> = {
    "a line of hex": (length) => repeat("0a1b2c3d4e5f", length),
    "a line of base64": (length) => repeat("QUJDRGVmZ2hpSktMbW5vcA+/", length),
    "a path without end": (length) => repeat("a/", length),
    "a path of dots": (length) => repeat("../.-@", length),
    "words just short enough": (length) => repeat(`${"a.-".repeat(66)} `, length / 4),
    underscores: (length) => repeat("a_", length),
    "empty lines": (length) => `a${repeat("\n", length)}b`,
    "spaces between line ends": (length) => repeat(`\n${" ".repeat(500)}`, length),
  };

  /** The best of three, so that a pause of the machine does not count. */
  function fastest(work: () => void): number {
    const times = [1, 2, 3].map(() => {
      const start = performance.now();
      work();
      return performance.now() - start;
    });
    return Math.min(...times);
  }

  // Sixteen times the text: about 16 when linear, 256 when quadratic.
  const LINEAR = 80;
  const growth = (work: (length: number) => () => void, length: number): number =>
    fastest(work(length)) / Math.max(0.2, fastest(work(length / 16)));

  test.each(Object.entries(HARD))("for identifiers in %s", (_, make) => {
    const work = (length: number) => {
      const text = make(length);
      return () => void mentions(text);
    };
    expect(growth(work, MEGABYTE)).toBeLessThan(LINEAR);
  });

  test.each(Object.entries(HARD))("for the verdict on %s", (_, make) => {
    const work = (length: number) => {
      const answer = `${make(length)}\n${FOOTER}`;
      const input = { prompt: prose(500), source: make(length), targetTokens: 1e6, depth: 0 };
      return () => void judge(answer, { ...input, sourceTokens: 1e9 });
    };
    expect(growth(work, 390_000)).toBeLessThan(LINEAR);
  });
});
