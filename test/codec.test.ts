import fc from "fast-check";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LcmError } from "../src/errors.js";
import { decodeMessage, encodeMessage } from "../src/message-codec.js";
import type { AgentMessage } from "../src/types.js";
import { anyMessage } from "./support/any-message.js";

const FIXTURES = join(import.meta.dirname, "fixtures");
const NOW = "2026-11-18T08:00:00.000Z";

function fixtureMessages(): { file: string; message: AgentMessage }[] {
  return readdirSync(FIXTURES)
    .filter((file) => file.endsWith(".json"))
    .flatMap((file) =>
      messagesIn(JSON.parse(readFileSync(join(FIXTURES, file), "utf8"))).map((message) => ({
        file,
        message,
      })),
    );
}

/** Every message object in a captured payload, wherever it sits. */
function messagesIn(value: unknown): AgentMessage[] {
  if (Array.isArray(value)) return value.flatMap(messagesIn);
  if (typeof value !== "object" || value === null) return [];
  if ("role" in value && "content" in value) return [value as AgentMessage];
  return Object.values(value).flatMap(messagesIn);
}

describe("message codec", () => {
  it("gives back every message the host was seen to send", () => {
    const samples = fixtureMessages();
    expect(samples.length).toBeGreaterThan(20);
    for (const { file, message: sample } of samples) {
      expect(decodeMessage(encodeMessage(sample, NOW).body), file).toStrictEqual(sample);
    }
  });

  it("gives back any message exactly", () => {
    fc.assert(
      fc.property(anyMessage, (exact) => {
        expect(decodeMessage(encodeMessage(exact, NOW).body)).toStrictEqual(exact);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps lone surrogates, NUL and __proto__ keys", () => {
    const odd = JSON.parse(
      '{"role":"user","content":"a\\ud800b\\u0000c","__proto__":{"x":1}}',
    ) as AgentMessage;
    expect(JSON.stringify(decodeMessage(encodeMessage(odd, NOW).body))).toBe(JSON.stringify(odd));
  });

  it("takes the time from the message, else from its arrival", () => {
    expect(
      encodeMessage({ role: "user", content: "", timestamp: 1794981665864 }, NOW).createdAt,
    ).toBe("2026-11-18T06:01:05.864Z");
    for (const timestamp of [undefined, null, "soon", Number.NaN, 9e99, {}]) {
      expect(encodeMessage({ role: "user", content: "", timestamp }, NOW).createdAt).toBe(NOW);
    }
  });

  it("knows rows that no model sees", () => {
    const shown = (fields: object) =>
      encodeMessage({ role: "assistant", content: [], ...fields }, NOW).inContext;
    expect(shown({ provider: "fake", model: "fake-1" })).toBe(true);
    expect(shown({ provider: "openclaw", model: "gateway-injected" })).toBe(false);
    expect(shown({ provider: "openclaw", model: "delivery-mirror" })).toBe(false);
    expect(shown({ role: "custom", excludeFromContext: true })).toBe(false);
  });

  it("indexes tool calls and results by their call id", () => {
    const call = encodeMessage(
      { role: "assistant", content: [{ type: "toolCall", id: "c1", name: "exec", arguments: {} }] },
      NOW,
    );
    const result = encodeMessage(
      {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "exec",
        content: [{ type: "text", text: "ok" }],
      },
      NOW,
    );
    expect(call.parts).toMatchObject([{ type: "toolCall", toolCallId: "c1", toolName: "exec" }]);
    expect(result.parts).toMatchObject([{ type: "text", toolCallId: "c1", toolName: "exec" }]);
  });

  it("does not count an image's base64 as text", () => {
    const image = encodeMessage(
      {
        role: "user",
        content: [{ type: "image", data: "A".repeat(1_000_000), mimeType: "image/png" }],
      },
      NOW,
    );
    expect(image.tokens).toBeLessThan(3_000);
  });

  it.each([undefined, null, 7, "text", [], {}, { role: 1 }, { role: "" }])(
    "refuses %j with a sentence",
    (value) => {
      expect(() => encodeMessage(value, NOW)).toThrow(LcmError);
      expect(() => encodeMessage(value, NOW)).toThrow(/must be an object with a "role" string/);
    },
  );
});
