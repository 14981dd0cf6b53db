// Calls and results of an assembled list: in pairs whatever was stored, and the same at the beginning
// whatever comes later.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blocksOf, plainText } from "../src/message-codec.js";
import { repairToolPairs } from "../src/transcript-repair.js";
import type { AgentMessage } from "../src/types.js";

const user = (text: string): AgentMessage => ({ role: "user", content: text });
const reply = (text: string): AgentMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
});
const calls = (...ids: string[]): AgentMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "toolCall", id, name: `tool-${id}`, arguments: {} })),
  timestamp: 7,
});
const result = (id: string, text = `result of ${id}`): AgentMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: `tool-${id}`,
  content: [{ type: "text", text }],
});
const noResult = (id: string): AgentMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: `tool-${id}`,
  content: [{ type: "text", text: "No result: the call was cut off before it ended." }],
  isError: true,
  timestamp: 7,
});
const thinking = (text: string): AgentMessage => ({
  role: "assistant",
  content: [{ type: "thinking", thinking: text }],
});

describe("nothing is wrong with", () => {
  test.each<[string, AgentMessage[]]>([
    ["an empty list", []],
    ["plain talk", [user("hi"), reply("hello")]],
    ["a pair", [user("hi"), calls("a"), result("a"), reply("done")]],
    ["parallel calls", [calls("a", "b"), result("a"), result("b")]],
    ["parallel calls that ended in another order", [calls("a", "b"), result("b"), result("a")]],
    ["loops", [calls("a"), result("a"), calls("b"), result("b"), reply("done")]],
    [
      "an id that is used again",
      [calls("a"), result("a"), user("x"), calls("a"), result("a", "2")],
    ],
    ["a reply as a string", [user("hi"), { role: "assistant", content: "hello" }]],
    ["roles of the host's own", [{ role: "custom", content: "note" }]],
    [
      "thinking before a call",
      [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm" },
            { type: "toolCall", id: "a", name: "exec", arguments: {} },
          ],
        },
        result("a"),
      ],
    ],
  ])("%s", (_, messages) => {
    expect(repairToolPairs(messages)).toBe(messages);
  });
});

describe("repaired is", () => {
  test.each<[string, AgentMessage[], AgentMessage[]]>([
    ["a result without a call", [user("hi"), result("a"), reply("x")], [user("hi"), reply("x")]],
    ["a result before its call", [result("a"), calls("a")], [calls("a"), noResult("a")]],
    [
      "a result that came twice",
      [calls("a"), result("a", "first"), result("a", "second"), reply("x")],
      [calls("a"), result("a", "first"), reply("x")],
    ],
    [
      "a result without an id",
      [calls("a"), { role: "toolResult", content: "x" }],
      [calls("a"), noResult("a")],
    ],
    [
      "a result behind a steered message",
      [calls("a"), user("wait!"), result("a"), reply("x")],
      [calls("a"), result("a"), user("wait!"), reply("x")],
    ],
    [
      "results of two calls that came mixed",
      [calls("a"), calls("b"), result("b"), result("a")],
      [calls("a"), result("a"), calls("b"), result("b")],
    ],
    ["a call without a result", [user("hi"), calls("a")], [user("hi"), calls("a"), noResult("a")]],
    [
      "one of two parallel calls without a result",
      [calls("a", "b"), result("b"), user("x")],
      [calls("a", "b"), result("b"), noResult("a"), user("x")],
    ],
    [
      "a call without a result whose id is used again",
      [calls("a"), user("again"), calls("a"), result("a")],
      [calls("a"), noResult("a"), user("again"), calls("a"), result("a")],
    ],
    [
      "an id that stands twice in one message",
      [calls("a", "a"), result("a")],
      [calls("a", "a"), result("a")],
    ],
    ["an empty reply", [user("hi"), { role: "assistant", content: [] }], [user("hi")]],
    ["a reply without content", [user("hi"), { role: "assistant" }], [user("hi")]],
    ["a blank reply", [user("hi"), reply(" \n"), reply("")], [user("hi")]],
    ["a blank reply as a string", [user("hi"), { role: "assistant", content: " " }], [user("hi")]],
    ["thinking alone", [user("hi"), thinking("hm"), user("?")], [user("hi"), user("?")]],
    [
      "thinking with blank text",
      [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "x" },
            { type: "text", text: "" },
          ],
        },
      ],
      [],
    ],
  ])("%s", (_, messages, expected) => {
    expect(repairToolPairs(messages)).toEqual(expected);
  });

  test("no user message, however empty", () => {
    const messages = [user(""), { role: "user", content: [] }];
    expect(repairToolPairs(messages)).toBe(messages);
  });

  test("no message itself: those that stay are the same objects", () => {
    const messages = [calls("a"), user("wait!"), result("a"), result("b")];
    const [call, moved, steered] = repairToolPairs(messages);
    expect([call, steered, moved]).toEqual(messages.slice(0, 3));
    expect(call === messages[0] && steered === messages[1] && moved === messages[2]).toBe(true);
  });
});

