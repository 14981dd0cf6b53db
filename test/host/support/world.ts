// The real host with the plugin and a scripted model, and what tests ask of the three.

import { rmSync } from "node:fs";
import { expect } from "vitest";
import {
  currentSessionId,
  readVisibleTranscript,
  transcriptLines,
  type VisibleEntry,
} from "../harness/host-transcript.js";
import { startModelServer, type ModelServer } from "../harness/model-server.js";
import { createHost, type HostOptions, type OpenClawHost } from "../harness/openclaw-host.js";
import { stagePlugin } from "../harness/stage-plugin.js";
import { waitUntil } from "../harness/wait-until.js";
import { Memory } from "./memory.js";

const OWNER = /skipped: context engine "lossless-claw" owns compaction/g;
const DEGRADED = /degraded to "legacy"/g;

interface WorldOptions extends Omit<HostOptions, "modelServer" | "pluginPath"> {
  readonly installed?: boolean;
}

export class World {
  readonly memory: Memory;

  private constructor(
    readonly host: OpenClawHost,
    readonly model: ModelServer,
    private readonly staged: string,
  ) {
    this.memory = new Memory(host);
  }

  /** With `installed`, the plugin is not loaded from a path: the test installs it by command. */
  static async create({ installed = false, ...options }: WorldOptions = {}): Promise<World> {
    const model = await startModelServer();
    const staged = stagePlugin();
    const plugin = installed ? {} : { pluginPath: staged };
    const host = await createHost({ modelServer: model, ...plugin, ...options });
    return new World(host, model, staged);
  }

  async dispose(): Promise<void> {
    await this.host.dispose();
    await this.model.close();
    rmSync(this.staged, { recursive: true, force: true });
  }

  turn(sessionKey: string, text: string): Promise<string> {
    return this.host.turn(sessionKey, text);
  }

  /** Sends as the web chat does and waits for a line of the transcript that answers it. */
  async chat(sessionKey: string, text: string, reply: string): Promise<void> {
    await this.host.chatSend(sessionKey, text);
    await waitUntil(`the reply to ${text}`, () =>
      this.lines(sessionKey).some((line) => line.includes(reply)),
    );
  }

  /** Plays a turn into which the user types while it runs. `start` is a text no request had before. */
  async steeredTurn(sessionKey: string, start: string, change: string): Promise<void> {
    const held = Promise.withResolvers<void>();
    this.model.setScript((request) =>
      request.lastUserText === start
        ? { text: `working on ${start}`, hold: held.promise }
        : { text: `after ${request.lastUserText}` },
    );
    await this.host.chatSend(sessionKey, start);
    await this.model.waitForRequest((request) => request.lastUserText === start);
    await this.host.steer(sessionKey, change);
    held.resolve();
    await waitUntil("the steered reply", () =>
      this.lines(sessionKey).includes(`assistant: after ${change}`),
    );
    this.model.resetScript();
  }

  transcript(sessionKey: string): VisibleEntry[] {
    return readVisibleTranscript(this.host.stateDir, agentOf(sessionKey), sessionKey);
  }

  lines(sessionKey: string): string[] {
    return transcriptLines(this.transcript(sessionKey));
  }

  sessionId(sessionKey: string): string {
    const id = currentSessionId(this.host.stateDir, agentOf(sessionKey), sessionKey);
    if (id === undefined) throw new Error(`the host has no session ${sessionKey}`);
    return id;
  }

  /**
   * Every message of the host's transcript is stored byte for byte, in order, once. `sessionId` may be
   * an earlier one of the key.
   */
  async expectStored(sessionKey: string, sessionId = this.sessionId(sessionKey)): Promise<void> {
    const expected = readVisibleTranscript(this.host.stateDir, agentOf(sessionKey), sessionId).map(
      ({ entryId, position, message }) => ({
        entryId,
        position,
        body: JSON.stringify(message),
      }),
    );
    const stored = () => this.memory.branch(sessionId);
    // Entry ids inside a turn are learned after it, in the background.
    await waitUntil(
      "the entry ids",
      () => stored().length >= expected.length && stored().every((row) => row.entryId !== null),
      5_000,
    ).catch(() => undefined);
    expect(stored()).toEqual(expected);
    expect(this.memory.duplicates()).toEqual([]);
  }

  /** The last receipt names the newest entry of the host's transcript. */
  async expectReceiptAtHead(sessionKey: string): Promise<void> {
    const head = this.transcript(sessionKey).at(-1)?.entryId;
    await waitUntil(
      "the receipt",
      () => this.memory.receipts(sessionKey).at(-1)?.lastEntryId === head,
      5_000,
    ).catch(() => undefined);
    expect(this.memory.receipts(sessionKey).at(-1)?.lastEntryId).toBe(head);
  }

  /** What the host said about its engine since an offset of its log. */
  engineLog(from = 0): { owned: number; degraded: number } {
    const log = this.host.log.slice(from);
    return { owned: log.match(OWNER)?.length ?? 0, degraded: log.match(DEGRADED)?.length ?? 0 };
  }
}

function agentOf(sessionKey: string): string {
  return sessionKey.split(":")[1] ?? "main";
}
