import { randomUUID } from "node:crypto";
import { WebSocket, type RawData } from "ws";
import { isRecord, parseJson, str, type JsonRecord } from "./loose-json.js";

export interface GatewayEvent {
  readonly event: string;
  readonly payload: unknown;
}

export class GatewayRpcError extends Error {
  constructor(
    readonly method: string,
    readonly error: JsonRecord,
  ) {
    super(`${method}: ${str(error["code"])} ${str(error["message"])}`);
  }
}

interface Pending {
  readonly method: string;
  readonly resolve: (payload: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** One WebSocket to the gateway, on the device-less path reserved for local backends. */
export class GatewayRpc {
  readonly events: GatewayEvent[] = [];
  readonly #socket: WebSocket;
  readonly #pending = new Map<string, Pending>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.#receive(data));
    socket.on("close", () => this.#fail(new Error("the gateway connection was closed")));
    socket.on("error", (error) => this.#fail(error));
  }

  static async connect(port: number, token: string): Promise<GatewayRpc> {
    const rpc = new GatewayRpc(new WebSocket(`ws://127.0.0.1:${port}`));
    await new Promise<void>((resolve, reject) => {
      rpc.#socket.once("open", () => resolve());
      rpc.#socket.once("error", reject);
    });
    // The challenge needs no answer without a device identity, so connect goes out at once.
    await rpc.call("connect", {
      minProtocol: 4,
      maxProtocol: 4,
      client: {
        id: "gateway-client",
        version: "0.0.0",
        platform: process.platform,
        mode: "backend",
      },
      role: "operator",
      scopes: [
        "operator.admin",
        "operator.read",
        "operator.write",
        "operator.approvals",
        "operator.pairing",
      ],
      caps: [],
      auth: { token },
    });
    return rpc;
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  call(method: string, params: unknown, timeoutMs = 30_000): Promise<unknown> {
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => settle(() => reject(new Error(`${method}: no answer within ${timeoutMs} ms`))),
        timeoutMs,
      );
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#pending.delete(id);
        act();
      };
      this.#pending.set(id, {
        method,
        resolve: (payload) => settle(() => resolve(payload)),
        reject: (error) => settle(() => reject(error)),
      });
      this.#socket.send(JSON.stringify({ type: "req", id, method, params }), (error) => {
        if (error) this.#pending.get(id)?.reject(error);
      });
    });
  }

  close(): void {
    this.#socket.terminate();
  }

  #receive(data: RawData): void {
    const frame = parseJson(data.toString());
    if (!isRecord(frame)) return;
    if (frame["type"] === "event") {
      this.events.push({ event: str(frame["event"]), payload: frame["payload"] });
      return;
    }
    const pending = this.#pending.get(str(frame["id"]));
    if (frame["type"] !== "res" || pending === undefined) return;
    if (frame["ok"] === true) pending.resolve(frame["payload"]);
    else
      pending.reject(
        new GatewayRpcError(pending.method, isRecord(frame["error"]) ? frame["error"] : {}),
      );
  }

  #fail(error: Error): void {
    for (const pending of this.#pending.values()) pending.reject(error);
  }
}
