// What a summarizer reads: messages with role and time, summaries with their range, long texts from
// both ends.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  bothEnds,
  messagePieces,
  sourceText,
  summaryPieces,
} from "../src/summarize/source-text.js";
import type { Summary } from "../src/store/summary-store.js";
import { timeFormat } from "../src/time-format.js";
import { estimateTokens } from "../src/tokens.js";
import type { AgentMessage, MessageId } from "../src/types.js";
import { prose } from "./support/prose.js";

const TIME = timeFormat("America/Los_Angeles");
const AT = "2026-02-17T23:37:00.000Z";

function pieces(messages: readonly AgentMessage[], mostTokens = 100_000) {
  return messagePieces(
    messages.map((message, index) => ({
      id: index as MessageId,
      message,
      createdAt: AT,
      tokens: estimateTokens(JSON.stringify(message["content"])),
    })),
    TIME,
    mostTokens,
  );
}

describe("a message", () => {
  test.each<[string, AgentMessage, string]>([
    ["of the user", { role: "user", content: "hi" }, "user\nhi"],
    [
      "of a tool",
      { role: "toolResult", toolName: "exec", content: [{ type: "text", text: "ok" }] },
      "exec result\nok",
    ],
    [
      "of a tool that failed",
      { role: "toolResult", toolName: "exec", isError: true, content: "no" },
      "exec error\nno",
    ],
    ["of a tool without a name", { role: "toolResult", content: "x" }, "tool result\nx"],
    [
      "that thinks, speaks and calls",
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "Looking." },
          { type: "toolCall", id: "c1", name: "exec", arguments: { command: "date" } },
        ],
      },
      'assistant\nLooking.\ncalls exec {"command":"date"}',
    ],
    [
      "with an image and something unknown",
      { role: "user", content: [{ type: "image", mimeType: "image/png" }, { type: "video" }, {}] },
      "user\n[image image/png]\n[video]\n[unknown]",
    ],
    ["that says nothing", { role: "assistant", content: [] }, "assistant"],
  ])("%s", (_, message, expected) => {
    expect(sourceText(pieces([message]))).toBe(`[2026-02-17 15:37 PST] ${expected}`);
  });

  test("stands apart from the next by an empty line", () => {
    const both = pieces([
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ]);
    expect(sourceText(both)).toBe(
      "[2026-02-17 15:37 PST] user\na\n\n[2026-02-17 15:37 PST] assistant\nb",
    );
  });
});

test("a summary carries its id and its range", () => {
  const summary = {
    id: "sum_1147c2cc5dd791d0",
    earliestAt: "2026-02-17T15:37:00.000Z",
    latestAt: "2026-02-18T01:21:00.000Z",
    content: "Moved to Redis.",
  } as Summary;
  expect(sourceText(summaryPieces([summary], TIME))).toBe(
    "[2026-02-17 07:37–17:21 PST] sum_1147c2cc5dd791d0\nMoved to Redis.",
  );
});

describe("long texts", () => {
  const long = { role: "toolResult", toolName: "read", content: `BEGIN ${prose(5_000)} END` };
  const short = { role: "user", content: `short ${prose(200)}` };

  test("are read whole while they fit", () => {
    expect(pieces([short, long])[1]?.text).toBe(long.content);
  });

  test("are read from both ends when they do not, and short ones whole", () => {
    const [first, second] = pieces([short, long, long], 3_000);
    expect(first?.text).toBe(short.content);
    expect(second?.text).toMatch(/^BEGIN [\s\S]+ characters left out …\][\s\S]+ END$/);
    const tokens = estimateTokens(sourceText(pieces([short, long, long], 3_000)));
    expect(tokens).toBeLessThan(3_300);
  });

  test.each([
    ["English", prose(4_000)],
    ["Chinese", "我们讨论了数据库的迁移方案".repeat(300)],
    ["hex", "0a1b2c3d4e5f".repeat(700)],
  ])("of %s keep to about their tokens", (_, text) => {
    const cut = bothEnds(text, 500);
    expect(cut).toContain("characters left out");
    expect(estimateTokens(cut)).toBeGreaterThan(350);
    expect(estimateTokens(cut)).toBeLessThan(650);
    expect(cut.isWellFormed()).toBe(true);
  });

  test("keep both ends and count what is missing", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), (given, most) => {
        const cut = bothEnds(given, most);
        const [head = "", count = "0", tail = ""] = cut.split(
          /\n\[… ([\d,]+) characters left out …\]\n/,
        );
        const left = Number(count.replaceAll(",", ""));
        expect(head.length + left + tail.length).toBe(given.length);
        expect(left === 0).toBe(cut === given);
      }),
    );
  });
});
