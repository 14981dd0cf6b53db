// The summary that no model wrote: what it keeps, and that it always fits or is not there.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deterministicSummary } from "../src/summarize/deterministic.js";
import type { Piece } from "../src/summarize/source-text.js";
import { estimateTokens } from "../src/tokens.js";
import { prose } from "./support/prose.js";

const COVERS = "msg_12 to msg_40";
const HEAD = `[Written without a model; quotes ${COVERS}.]`;
const FOOTER = "Expand for details about:";
const ENOUGH = 100_000;

function piece(text: string, label = "user", when = "2026-02-17 15:37 PST"): Piece {
  return { label, when, text };
}

function summarize(pieces: readonly Piece[], below = ENOUGH): string | undefined {
  return deterministicSummary({ pieces, covers: COVERS, below });
}

/** The lines of a summary that has room for everything. */
function lines(...pieces: readonly Piece[]): string[] {
  return summarize(pieces)?.split("\n") ?? [];
}

describe("what it keeps", () => {
  test("says that no model wrote it, what it stands for, and how to get the rest", () => {
    const said = lines(piece("hello"));
    expect(said[0]).toBe(HEAD);
    expect(said.at(-1)).toBe(
      `${FOOTER} everything in ${COVERS}, which is quoted here only in part`,
    );
  });

  test("quotes the first and the last line of each message with its role and time", () => {
    expect(
      lines(
        piece("Please fix the login.\nIt fails at night.\n\nThanks!"),
        piece("ok\n", "assistant", "2026-02-17 15:38 PST"),
      ).slice(1, -1),
    ).toEqual([
      "2026-02-17 15:37 PST user: Please fix the login. … Thanks!",
      "2026-02-17 15:38 PST assistant: ok",
    ]);
  });

  test("leaves out what says nothing, and the footers of finer summaries", () => {
    expect(
      lines(
        piece(" \n\t"),
        piece(""),
        piece(`Decided on Redis.\n${FOOTER} exact commands`, "sum_1147c2cc5dd791d0"),
      ).slice(1, -1),
    ).toEqual(["2026-02-17 15:37 PST sum_1147c2cc5dd791d0: Decided on Redis."]);
  });

  test("lists names from anywhere in the text, the most frequent first", () => {
    const text = `begin\nsee PROJ-7 and src/a/b.ts\n\nthen src/a/b.ts, refreshToken\nend`;
    expect(lines(piece(text))).toContain("Names: src/a/b.ts, PROJ-7, refreshToken");
  });

  test.each([
    ["it took 350 ms and 3.5 GB", "350 ms, 3.5 GB"],
    ["errors fell from 31% to 0.2%.", "31%, 0.2%"],
    ["paid $1,200.50, or € 90", "$1,200.50, € 90"],
    ["upgraded v2.4.1 to 3.0.0 on 10.0.0.17", "v2.4.1, 3.0.0, 10.0.0.17"],
    ["12,400 tokens, 3 users, 40 min", "12,400 tokens, 3 users, 40 min"],
    ["twice 5% and 5%", "5%"],
  ])("lists the numbers of %j", (text, numbers) => {
    expect(lines(piece(`begin\n${text}\nend`))).toContain(`Numbers: ${numbers}`);
  });

  test("lists no numbers that say nothing by themselves", () => {
    expect(summarize([piece("step 1 of 3, in 2026, room 12")])).not.toContain("Numbers:");
  });

  test("names what several sources name before what one keeps repeating, and none of our own ids", () => {
    const said = lines(
      piece("begin\nsrc/a.ts src/a.ts src/a.ts, msg_12, PROJ-1\nend"),
      piece("begin\nsum_1147c2cc5dd791d0 msg_12 PROJ-2 PROJ-1\nend"),
    );
    expect(said).toContain("Names: PROJ-1, src/a.ts, PROJ-2");
  });

  test("of summaries that no model wrote, quotes what they quote, and merges what they list", () => {
    const leaf = (index: number): Piece => {
      const messages = [
        piece(`Question ${index} about src/file-${index}.ts\nand PROJ-7, ${index}0 ms`),
        piece(`Thought ${index}`, "assistant"),
        piece(`Answer ${index}`, "assistant", "2026-02-17 15:40 PST"),
      ];
      return piece(summarize(messages) ?? "", `sum_000000000000000${index}`, "15:37–15:40");
    };
    const first = [1, 2, 3, 4].map(leaf);
    const node = (sources: readonly Piece[], id: number): Piece =>
      piece(summarize(sources) ?? "", `sum_000000000000000${id}`, "15:37–15:40");
    const second = [node(first.slice(0, 2), 5), node(first.slice(2), 6)];
    const top = lines(...second);
    expect(top[0]).toBe(HEAD);
    expect(top[1]).toMatch(
      /^15:37–15:40 sum_0{15}5: 2026-02-17 15:37 PST user: Question 1 about src\/file-1\.ts .* Answer 2$/,
    );
    expect(top[2]).toMatch(/sum_0{15}6: 2026-02-17 15:37 PST user: Question 3 .* Answer 4$/);
    expect(top.slice(3, -1)).toEqual([
      expect.stringMatching(/^Names: PROJ-7, (src\/file-\d\.ts(, )?){4}$/),
      expect.stringMatching(/^Numbers: (\d0 ms(, )?){4}$/),
    ]);
    expect(top.join("\n").match(/Written without a model/g)).toHaveLength(1);
  });

  test("takes a message that looks like such a summary as it is", () => {
    expect(lines(piece(`${HEAD}\nNames: us\nhello`))[1]).toMatch(/user: \[Written .* … hello$/);
  });

  test("shortens long lines and keeps whole characters", () => {
    const said = summarize([piece("😀".repeat(500))], 120) ?? "";
    expect(said).toContain("😀…");
    expect(said.isWellFormed()).toBe(true);
  });

  test("keeps both ends when not all messages fit, and says how many are left out", () => {
    const many = Array.from({ length: 200 }, (_, index) => piece(`item${index} ${prose(30)}`));
    const said = summarize(many, 700) ?? "";
    expect(said).toContain("item0 ");
    expect(said).toContain("item199 ");
    const [, count = 0] = /\[… (\d+) more …\]/.exec(said) ?? [];
    expect(said.match(/item\d+ /g)).toHaveLength(200 - Number(count));
  });

  test("still says what it stands for when nothing else fits", () => {
    const many = Array.from({ length: 50 }, (_, index) => piece(`item${index} ${prose(300)}`));
    const least = `${HEAD}\n${FOOTER} ${COVERS}`;
    expect(summarize(many, estimateTokens(least) + 1)).toBe(least);
    expect(summarize(many, estimateTokens(least))).toBeUndefined();
  });
});

describe("whatever it is given", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.string({ unit: "grapheme", maxLength: 400 }),
    fc.tuple(fc.integer({ min: 1, max: 400 }), fc.nat()).map(([size, seed]) => prose(size, seed)),
    fc.constantFrom(
      "",
      "\n\n",
      "\ud800",
      "\0",
      FOOTER,
      "a\r\nb",
      "1,".repeat(3_000),
      "/".repeat(500),
    ),
  );
  const pieces = fc.array(
    fc.record({
      label: fc.constantFrom("user", "exec result", "sum_1147c2cc5dd791d0"),
      when: fc.constant("2026-02-17 15:37 PST"),
      text: fc.array(text, { maxLength: 4 }).map((parts) => parts.join("\n")),
    }),
    { maxLength: 90 },
  );
  const limit = fc.oneof(fc.integer({ min: -5, max: 400 }), fc.integer({ min: 0, max: 20_000 }));

  test("is below its limit with head and footer, or there is none", () => {
    fc.assert(
      fc.property(pieces, limit, (given, below) => {
        const said = summarize(given, below);
        const least = estimateTokens(`${HEAD}\n${FOOTER} ${COVERS}`);
        expect(said === undefined).toBe(least >= below);
        const written = said ?? `${HEAD}\n${FOOTER} ${COVERS}`;
        expect(estimateTokens(written)).toBeLessThan(said === undefined ? Infinity : below);
        expect(written.startsWith(`${HEAD}\n`)).toBe(true);
        expect(written.split("\n").at(-1)).toMatch(/^Expand for details about: .*msg_12 to msg_40/);
      }),
      { numRuns: 60 },
    );
  });

  test("never says less when it has more room", () => {
    fc.assert(
      fc.property(pieces, limit, limit, (given, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)].map((below) =>
          estimateTokens(summarize(given, below) ?? ""),
        );
        expect(less).toBeLessThanOrEqual(more ?? 0);
      }),
      { numRuns: 60 },
    );
  });

  test("takes a time that grows with the text, not with its square", () => {
    const time = (length: number): number => {
      const given = [piece("1,".repeat(length / 2)), piece("1.".repeat(length / 2))];
      const start = performance.now();
      summarize(given, 500);
      return performance.now() - start;
    };
    // Sixteen times the text: about 16 when linear, 256 when quadratic.
    expect(time(480_000) / Math.max(0.5, time(30_000))).toBeLessThan(80);
  });
});
