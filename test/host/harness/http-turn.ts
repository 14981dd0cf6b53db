import { setTimeout as sleep } from "node:timers/promises";
import { isRecord, parseJson, records, str } from "./loose-json.js";

export interface TurnOptions {
  readonly signal?: AbortSignal;
  /** `provider/model`, for this turn only. */
  readonly model?: string;
  /** How long refusals that ask for a retry are retried. */
  readonly retryMs?: number;
}

export interface TurnEndpoint {
  readonly port: number;
  readonly token: string;
}

export class TurnError extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`the turn failed with HTTP ${status}: ${body.slice(0, 2000)}`);
  }
}

// Refusals while plugins load after a boot or reload. The message was not accepted.
const RETRY = /Plugin runtime is starting|plugin runtime.*(?:starting|reloading)/i;

async function post(
  endpoint: TurnEndpoint,
  sessionKey: string,
  text: string,
  options: TurnOptions,
): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${endpoint.port}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${endpoint.token}`,
      "x-openclaw-session-key": sessionKey,
      "x-openclaw-agent-id": sessionKey.split(":")[1] ?? "main",
      ...(options.model === undefined ? {} : { "x-openclaw-model": options.model }),
    },
    body: JSON.stringify({ model: "openclaw", messages: [{ role: "user", content: text }] }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const body = await response.text();
  if (!response.ok) throw new TurnError(response.status, body);
  const parsed = parseJson(body);
  const message = isRecord(parsed) ? records(parsed["choices"])[0]?.["message"] : undefined;
  const content = isRecord(message) ? str(message["content"]) : "";
  // A refusal can also come as the text of an otherwise successful answer.
  if (RETRY.test(content)) throw new TurnError(200, content);
  return content;
}

/** Plays one real agent turn and returns the reply text. */
export async function httpTurn(
  endpoint: TurnEndpoint,
  sessionKey: string,
  text: string,
  options: TurnOptions = {},
): Promise<string> {
  const deadline = Date.now() + (options.retryMs ?? 30_000);
  for (;;) {
    try {
      return await post(endpoint, sessionKey, text, options);
    } catch (error) {
      if (!(error instanceof TurnError) || !RETRY.test(error.body) || Date.now() > deadline)
        throw error;
      await sleep(200);
    }
  }
}
