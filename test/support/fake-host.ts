// A scripted host transcript with the real one's rules: entry ids that survive rewinds and forks,
// positions that are reused, generations that rotate, cursors that are base64url JSON.

import { randomUUID } from "node:crypto";
import type { CommitTurnCall } from "../../src/host-calls.js";
import type {
  AgentMessage,
  PageLimits,
  RawPage,
  SessionEntry,
  SessionRef,
  TranscriptSource,
  VisiblePage,
} from "../../src/types.js";

interface LogEvent {
  readonly type: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
  readonly message?: AgentMessage;
  readonly reason?: string;
  readonly firstKeptEntryId?: string;
  readonly targetId?: string;
}

interface Session {
  readonly id: string;
  generation: string;
  events: { seq: number; event: LogEvent }[];
  /** Ids of the message events on the active branch, in order. */
  active: string[];
  leaf: string | null;
  /** The last reset on the branch: how many messages stand before it, and where the context begins. */
  reset: { id: string; floor: number; start: number } | undefined;
}

/** What the host keeps under a session key. */
interface Key {
  current: string;
  /** Every session id that was ever current, in order. */
  readonly ids: string[];
  readonly forkedFrom: string | undefined;
  readonly createdAt: number;
  /** Set by rewinds and switches; a reset to a new id does not touch it. */
  previousId: string | undefined;
}

export class FakeHost implements TranscriptSource {
  readonly reads = { visible: 0, raw: 0 };
  /** Answers every read with this while set. */
  unavailable = false;
  /** The most items the host puts on a page, whatever it is asked for. */
  pageItems = Number.POSITIVE_INFINITY;
  readonly #sessions = new Map<string, Session>();
  readonly #keys = new Map<string, Key>();
  readonly #heartbeats = new Set<string>();
  /** The reset that each message stands behind. */
  readonly #resets = new Map<string, string | undefined>();
  #clock = Date.parse("2026-11-18T08:00:00.000Z");

  /** The clock of the fake world; hand it to `openLcm` as `now`. */
  readonly now = (): number => this.#clock;

  tick(ms = 1000): number {
    this.#clock += ms;
    return this.#clock;
  }