describe("whatever the list", () => {
  const id = fc.constantFrom("a", "b", "c", "d");
  const message = fc.oneof(
    fc.constant(user("u")),
    fc.constantFrom(reply("r"), reply(""), thinking("t")),
    fc.array(id, { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
    id.map((one) => result(one)),
    fc.constant<AgentMessage>({ role: "toolResult", content: [] }),
  );
  const anyList = fc.array(message, { maxLength: 24 });

  /** A turn as it is stored when it has ended: all its results are there, in any order and place. */
  const completeTurn = fc
    .tuple(
      fc.array(fc.uniqueArray(id, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
      fc.boolean(),
    )
    .map(([rounds, isSteered]) => [
      user("u"),
      ...rounds.flatMap((ids) => [
        calls(...ids),
        ...(isSteered ? [user("wait!")] : []),
        ...ids.toReversed().map((one) => result(one)),
      ]),
      reply("done"),
    ]);

  const idsOf = (one: AgentMessage): unknown[] =>
    one.role === "assistant"
      ? blocksOf(one)
          .filter(({ type }) => type === "toolCall")
          .map((block) => block["id"])
      : [];

  test("each call is followed at once by one result, each result stands behind its call", () => {
    fc.assert(
      fc.property(anyList, (messages) => {
        const awaited = new Set<unknown>();
        for (const one of repairToolPairs(messages)) {
          const isAwaited = awaited.delete(one["toolCallId"]);
          expect(isAwaited).toBe(one.role === "toolResult");
          expect(awaited.size === 0 || one.role === "toolResult").toBe(true);
          for (const called of idsOf(one)) awaited.add(called);
        }
        expect(awaited.size).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("what a user said stays, in order, and so does every reply that says something", () => {
    fc.assert(
      fc.property(anyList, (messages) => {
        const isSaid = (one: AgentMessage) =>
          one.role === "user" || plainText(one) === "r" || idsOf(one).length > 0;
        const said = (list: readonly AgentMessage[]) => list.filter(isSaid);
        expect(said(repairToolPairs(messages))).toEqual(said(messages));
      }),
    );
  });

  test("a repaired list is not repaired again", () => {
    fc.assert(
      fc.property(anyList, (messages) => {
        const repaired = repairToolPairs(messages);
        expect(repairToolPairs(repaired)).toBe(repaired);
      }),
    );
  });

  test("turns that come later leave the beginning as it was", () => {
    fc.assert(
      fc.property(anyList, fc.array(completeTurn, { maxLength: 4 }), (messages, turns) => {
        const before = repairToolPairs(messages);
        const after = repairToolPairs([...messages, ...turns.flat()]);
        expect(after.slice(0, before.length)).toEqual(before);
      }),
      { numRuns: 300 },
    );
  });
});
