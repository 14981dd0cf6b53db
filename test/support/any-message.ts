// Messages that no host was seen to send, and none may break us with: any text, junk roles and blocks.

import fc from "fast-check";
import type { AgentMessage } from "../../src/types.js";

const halves = fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code));

/** Any code points, and halves of pairs that stand alone. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.oneof(halves, fc.string({ unit: "binary", minLength: 1, maxLength: 1 })) }),
);

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text }),
  fc.record({
    type: fc.constant("thinking"),
    thinking: text,
    thinkingSignature: fc.string(),
  }),
  fc.record({
    type: fc.constant("toolCall"),
    id: fc.string(),
    name: fc.string(),
    arguments: fc.dictionary(fc.string(), fc.jsonValue()),
  }),
  fc.record({
    type: fc.constant("image"),
    data: fc.base64String(),
    mimeType: fc.constant("image/png"),
  }),
  fc.record({ type: fc.string(), anything: fc.jsonValue() }),
);

const message = fc.record(
  {
    role: fc.oneof(
      fc.constantFrom("user", "assistant", "toolResult", "custom", "system"),
      fc.string({ minLength: 1 }),
    ),
    content: fc.oneof(text, fc.array(block), fc.jsonValue()),
    timestamp: fc.oneof(fc.integer({ min: 0, max: 4e12 }), fc.string(), fc.constant(null)),
    details: fc.jsonValue(),
    isError: fc.boolean(),
    __openclaw: fc.dictionary(fc.string(), fc.jsonValue()),
    unknownField: fc.jsonValue(),
  },
  { requiredKeys: ["role"] },
);

/** As it comes out of the host's own JSON. */
export const anyMessage = message.map(
  (generated) => JSON.parse(JSON.stringify(generated)) as AgentMessage,
);
