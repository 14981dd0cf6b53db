// Domain types shared by the parts: branded ids, records, and the dependencies handed in from outside.

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

export type ConversationId = Branded<number, "ConversationId">;
export type SegmentId = Branded<number, "SegmentId">;
export type MessageId = Branded<number, "MessageId">;
export type ReceiptId = Branded<number, "ReceiptId">;
/** `sum_` and 16 hex digits. */
export type SummaryId = Branded<string, "SummaryId">;

/** A message as the host hands it over. Nothing but its being an object with a role is relied on. */
export interface AgentMessage {
  readonly role: string;
  readonly [field: string]: unknown;
}

/** A host session: which agent it belongs to, the stable key, and the id that is current. */
export interface SessionRef {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly sessionId: string;
}

/** Milliseconds since the epoch. */
export type Clock = () => number;

export interface Logger {
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

/** What a summary or an answer is asked of: the host's model, or what stands for it in tests. */
export interface ModelRequest {
  readonly prompt: string;
  /** What for, in the host's records; a summary when not said. */
  readonly purpose?: "summary" | "recall" | undefined;
  readonly maxTokens: number;
  readonly temperature: number;
  /** Provider and model to use instead of the host's choice; empty for the host's. */
  readonly model: string;
  readonly signal: AbortSignal;
}

export interface ModelAnswer {
  readonly text: string;
  /** Provider and model that answered, when known. */
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly costUsd?: number | undefined;
}

export type Model = (request: ModelRequest) => Promise<ModelAnswer>;

export interface SubagentTask {
  readonly sessionKey: string;
  readonly message: string;
  readonly systemPrompt: string;
  /** The tools of this plugin that it gets. */
  readonly tools: readonly string[];
}

export interface SubagentEnd {
  /** `pending`: still at work. */
  readonly status: "ok" | "timeout" | "error" | "pending";
  /** What it said at last, where the host tells. */
  readonly reply?: string | undefined;
  readonly error?: string | undefined;
}

/** The host's way to run a sub-agent. Where it can not, `run` rejects. */
export interface SubagentHost {
  run(task: SubagentTask): Promise<{ readonly runId: string }>;
  wait(runId: string, timeoutMs: number): Promise<SubagentEnd>;
  lastReply(sessionKey: string): Promise<string | undefined>;
  /** Ends the session and forgets it. */
  remove(sessionKey: string): Promise<void>;
}

export const silentLogger: Logger = { info() {}, warn() {}, error() {} };

/** One message of the host's visible transcript. `seq` counts from 1 along the active branch. */
export interface TranscriptEntry {
  readonly entryId: string;
  readonly seq: number;
  readonly message: unknown;
  readonly createdAt?: string | undefined;
}

export type VisiblePage =
  | {
      kind: "page";
      entries: TranscriptEntry[];
      cursor: string;
      hasMore: boolean;
      requiredBytes?: number;
    }
  | { kind: "reset"; cursor: string; reason: string }
  | { kind: "missing" }
  | { kind: "unavailable"; reason: string };

export interface RawEvent {
  readonly seq: number;
  readonly event: unknown;
}

export type RawPage =
  | { kind: "page"; events: RawEvent[]; cursor: string; hasMore: boolean; requiredBytes?: number }
  | { kind: "reset"; cursor: string; reason: string }
  | { kind: "missing" }
  | { kind: "unavailable"; reason: string };

export interface PageLimits {
  readonly cursor?: string;
  readonly maxItems: number;
  readonly maxBytes: number;
}

/** What the host keeps under a session key. */
export type SessionEntry =
  | {
      kind: "found";
      /** The session id that is current under the key. */
      sessionId: string;
      /** The session id that a rewind or a branch switch left, as far as the host remembers. */
      previousId?: string | undefined;
      /** The key of the session this one was forked from, if it was. */
      forkedFrom?: string | undefined;
      /** When the session was made, in milliseconds; rewinds and resets do not change it. */
      createdAt?: number | undefined;
    }
  /** The host has no session under this key, or not any more. */
  | { kind: "gone" }
  /** The host could not be asked. */
  | { kind: "unknown" };

/** The host's transcript as this product reads it. The bridge implements it; tests script it. */
export interface TranscriptSource {
  visible(session: SessionRef, limits: PageLimits): Promise<VisiblePage>;
  raw(session: SessionRef, limits: PageLimits): Promise<RawPage>;
  entry(session: Pick<SessionRef, "agentId" | "sessionKey">): SessionEntry;
  /** The key under which a session id is, or was, current; undefined when the host does not know it. */
  keyOf(session: Pick<SessionRef, "agentId" | "sessionId">): Promise<string | undefined>;
}
