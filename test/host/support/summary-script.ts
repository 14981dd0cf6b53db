// A scripted model for long conversations: agents call a tool and answer at length, summaries are
// written as asked with the ids they find, and a request that a window could not hold is refused.

import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { prose } from "../../support/prose.js";
import { depthOf, sourceOf, targetOf } from "../../support/summarizers.js";
import type { RecordedRequest, Reply, Script } from "../harness/model-types.js";
import { FACT, recallReply } from "./recall-script.js";

/** What a provider would count, tools and system prompt included. */
export function requestTokens({ body }: RecordedRequest): number {
  const { messages, tools } = body;
  return encode(JSON.stringify([messages, tools ?? []])).length;
}

/** The prompt of a request for a summary; undefined for an agent's request. */
export function summaryPrompt({ toolNames, messages }: RecordedRequest): string | undefined {
  const [only] = messages;
  if (toolNames.length > 0 || messages.length !== 1 || only === undefined) return undefined;
  return only.text.includes("<conversation_") ? only.text : undefined;
}

export interface SummaryRequest {
  readonly prompt: string;
  readonly depth: number;
  readonly planted: readonly string[];
}

export class SummaryScript {
  /** Summaries that were asked for, in order. */
  readonly summaries: SummaryRequest[] = [];
  /** Requests that did not fit the window. */
  readonly overflows: number[] = [];
  /** What happens to a request for a summary before it is answered. */
  onSummary: (request: SummaryRequest) => Reply | Promise<Reply | undefined> | undefined = () =>
    undefined;

  /** Hears of the first request of each turn, while the model has not answered it. */
  onTurn: () => void = () => undefined;

  constructor(private readonly window: number) {}

  readonly script: Script = async (request) => {
    const tokens = requestTokens(request);
    if (tokens > this.window) {
      this.overflows.push(tokens);
      return { error: { status: 400, body: overflowBody(this.window, tokens) } };
    }
    const prompt = summaryPrompt(request);
    if (prompt === undefined && request.toolResultsSinceUser === 0) this.onTurn();
    const reply =
      prompt === undefined
        ? (recallReply(request) ?? agentReply(request))
        : await this.#summarize(prompt);
    const outputTokens = encode(reply.text ?? "").length;
    return { usage: { inputTokens: tokens, outputTokens }, ...reply };
  };

  async #summarize(prompt: string): Promise<Reply> {
    const asked = { prompt } as never;
    const planted = [...new Set(sourceOf(asked).match(/PLANT-\d+/g) ?? [])];
    const request = { prompt, depth: depthOf(asked), planted };
    this.summaries.push(request);
    const own = await this.onSummary(request);
    if (own) return own;
    // What the talk keeps coming back to belongs into a summary; what was said once does not.
    const repeated = sourceOf(asked).split(FACT).length > 3 ? ` ${FACT}` : "";
    const text = prose(Math.floor(targetOf(asked) * 0.7), this.summaries.length);
    return {
      text: `depth ${request.depth}: ${planted.slice(0, 16).join(" ")}${repeated}\n${text}\nExpand for details about: tool output`,
    };
  }
}

/** One tool call, then a reply that says what was planted. */
function agentReply(request: RecordedRequest): Reply {
  const plant = /PLANT-\d+/.exec(request.lastUserText)?.[0];
  if (plant === undefined) return { text: `re: ${request.lastUserText.slice(0, 80)}` };
  const seed = Number(plant.slice(6));
  if (request.toolResultsSinceUser === 0) {
    const command = `for i in $(seq 1 60); do echo "line $i of ${plant}: $((i * ${seed}))"; done`;
    return { toolCalls: [{ name: "exec", arguments: { command } }] };
  }
  return { text: `${plant} is done. ${prose(900, seed)}` };
}

function overflowBody(window: number, tokens: number): unknown {
  return {
    error: {
      message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`,
      type: "invalid_request_error",
      code: "context_length_exceeded",
    },
  };
}
