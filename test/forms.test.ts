// Messages in short, each with the id that leads back to the whole, and what the model is told about
// them.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shortForm } from "../src/assembler/forms.js";
import { recallGuidance } from "../src/assembler/guidance.js";
import { STUB_TOKENS } from "../src/compaction/view-items.js";
import { encodeMessage, plainText } from "../src/message-codec.js";
import type { AgentMessage, MessageId } from "../src/types.js";
import { prose } from "./support/prose.js";

const ID = 42 as MessageId;

function short(message: AgentMessage, form: "stub" | "reference" = "stub"): AgentMessage {
  return JSON.parse(shortForm(ID, message, form, 1_234).json);
}

const RESULT: AgentMessage = {
  role: "toolResult",
  toolCallId: "c1",
  toolName: "exec",
  content: [{ type: "text", text: `FIRST ${prose(800)} LAST` }],
  details: { aggregated: prose(800) },
  isError: false,
  timestamp: 7,
};

describe("a short form", () => {
  test("says what it stands for, how it begins and ends, and how to get the whole", () => {
    const text = plainText(short(RESULT));
    expect(text).toMatch(/^\[msg_42: exec result of 1,234 tokens, shown in short\. /);
    expect(text).toMatch(/It begins: FIRST .+ … and ends: .+ LAST /);
    expect(text).toMatch(/lcm_describe\(id: "msg_42"\) gives the original\.\]$/);
  });

  test("keeps what the provider and the host know the message by, and drops its bulk", () => {
    const { content: _content, ...envelope } = short(RESULT);
    expect(envelope).toEqual({
      role: "toolResult",
      toolCallId: "c1",
      toolName: "exec",
      isError: false,
      timestamp: 7,
    });
  });

  test("costs about what the planner counts for a stub", () => {
    const { tokens } = shortForm(ID, RESULT, "stub", 1_234);
    expect(tokens).toBeLessThanOrEqual(STUB_TOKENS);
    expect(tokens).toBeLessThan(shortForm(ID, RESULT, "reference", 1_234).tokens);
  });

  test("quotes a short text whole, and none where there is none", () => {
    const said = (text: string) => plainText(short({ role: "user", content: text }));
    expect(said(`${"a".repeat(170)}END`)).toContain(`It says: ${"a".repeat(170)}END lcm_describe`);
    expect(said(" \n ")).toBe(
      '[msg_42: user message of 1,234 tokens, shown in short. lcm_describe(id: "msg_42") gives the original.]',
    );
  });

  test("keeps calls, so that their results have one, but not large arguments", () => {
    const call = (size: number) => ({
      type: "toolCall",
      id: "c1",
      name: "write",
      arguments: { text: prose(size) },
    });
    const written = short({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "x" },
        call(10),
        call(900),
      ],
    });
    expect(written["content"]).toMatchObject([
      { type: "text" },
      { arguments: { text: prose(10) } },
      { id: "c1", name: "write", arguments: { omitted: expect.stringContaining("see msg_42") } },
    ]);
  });

  test("keeps images", () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    expect(
      short({ role: "user", content: [image, { type: "text", text: "look" }] })["content"],
    ).toEqual([{ type: "text", text: expect.stringContaining("It says: look") }, image]);
  });

  test("is well-formed text for any text", () => {
    const text = fc.string({ unit: "binary", maxLength: 1_200 });
    fc.assert(
      fc.property(text, fc.constantFrom("stub" as const, "reference" as const), (content, form) => {
        const shown = short({ role: "user", content }, form);
        expect(plainText(shown).isWellFormed()).toBe(true);
        expect(plainText(shown)).not.toContain("\n");
      }),
    );
  });

  test("counts its own tokens as the store would", () => {
    const { json, tokens } = shortForm(ID, RESULT, "reference", 1_234);
    expect(tokens).toBe(encodeMessage(JSON.parse(json), "").tokens);
  });
});

describe("the guidance", () => {
  const ALL = ["lcm_grep", "lcm_describe", "lcm_expand_query"];
  const guide = (tools: string[], hasSummaries = true) =>
    recallGuidance({ hasSummaries, availableTools: new Set(tools), zone: "Europe/Berlin" });

  test("says that summaries are lossy data, which tool gets what back, and the zone once", () => {
    const text = guide(ALL) ?? "";
    expect(text).toMatch(/lossy/);
    expect(text).toMatch(/not instructions/);
    expect(text.match(/Europe\/Berlin/g)).toHaveLength(1);
    for (const tool of ALL) expect(text).toContain(`- ${tool} `);
    expect(text.length).toBeLessThan(1_200);
  });

  test("names only tools that are there", () => {
    expect(guide(["lcm_grep"])).not.toMatch(/lcm_describe|lcm_expand/);
  });

  test("is not given without summaries or without tools", () => {
    expect(guide(ALL, false)).toBeUndefined();
    expect(guide([])).toBeUndefined();
    expect(guide(["read", "exec"])).toBeUndefined();
  });
});
