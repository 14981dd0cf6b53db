/** One tool call as the scripted model asks for it. */
export interface ScriptedToolCall {
  readonly name: string;
  readonly arguments: unknown;
}

export interface ReplyUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

/** What the scripted model answers. */
export interface Reply {
  readonly text?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  readonly reasoning?: string;
  /** Answers with this HTTP status instead of a completion. */
  readonly error?: { readonly status: number; readonly body: unknown };
  /** Defaults to an estimate of four characters a token. */
  readonly usage?: ReplyUsage;
  /** The answer is withheld until this settles: the model call stays in flight. */
  readonly hold?: Promise<void>;
}

/** A message of the request, in one shape for both wire formats. */
export interface ModelMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly toolCalls: readonly { id: string; name: string; arguments: unknown }[];
  /** Set on tool results. */
  readonly toolCallId?: string;
}

export interface RecordedRequest {
  /** Position in `server.requests`, from 0. */
  readonly index: number;
  readonly time: number;
  readonly wire: "openai" | "anthropic";
  readonly model: string;
  readonly stream: boolean;
  /** The parsed body exactly as sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** All system text, joined. */
  readonly system: string;
  /** Every message after the system prompt. */
  readonly messages: readonly ModelMessage[];
  readonly toolNames: readonly string[];
  /** From the host's `Runtime:` line; absent on calls made outside agent turns. */
  readonly sessionKey?: string;
  /** The last thing the user really wrote, without what the host adds around it. */
  readonly lastUserText: string;
  /** Tool results received since that user message. */
  readonly toolResultsSinceUser: number;
  /** Becomes aborted when the host hangs up before the reply was sent. */
  readonly signal: AbortSignal;
}

export type Script = (request: RecordedRequest) => Reply | Promise<Reply>;

/** What a wire format extracts from a request body. */
export interface ParsedRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly toolNames: readonly string[];
}

/** A reply with everything settled that the wire formats need. */
export interface PreparedReply {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly { id: string; name: string; json: string }[];
  readonly usage: Required<ReplyUsage>;
}

export interface WireFormat {
  readonly name: RecordedRequest["wire"];
  readonly path: string;
  parse(body: Readonly<Record<string, unknown>>): ParsedRequest;
  renderJson(reply: PreparedReply): unknown;
  /** Complete server-sent-event frames, in order. */
  renderEvents(reply: PreparedReply): string[];
}
