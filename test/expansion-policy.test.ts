// How deep to go for a question.

import { describe, expect, it } from "vitest";
import { decideExpansion, type ExpansionCandidate } from "../src/expansion-policy.js";

const leaf: ExpansionCandidate = { depth: 0, tokens: 1_000, sourceTokens: 15_000 };
const none = { count: 0, tokens: 0 };
const ask = (question: string, candidates: readonly ExpansionCandidate[], tokenCap = 4_000) =>
  decideExpansion({ question, candidates, messages: none, tokenCap });

describe("the way to an answer", () => {
  it.each([
    [
      "little enough to be read at once",
      "Why?",
      [{ depth: 0, tokens: 100, sourceTokens: 300 }],
      "direct",
      1,
    ],
    ["a question for something exact", "What was the exact command?", [leaf], "deep", 1],
    ["a question for a reason", "Why was it moved?", [leaf, leaf], "deep", 1],
    ["a node high up", "Why was it moved?", [{ ...leaf, depth: 3 }], "deep", 4],
    [
      "a question about a long stretch",
      "Give me an overview of the project",
      [leaf, leaf],
      "shallow",
      1,
    ],
    [
      "an exact detail of a long stretch",
      "Which port over the last weeks?",
      [leaf, leaf],
      "deep",
      1,
    ],
    [
      "more summaries than the cap could hold",
      "Why was it moved?",
      Array.from({ length: 8 }, () => leaf),
      "shallow",
      1,
    ],
  ] as const)("for %s", (_what, question, candidates, route, maxDepth) => {
    expect(ask(question, candidates)).toMatchObject({
      route,
      maxDepth,
      includeMessages: route !== "shallow",
    });
  });

  it("is never deeper than ten layers, and always says why", () => {
    const decision = ask("Why?", [{ ...leaf, depth: 40 }]);
    expect(decision.maxDepth).toBe(10);
    expect(decision.reason.length).toBeGreaterThan(10);
  });

  it("takes messages that nothing covers for what they are", () => {
    const messages = { count: 2, tokens: 300 };
    const input = { question: "Why?", candidates: [], messages, tokenCap: 4_000 };
    expect(decideExpansion(input).route).toBe("direct");
    expect(decideExpansion({ ...input, messages: { count: 2, tokens: 3_000 } }).route).toBe("deep");
  });
});