  ref(sessionKey: string): SessionRef {
    const agentId = sessionKey.split(":")[1] ?? "main";
    return { agentId, sessionKey, sessionId: this.#session(sessionKey).id };
  }

  /** The visible transcript as a reader of the host's own files would find it. */
  transcript(sessionKey: string): { entryId: string; message: AgentMessage }[] {
    return this.transcriptOf(this.#session(sessionKey).id);
  }

  /** As above, of any session id, earlier ones too. */
  transcriptOf(sessionId: string): { entryId: string; message: AgentMessage }[] {
    const session = this.#sessions.get(sessionId) as Session;
    return session.active.map((id) => ({
      entryId: id,
      message: this.#event(session, id).message as AgentMessage,
    }));
  }

  /** Every session id that was ever current under a key, in order. */
  sessionIds(sessionKey: string): string[] {
    return [...(this.#keys.get(sessionKey)?.ids ?? [])];
  }

  append(sessionKey: string, message: AgentMessage): string {
    return this.#append(this.#session(sessionKey), message);
  }

  /** Plays a turn into the transcript and gives the commit that the host would deliver for it. */
  turn(
    sessionKey: string,
    messages: readonly AgentMessage[],
    options: { isHeartbeat?: boolean } = {},
  ): CommitTurnCall {
    return this.turnOf(this.#session(sessionKey).id, messages, options);
  }

  /** As above, of any session id: a run may end after its session was left. */
  turnOf(
    sessionId: string,
    messages: readonly AgentMessage[],
    options: { isHeartbeat?: boolean } = {},
  ): CommitTurnCall {
    const session = this.#sessions.get(sessionId) as Session;
    const [sessionKey] = [...this.#keys].find(([, key]) => key.ids.includes(sessionId)) as [
      string,
      Key,
    ];
    const position = session.active.length;
    const ids = messages.map((message) => this.#append(session, message));
    if (options.isHeartbeat) for (const id of ids) this.#heartbeats.add(id);
    const anchor = (offset: number) => ({
      agentId: this.ref(sessionKey).agentId,
      sessionId: session.id,
      generation: session.generation,
      entryId: ids[offset] as string,
      activeMessagePosition: position + offset,
    });
    return {
      advancementKey: randomUUID(),
      sessionId: session.id,
      sessionKey,
      admission: anchor(0),
      terminal: anchor(ids.length - 1),
      messages,
      ...(options.isHeartbeat ? { isHeartbeat: true } : {}),
    };
  }

  /** What steering does: the generation changes, the entries stay. */
  rotate(sessionKey: string): void {
    this.#session(sessionKey).generation = randomUUID();
  }

  /** The generation changes, and other entries stand in the place of all. */
  rewrite(sessionKey: string, messages: readonly AgentMessage[]): void {
    const session = this.#session(sessionKey);
    session.active = [];
    session.leaf = null;
    for (const message of messages) this.#append(session, message);
    this.rotate(sessionKey);
  }

  /** Keeps everything before the entry and goes on from there under a new session id. */
  rewind(sessionKey: string, entryId: string): void {
    const old = this.#session(sessionKey);
    this.#branchTo(sessionKey, old.active.slice(0, old.active.indexOf(entryId)), old, "rewind");
  }

  /** Goes on from another branch under a new session id. Returns the branch that was left. */
  switchTo(sessionKey: string, active: readonly string[]): string[] {
    const old = this.#session(sessionKey);
    this.#branchTo(sessionKey, active, old, "switch");
    return old.active;
  }

  activeIds(sessionKey: string): string[] {
    return [...this.#session(sessionKey).active];
  }

  /** The entries from which the host would build a context of its own. */
  contextEntries(sessionKey: string): Set<string> {
    const { active, reset } = this.#session(sessionKey);
    return new Set(active.slice(reset?.start ?? 0));
  }

  /** True for a row of a heartbeat turn that was played with `turn`. */
  isHeartbeat({ entryId }: { entryId: string }): boolean {
    return this.#heartbeats.has(entryId);
  }

  fork(sessionKey: string, entryId?: string): string {
    const parent = this.#session(sessionKey);
    const end = entryId === undefined ? parent.active.length : parent.active.indexOf(entryId);
    const childKey = `agent:main:dashboard:${randomUUID()}`;
    this.#keys.set(childKey, this.#makeKey(sessionKey));
    this.#branchTo(childKey, parent.active.slice(0, end), parent, "rewind");
    return childKey;
  }

  /** Deletes the session of a key, with all its session ids. */
  delete(sessionKey: string): void {
    for (const id of this.sessionIds(sessionKey)) this.#sessions.delete(id);
    this.#keys.delete(sessionKey);
  }

  /** A reset that keeps the session id. */
  reset(sessionKey: string, reason = "new", firstKeptEntryId?: string): void {
    const session = this.#session(sessionKey);
    const id = randomUUID();
    this.#log(session, {
      type: "reset",
      id,
      parentId: session.leaf,
      timestamp: this.#iso(),
      reason,
      ...(firstKeptEntryId ? { firstKeptEntryId } : {}),
    });
    const floor = session.active.length;
    const start = firstKeptEntryId ? session.active.indexOf(firstKeptEntryId) : floor;
    session.leaf = id;
    session.reset = { id, floor, start };
  }

  /** A reset that brings a new, empty session id. */
  newSessionId(sessionKey: string): void {
    this.#create(sessionKey);
  }

  async visible(ref: SessionRef, limits: PageLimits): Promise<VisiblePage> {
    this.reads.visible += 1;
    if (this.unavailable) return { kind: "unavailable", reason: "projection_rebuilding" };
    const session = this.#sessions.get(ref.sessionId);
    if (!session) return { kind: "missing" };
    const start = {
      agentId: ref.agentId,
      generation: session.generation,
      sessionId: session.id,
      lastEventSeq: -1,
      lastMessagePosition: -1,
      version: 1,
    };
    const cursor = limits.cursor === undefined ? start : decode<typeof start>(limits.cursor);
    const reset = (reason: string): VisiblePage => ({
      kind: "reset",
      cursor: encode(start),
      reason,
    });
    if (!cursor) return reset("invalid_cursor");
    if (cursor.sessionId !== session.id) return reset("scope_mismatch");
    if (cursor.generation !== session.generation) return reset("generation_mismatch");
    if (cursor.lastMessagePosition >= 0) {
      const anchor = session.active[cursor.lastMessagePosition];
      if (anchor === undefined || this.#seq(session, anchor) !== cursor.lastEventSeq)
        return reset("anchor_moved");
    }
    const entries = [];
    const maxItems = Math.min(limits.maxItems, this.pageItems);
    let bytes = 0;
    let requiredBytes: number | undefined;
    let position = cursor.lastMessagePosition + 1;
    for (; position < session.active.length && entries.length < maxItems; position += 1) {
      const event = this.#event(session, session.active[position] as string);
      const size = JSON.stringify(event).length;
      if (bytes + size > limits.maxBytes) {
        if (entries.length === 0) requiredBytes = size;
        break;
      }
      bytes += size;
      entries.push({
        entryId: event.id,
        seq: position + 1,
        message: event.message,
        createdAt: event.timestamp,
      });
    }
    const last = position - 1;
    const lastEventSeq = last < 0 ? -1 : this.#seq(session, session.active[last] as string);
    return {
      kind: "page",
      entries,
      cursor: encode({ ...cursor, lastMessagePosition: last, lastEventSeq }),
      hasMore: position < session.active.length,
      ...(requiredBytes === undefined ? {} : { requiredBytes }),
    };
  }

  async raw(ref: SessionRef, limits: PageLimits): Promise<RawPage> {
    this.reads.raw += 1;
    if (this.unavailable) return { kind: "unavailable", reason: "projection_rebuilding" };
    const session = this.#sessions.get(ref.sessionId);
    if (!session) return { kind: "missing" };
    const start = {
      agentId: ref.agentId,
      generation: session.generation,
      sessionId: session.id,
      lastSeq: -1,
      version: 1,
    };
    const cursor = limits.cursor === undefined ? start : decode<typeof start>(limits.cursor);
    const reset = (reason: string): RawPage => ({ kind: "reset", cursor: encode(start), reason });
    if (!cursor) return reset("invalid_cursor");
    if (cursor.sessionId !== session.id) return reset("scope_mismatch");
    if (cursor.generation !== session.generation) return reset("generation_mismatch");
    const waiting = session.events.filter(({ seq }) => seq > cursor.lastSeq);
    const sizes = waiting.map(({ event }) => JSON.stringify(event).length);
    let bytes = 0;
    const fitting = sizes.findIndex((size) => (bytes += size) > limits.maxBytes);
    const room = fitting < 0 ? waiting.length : fitting;
    const events = waiting.slice(0, Math.min(limits.maxItems, this.pageItems, room));
    const lastSeq = events.at(-1)?.seq ?? cursor.lastSeq;
    return {
      kind: "page",
      events,
      cursor: encode({ ...cursor, lastSeq }),
      hasMore: session.events.length - 1 > lastSeq,
      ...(fitting === 0 ? { requiredBytes: sizes[0] as number } : {}),
    };
  }

  entry({ sessionKey }: Pick<SessionRef, "sessionKey">): SessionEntry {
    const key = this.#keys.get(sessionKey);
    if (!key) return { kind: "gone" };
    const { current: sessionId, previousId, forkedFrom, createdAt } = key;
    return { kind: "found", sessionId, previousId, forkedFrom, createdAt };
  }

  async keyOf({ sessionId }: Pick<SessionRef, "sessionId">): Promise<string | undefined> {
    return [...this.#keys].find(([, key]) => key.ids.includes(sessionId))?.[0];
  }

  /** This host, with some of its answers replaced. */
  answering(answers: Partial<TranscriptSource>): TranscriptSource {
    return {
      visible: (session, limits) => this.visible(session, limits),
      raw: (session, limits) => this.raw(session, limits),
      entry: (session) => this.entry(session),
      keyOf: (session) => this.keyOf(session),
      ...answers,
    };
  }

  /**
   * As the real host does, ignores a move to a branch that does not go through the last reset. A rewind
   * to the first message behind it does.
   */
  #branchTo(
    sessionKey: string,
    wanted: readonly string[],
    source: Session,
    kind: "rewind" | "switch",
  ): void {
    const key = this.#keys.get(sessionKey) as Key;
    key.previousId = key.current || undefined;
    const session = this.#create(sessionKey);
    const { reset } = source;
    const floor = reset?.floor ?? 0;
    const next = wanted[floor];
    const shares = source.active.slice(0, floor).every((id, position) => wanted[position] === id);
    const descends =
      !reset || (next === undefined ? kind === "rewind" : this.#resets.get(next) === reset.id);
    const honored = shares && wanted.length >= floor && descends;
    session.events = [...source.events];
    session.active = [...(honored ? wanted : source.active)];
    session.reset = reset;
    session.leaf =
      reset && session.active.length === reset.floor ? reset.id : (session.active.at(-1) ?? null);
    this.#log(session, {
      type: "leaf",
      id: randomUUID(),
      parentId: null,
      timestamp: this.#iso(),
      targetId: session.leaf ?? "",
    });
  }

  #append(session: Session, message: AgentMessage): string {
    const id = randomUUID();
    this.#log(session, {
      type: "message",
      id,
      parentId: session.leaf,
      timestamp: this.#iso(),
      message,
    });
    session.active.push(id);
    session.leaf = id;
    this.#resets.set(id, session.reset?.id);
    return id;
  }

  #create(sessionKey: string): Session {
    const session: Session = {
      id: randomUUID(),
      generation: randomUUID(),
      events: [],
      active: [],
      leaf: null,
      reset: undefined,
    };
    this.#log(session, {
      type: "session",
      id: randomUUID(),
      parentId: null,
      timestamp: this.#iso(),
    });
    this.#sessions.set(session.id, session);
    const key = this.#keys.get(sessionKey) ?? this.#makeKey();
    key.current = session.id;
    key.ids.push(session.id);
    this.#keys.set(sessionKey, key);
    return session;
  }

  #makeKey(forkedFrom?: string): Key {
    return { current: "", ids: [], forkedFrom, previousId: undefined, createdAt: this.#clock };
  }

  #session(sessionKey: string): Session {
    const id = this.#keys.get(sessionKey)?.current;
    return (id === undefined ? undefined : this.#sessions.get(id)) ?? this.#create(sessionKey);
  }

  #log(session: Session, event: LogEvent): void {
    session.events.push({ seq: session.events.length, event });
  }

  #event(session: Session, id: string): LogEvent {
    return session.events.find(({ event }) => event.id === id)?.event as LogEvent;
  }

  #seq(session: Session, id: string): number {
    return session.events.findIndex(({ event }) => event.id === id);
  }

  #iso(): string {
    return new Date(this.#clock).toISOString();
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode<T>(cursor: string): T | undefined {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as T;
  } catch {
    return undefined;
  }
}
