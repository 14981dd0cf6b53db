import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { anthropicWire } from "./anthropic-wire.js";
import { createDefaultScript } from "./default-script.js";
import { isRecord, str } from "./loose-json.js";
import type { PreparedReply, RecordedRequest, Reply, Script, WireFormat } from "./model-types.js";
import { openaiWire } from "./openai-wire.js";
import { lastUser, runtimeSessionKey } from "./user-text.js";

export interface ModelServer {
  readonly requests: readonly RecordedRequest[];
  /** Ends in `/v1`; Anthropic clients want `origin` instead. */
  readonly baseUrl: string;
  readonly origin: string;
  setScript(script: Script): void;
  /** Back to the echoing script. */
  resetScript(): void;
  /** Resolves with the first request (past ones included) that matches. */
  waitForRequest(
    matches: (request: RecordedRequest) => boolean,
    timeoutMs?: number,
  ): Promise<RecordedRequest>;
  close(): Promise<void>;
}

export interface ModelServerOptions {
  readonly script?: Script;
}

const WIRES: readonly WireFormat[] = [openaiWire, anthropicWire];

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body: unknown = JSON.parse(Buffer.concat(parts).toString("utf8"));
  if (!isRecord(body)) throw new Error("the request body is not an object");
  return body;
}

function record(
  wire: WireFormat,
  body: Record<string, unknown>,
  index: number,
  signal: AbortSignal,
): RecordedRequest {
  const parsed = wire.parse(body);
  const { text, toolResultsSince } = lastUser(parsed.messages);
  const sessionKey = runtimeSessionKey([parsed.system, ...parsed.messages.map((m) => m.text)]);
  return {
    index,
    time: Date.now(),
    wire: wire.name,
    model: str(body["model"]),
    stream: body["stream"] === true,
    body,
    ...parsed,
    ...(sessionKey === undefined ? {} : { sessionKey }),
    lastUserText: text,
    toolResultsSinceUser: toolResultsSince,
    signal,
  };
}

const estimateTokens = (text: string): number => Math.ceil(text.length / 4);

function prepare(request: RecordedRequest, reply: Reply): PreparedReply {
  // Unique over server restarts too: the host keeps call ids in its transcripts.
  const toolCalls = (reply.toolCalls ?? []).map((call) => ({
    id: `call_${randomUUID().replaceAll("-", "")}`,
    name: call.name,
    json: JSON.stringify(call.arguments ?? {}),
  }));
  const text = reply.text ?? "";
  const reasoning = reply.reasoning ?? "";
  return {
    id: `reply-${request.index}-${randomUUID()}`,
    model: request.model,
    text,
    reasoning,
    toolCalls,
    usage: {
      inputTokens: estimateTokens(JSON.stringify(request.body)),
      outputTokens: estimateTokens(text + reasoning + toolCalls.map((c) => c.json).join("")),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      ...reply.usage,
    },
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const listeners = new Set<() => void>();
  let script = options.script ?? createDefaultScript();

  async function answer(
    wire: WireFormat,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const recorded = record(wire, await readBody(request), requests.length, gone.signal);
    requests.push(recorded);
    for (const listener of listeners) listener();
    const reply = await script(recorded);
    await reply.hold;
    if (gone.signal.aborted) return;
    if (reply.error !== undefined) return sendJson(response, reply.error.status, reply.error.body);
    const prepared = prepare(recorded, reply);
    if (!recorded.stream) return sendJson(response, 200, wire.renderJson(prepared));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.end(wire.renderEvents(prepared).join(""));
  }

  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0];
    const wire = WIRES.find((candidate) => candidate.path === path && request.method === "POST");
    if (wire === undefined)
      return sendJson(response, 404, { error: { message: `no route ${request.method} ${path}` } });
    answer(wire, request, response).catch((error: unknown) => {
      // A failing script must be loud in the host's log, not a hanging model call.
      if (!response.headersSent)
        sendJson(response, 400, { error: { message: `model script failed: ${String(error)}` } });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new Error("the model server has no port");
  const origin = `http://127.0.0.1:${address.port}`;

  return {
    requests,
    origin,
    baseUrl: `${origin}/v1`,
    setScript: (next) => {
      script = next;
    },
    resetScript: () => {
      script = createDefaultScript();
    },
    waitForRequest: (matches, timeoutMs = 15_000) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const found = requests.find(matches);
          if (found === undefined) return;
          finish();
          resolve(found);
        };
        const timer = setTimeout(() => {
          finish();
          reject(
            new Error(`no matching model request within ${timeoutMs} ms (${requests.length} seen)`),
          );
        }, timeoutMs);
        const finish = (): void => {
          clearTimeout(timer);
          listeners.delete(check);
        };
        listeners.add(check);
        check();
      }),
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
