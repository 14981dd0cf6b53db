import { contentText, records, str } from "./loose-json.js";
import type { ModelMessage, PreparedReply, WireFormat } from "./model-types.js";

/**
 * Anthropic carries tool results as blocks of a user message; they become
 * messages of their own so that scripts read both wire formats alike.
 */
function toMessages(raw: Record<string, unknown>): ModelMessage[] {
  const blocks = records(raw["content"]);
  const results = blocks
    .filter((block) => block["type"] === "tool_result")
    .map((block): ModelMessage => ({
      role: "tool",
      text: contentText(block["content"]),
      toolCalls: [],
      toolCallId: str(block["tool_use_id"]),
    }));
  const toolCalls = blocks
    .filter((block) => block["type"] === "tool_use")
    .map((block) => ({
      id: str(block["id"]),
      name: str(block["name"]),
      arguments: block["input"],
    }));
  const text = contentText(raw["content"]);
  if (results.length > 0 && text === "") return results;
  return [
    ...results,
    { role: raw["role"] === "assistant" ? "assistant" : "user", text, toolCalls },
  ];
}

function contentBlocks(reply: PreparedReply): Record<string, unknown>[] {
  return [
    ...(reply.reasoning
      ? [{ type: "thinking", thinking: reply.reasoning, signature: "c2NyaXB0ZWQ=" }]
      : []),
    ...(reply.text ? [{ type: "text", text: reply.text }] : []),
    ...reply.toolCalls.map((call) => ({
      type: "tool_use",
      id: call.id,
      name: call.name,
      input: JSON.parse(call.json) as unknown,
    })),
  ];
}

function inputUsage(reply: PreparedReply): Record<string, number> {
  return {
    input_tokens: reply.usage.inputTokens,
    cache_read_input_tokens: reply.usage.cacheReadTokens,
    cache_creation_input_tokens: reply.usage.cacheWriteTokens,
  };
}

const stopReason = (reply: PreparedReply): string =>
  reply.toolCalls.length > 0 ? "tool_use" : "end_turn";

/** The empty start of a block and the deltas that fill it. */
function blockFrames(block: Record<string, unknown>): { start: unknown; deltas: unknown[] } {
  switch (block["type"]) {
    case "thinking":
      return {
        start: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          { type: "thinking_delta", thinking: block["thinking"] },
          { type: "signature_delta", signature: block["signature"] },
        ],
      };
    case "tool_use":
      return {
        start: { ...block, input: {} },
        deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(block["input"]) }],
      };
    default:
      return {
        start: { type: "text", text: "" },
        deltas: [{ type: "text_delta", text: block["text"] }],
      };
  }
}

/** `POST /v1/messages`. */
export const anthropicWire: WireFormat = {
  name: "anthropic",
  path: "/v1/messages",

  parse(body) {
    return {
      system: contentText(body["system"]),
      messages: records(body["messages"]).flatMap(toMessages),
      toolNames: records(body["tools"]).map((tool) => str(tool["name"])),
    };
  },

  renderJson(reply) {
    return {
      id: reply.id,
      type: "message",
      role: "assistant",
      model: reply.model,
      content: contentBlocks(reply),
      stop_reason: stopReason(reply),
      stop_sequence: null,
      usage: { ...inputUsage(reply), output_tokens: reply.usage.outputTokens },
    };
  },

  renderEvents(reply) {
    const frames: { type: string; [key: string]: unknown }[] = [
      {
        type: "message_start",
        message: {
          id: reply.id,
          type: "message",
          role: "assistant",
          model: reply.model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...inputUsage(reply), output_tokens: 1 },
        },
      },
    ];
    contentBlocks(reply).forEach((block, index) => {
      const { start, deltas } = blockFrames(block);
      frames.push({ type: "content_block_start", index, content_block: start });
      for (const delta of deltas) frames.push({ type: "content_block_delta", index, delta });
      frames.push({ type: "content_block_stop", index });
    });
    frames.push(
      {
        type: "message_delta",
        delta: { stop_reason: stopReason(reply), stop_sequence: null },
        usage: { output_tokens: reply.usage.outputTokens },
      },
      { type: "message_stop" },
    );
    return frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`);
  },
};
