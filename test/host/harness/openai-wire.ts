import { contentText, parseJson, records, isRecord, str } from "./loose-json.js";
import type { ModelMessage, PreparedReply, WireFormat } from "./model-types.js";

const ROLES = new Map<string, ModelMessage["role"]>([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["tool", "tool"],
]);

function toMessage(raw: Record<string, unknown>): ModelMessage {
  const toolCallId = raw["tool_call_id"];
  return {
    role: ROLES.get(str(raw["role"])) ?? "user",
    text: contentText(raw["content"]),
    toolCalls: records(raw["tool_calls"]).map((call) => {
      const fn = isRecord(call["function"]) ? call["function"] : {};
      return {
        id: str(call["id"]),
        name: str(fn["name"]),
        arguments: parseJson(str(fn["arguments"])),
      };
    }),
    ...(typeof toolCallId === "string" ? { toolCallId } : {}),
  };
}

function usage(reply: PreparedReply): unknown {
  const { inputTokens, outputTokens, cacheReadTokens } = reply.usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
  };
}

function toolCall(call: PreparedReply["toolCalls"][number], index: number): unknown {
  return {
    index,
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.json },
  };
}

const finishReason = (reply: PreparedReply): string =>
  reply.toolCalls.length > 0 ? "tool_calls" : "stop";

/** `POST /v1/chat/completions`. */
export const openaiWire: WireFormat = {
  name: "openai",
  path: "/v1/chat/completions",

  parse(body) {
    const all = records(body["messages"]).map(toMessage);
    return {
      system: all
        .filter((m) => m.role === "system")
        .map((m) => m.text)
        .join("\n"),
      messages: all.filter((m) => m.role !== "system"),
      toolNames: records(body["tools"]).map((t) =>
        isRecord(t["function"]) ? str(t["function"]["name"]) : "",
      ),
    };
  },

  renderJson(reply) {
    const message = {
      role: "assistant",
      content: reply.text || null,
      ...(reply.reasoning ? { reasoning_content: reply.reasoning } : {}),
      ...(reply.toolCalls.length > 0 ? { tool_calls: reply.toolCalls.map(toolCall) } : {}),
    };
    return {
      id: reply.id,
      object: "chat.completion",
      created: Math.floor(Date.now() / 1000),
      model: reply.model,
      choices: [{ index: 0, message, finish_reason: finishReason(reply) }],
      usage: usage(reply),
    };
  },

  renderEvents(reply) {
    const head = {
      id: reply.id,
      object: "chat.completion.chunk",
      created: Math.floor(Date.now() / 1000),
      model: reply.model,
    };
    const chunk = (delta: unknown, finish: string | null = null): unknown => ({
      ...head,
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const chunks = [chunk({ role: "assistant", content: "" })];
    if (reply.reasoning) chunks.push(chunk({ reasoning_content: reply.reasoning }));
    if (reply.text) chunks.push(chunk({ content: reply.text }));
    reply.toolCalls.forEach((call, index) =>
      chunks.push(chunk({ tool_calls: [toolCall(call, index)] })),
    );
    chunks.push(chunk({}, finishReason(reply)), { ...head, choices: [], usage: usage(reply) });
    return [...chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`), "data: [DONE]\n\n"];
  },
};
