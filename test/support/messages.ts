// Messages in the shapes the host sends.

import type { AgentMessage } from "../../src/types.js";

export function userMessage(text: string, timestamp: number): AgentMessage {
  return {
    role: "user",
    content: text,
    timestamp,
    idempotencyKey: `${timestamp}:user`,
    __openclaw: { senderIsOwner: true },
  };
}

export function assistantMessage(text: string, timestamp: number): AgentMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "openai-completions",
    provider: "fake",
    model: "fake-1",
    stopReason: "stop",
    timestamp,
    responseId: `response-${timestamp}`,
  };
}

export function toolLoop(id: string, output: string, timestamp: number): AgentMessage[] {
  return [
    {
      role: "assistant",
      content: [{ type: "toolCall", id, name: "exec", arguments: { command: "date" } }],
      provider: "fake",
      model: "fake-1",
      stopReason: "toolUse",
      timestamp,
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: "exec",
      content: [{ type: "text", text: output }],
      details: { aggregated: output },
      isError: false,
      timestamp: timestamp + 1,
    },
  ];
}

/** The user row with which the host begins a heartbeat turn. */
export function heartbeatPrompt(timestamp: number): AgentMessage {
  return {
    role: "user",
    content: "[OpenClaw heartbeat poll]",
    timestamp,
    provenance: { kind: "internal_system", sourceTool: "heartbeat" },
  };
}
