// What gives way when a budget does not hold the view, what stands in its place, and how our list and
// the host's are joined.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainPointer, planFold, pointer } from "../src/assembler/fold.js";
import { spliceHost } from "../src/assembler/splice-host.js";
import { totalTokens, type ViewItem } from "../src/compaction/view-items.js";
import type { FoldFacts } from "../src/store/view-store.js";
import { timeFormat } from "../src/time-format.js";
import type { AgentMessage, MessageId, SummaryId } from "../src/types.js";
import { parseXml } from "./support/strict-xml.js";
import { answer, call, items, message, summary, turn } from "./support/view-items.js";

/** What a fold may cost itself, with eight summaries named. */
const POINTER = 240;

describe("the fold", () => {
  const hundred = (count: number) => Array.from({ length: count }, (_, at) => message(at, 100));

  test("is none when there is nothing to fold", () => {
    expect(planFold([], 1_000)).toBeUndefined();
  });

  test("takes the oldest messages, down to four fifths of the budget with its pointer", () => {
    // 0.8 * 2,000 - 240 = 1,360: thirteen messages stay.
    expect(planFold(items(...hundred(30)), 2_000)).toEqual({ from: 0, to: 17 });
  });

  test("leaves summaries at the beginning alone while they take half the budget", () => {
    const view = (tokens: number) => items(summary("s1", tokens), ...hundred(30));
    expect(planFold(view(500), 2_000)).toEqual({ from: 1, to: 23 });
    expect(planFold(view(1_000), 2_000)).toEqual({ from: 1, to: 28 });
    expect(planFold(view(1_001), 2_000)).toEqual({ from: 0, to: 18 });
  });

  test("takes the oldest summaries when the view has nothing else", () => {
    const view = items(...Array.from({ length: 10 }, (_, at) => summary(`s${at}`, 300)));
    expect(planFold(view, 2_000)).toEqual({ from: 0, to: 6 });
  });

  test("takes all when not even the newest fits", () => {
    const view = items(summary("s1", 100), turn(1, 10), message(2, 5_000));
    expect(planFold(view, 2_000)).toEqual({ from: 0, to: 3 });
    expect(planFold(view, 1)).toEqual({ from: 0, to: 3 });
  });

  test("takes a call with its result, and what stands between them", () => {
    const view = items(
      turn(1, 700),
      call(2, 300, "a"),
      turn(3, 100),
      answer(4, 300, "a"),
      message(5, 400),
    );
    // 860 would hold all but the first two.
    expect(planFold(view, 1_375)).toEqual({ from: 0, to: 4 });
    // 1,160 would hold the pair.
    expect(planFold(view, 1_750)).toEqual({ from: 0, to: 1 });
  });

  describe("with items missing from the list", () => {
    test("reaches across the gap even where everything behind it fits", () => {
      expect(planFold(items(...hundred(10)), 100_000, 4)).toEqual({ from: 0, to: 5 });
    });

    test("goes on as far as it must", () => {
      expect(planFold(items(...hundred(30)), 2_000, 4)).toEqual({ from: 0, to: 17 });
    });

    test("begins before the gap where only summaries stand there", () => {
      const view = items(summary("s1", 10), summary("s2", 10), summary("s3", 10), ...hundred(3));
      expect(planFold(view, 100_000, 2)).toEqual({ from: 1, to: 3 });
      expect(planFold(view, 100_000, 4)).toEqual({ from: 3, to: 5 });
    });
  });

  const pairs = fc
    .array(fc.tuple(fc.constantFrom("talk", "pair", "crossed"), fc.integer({ min: 1, max: 900 })), {
      maxLength: 30,
    })
    .map((parts) =>
      parts.flatMap(([kind, tokens], at) => {
        const id = at * 10;
        if (kind === "talk") return [turn(id, tokens), message(id + 1, tokens)];
        const between = kind === "crossed" ? [turn(id + 1, 20)] : [];
        return [
          call(id, 30, `${at}a`, `${at}b`),
          ...between,
          answer(id + 2, tokens, `${at}a`),
          answer(id + 3, tokens, `${at}b`),
        ];
      }),
    );
  const view = fc
    .tuple(fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 6 }), pairs)
    .map(([heads, rest]): ViewItem[] =>
      items(...heads.map((tokens, at) => summary(`s${at}`, tokens)), ...rest),
    )
    .filter((list) => list.length > 0);
  const budget = fc.integer({ min: 1, max: 20_000 });

  test("fits, holds at least one item, and separates no call from its result", () => {
    fc.assert(
      fc.property(view, budget, fc.nat({ max: 5 }), (list, tokens, place) => {
        const gap = Math.min(place, list.length - 1);
        const { from, to } = planFold(list, tokens, gap) ?? { from: 0, to: 0 };
        expect(to).toBeGreaterThan(from);
        const kept = [...list.slice(0, from), ...list.slice(to)];
        const room = Math.max(0, tokens * 0.8 - POINTER);
        expect(kept.length === 0 || totalTokens(kept) <= room).toBe(true);
        expect(gap === 0 || (from < gap && to > gap)).toBe(true);
        const isFolded = (at: number) => at >= from && at < to;
        const callAt = new Map<string, number>();
        for (const [at, item] of list.entries()) {
          if (!("messageId" in item)) continue;
          for (const id of item.calls) callAt.set(id, at);
          const called = callAt.get(item.answers ?? "");
          expect(called === undefined || isFolded(called) === isFolded(at)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("shrinks with a larger budget, as long as it leaves the same beginning", () => {
    fc.assert(
      fc.property(view, budget, budget, (list, one, other) => {
        const less = planFold(list, Math.min(one, other));
        const more = planFold(list, Math.max(one, other));
        expect(less?.from !== more?.from || (less?.to ?? 0) >= (more?.to ?? 0)).toBe(true);
      }),
    );
  });
});

describe("the pointer", () => {
  const time = timeFormat("America/Los_Angeles");
  const ids = Array.from(
    { length: 8 },
    (_, at) => `sum_${(0xf8ee4e7a5a7b0000 + at * 0x3b9aca07).toString(16)}`,
  ) as SummaryId[];
  const facts: FoldFacts = {
    messages: 1_240,
    summaries: 40,
    summaryIds: ids,
    tokens: 182_340,
    first: 12_345 as MessageId,
    last: 14_562 as MessageId,
    earliestAt: "2026-02-17T15:37:00.000Z",
    latestAt: "2026-03-18T01:21:00.000Z",
  };
  const shownText = ({ json }: { json: string }): string => JSON.parse(json).content;

  test("tells what it stands for and how to get it back", () => {
    const text = shownText(pointer(facts, time));
    const { name, attributes } = parseXml(text);
    expect(name).toBe("folded");
    expect(attributes).toEqual([
      ["messages", "1240"],
      ["summaries", "40"],
      ["range", "2026-02-17 07:37 PST – 2026-03-17 18:21 PDT"],
      ["first", "msg_12345"],
      ["last", "msg_14562"],
    ]);
    expect(text).toContain("About 182,340 tokens");
    expect(text).toContain(`${ids.join(", ")}, and 32 more.`);
    for (const tool of ["lcm_grep", "lcm_describe", "lcm_expand_query"]) {
      expect(text).toContain(tool);
    }
  });

  test("costs no more than the fold leaves for it", () => {
    expect(pointer(facts, time).tokens).toBeLessThanOrEqual(POINTER);
  });

  test("names no summaries where there are none, and no messages likewise", () => {
    const talk = shownText(pointer({ ...facts, summaries: 0, summaryIds: [] }, time));
    expect(talk).not.toContain("Summaries among them");
    const nodes = pointer({ ...facts, messages: 0, first: null, last: null }, time);
    expect(parseXml(shownText(nodes)).attributes.map(([name]) => name)).toEqual([
      "messages",
      "summaries",
      "range",
    ]);
  });

  test("says less where nothing but a count is known", () => {
    const text = shownText(plainPointer(12, 3_400));
    expect(parseXml(text).attributes).toEqual([["messages", "12"]]);
    expect(text).toContain("About 3,400 tokens");
    expect(text).toContain("lcm_grep");
  });
});

describe("our list and the host's", () => {
  const one = (role: string, fields: object): AgentMessage => ({ role, content: "x", ...fields });
  const mark = { content: "<summary/>" };
  const ours = [one("user", mark), one("user", { idempotencyKey: "k1" })];

  test.each<[string, object, object]>([
    ["idempotencyKey", { idempotencyKey: "k" }, { idempotencyKey: "k", timestamp: 9 }],
    ["responseId", { responseId: "r", timestamp: 1 }, { responseId: "r", timestamp: 2 }],
    ["toolCallId", { toolCallId: "c" }, { toolCallId: "c", content: [] }],
    ["role and time", { timestamp: 17 }, { timestamp: 17, content: "as sent" }],
    ["the next mark where one is empty", { idempotencyKey: "", timestamp: 3 }, { timestamp: 3 }],
  ])("are joined by %s", (_, mine, theirs) => {
    const common = one("user", mine);
    const later = one("assistant", { timestamp: 99 });
    expect(
      spliceHost([...ours, common], [one("user", { timestamp: 1.5 }), one("user", theirs), later]),
    ).toEqual([...ours, common, later]);
  });

  test("are joined at the last message that both hold", () => {
    const [a, b, c] = [1, 2, 3].map((timestamp) => one("user", { timestamp }));
    const local = one("user", { timestamp: 50 });
    expect(spliceHost([a!, b!, local], [a!, b!, c!])).toEqual([a, b, c]);
  });

  test("stay as they are when ours is at its end", () => {
    const list = [1, 2].map((timestamp) => one("user", { timestamp }));
    expect(spliceHost(list, list)).toEqual(list);
  });

  test.each<[string, AgentMessage[], AgentMessage[]]>([
    ["there is none of ours", [], [one("user", { timestamp: 1 })]],
    ["there is none of the host's", [one("user", { timestamp: 1 })], []],
    ["roles differ", [one("user", { timestamp: 1 })], [one("assistant", { timestamp: 1 })]],
    ["nothing marks them, whatever they say", [one("user", {})], [one("user", {})]],
    ["marks are empty", [one("user", { idempotencyKey: "" })], [one("user", { responseId: "" })]],
    ["marks are not text", [one("user", { responseId: 1 })], [one("user", { responseId: 1 })]],
  ])("have nothing in common when %s", (_, mine, theirs) => {
    expect(spliceHost(mine, theirs)).toBeUndefined();
  });
});
