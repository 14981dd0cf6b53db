// A long database of release 0.1.x: the reply does not wait for its rows to be found in the transcript,
// what was read once is not read again, and nothing is stored twice, whatever comes between.

import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openLcm } from "../src/lcm.js";
import type { AgentMessage, TranscriptSource } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { createRelease01, type Release01Message } from "./support/release-01.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
  viewEntries,
} from "./support/workspace.js";

const KEY = "agent:main:web1";
const MORE = "more is left to import";

/** A heartbeat's rows, again and again: no text stands alone. */
function heartbeats(host: FakeHost, count: number): AgentMessage[] {
  return Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? userMessage("Read HEARTBEAT.md", host.tick())
      : assistantMessage("HEARTBEAT_OK", host.tick()),
  );
}

function chat(host: FakeHost, count: number): AgentMessage[] {
  return Array.from({ length: count }, (_, index) =>
    userMessage(index % 3 === 0 ? "ok" : `message ${index}`, host.tick()),
  );
}

function asRow(message: AgentMessage): Release01Message {
  const isUser = message.role === "user";
  const text = isUser ? message["content"] : (message["content"] as { text: string }[])[0]!.text;
  return {
    role: isUser ? "user" : "assistant",
    text: text as string,
    createdAt: "2026-02-17 07:37:00",
  };
}

function oldDatabase(host: FakeHost, messages: readonly AgentMessage[]): string {
  for (const message of messages) host.append(KEY, message);
  const databasePath = join(temporaryDirectory(), "lcm.db");
  createRelease01(databasePath, host.ref(KEY).sessionId, messages.map(asRow));
  return databasePath;
}

/** The host, reading at a pace that the clock shows; `rows` counts what it handed out. */
function pacedHost(host: FakeHost, msPerRow: number) {
  const now = performance.now.bind(performance);
  const paced = { rows: 0, transcript: host as TranscriptSource };
  vi.spyOn(performance, "now").mockImplementation(() => now() + paced.rows * msPerRow);
  onTestFinished(() => void vi.restoreAllMocks());
  paced.transcript = host.answering({
    visible: async (session, limits) => {
      const page = await host.visible(session, limits);
      if (page.kind === "page") paced.rows += page.entries.length;
      return page;
    },
  });
  return paced;
}

describe("taking over a long database of release 0.1.x", () => {
  it("finds every row of a history that repeats itself", async () => {
    const host = new FakeHost();
    const databasePath = oldDatabase(host, heartbeats(host, 2_100));
    const lcm = openWithHost(host, { databasePath });
    const engine = lcm.createEngine();
    while ((await engine.bootstrap(host.ref(KEY))).reason === MORE);
    expect(countMessages(lcm)).toBe(2_100);
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("reads for about a second before each reply, and no row more than twice", async () => {
    const host = new FakeHost();
    const count = 900;
    const databasePath = oldDatabase(host, chat(host, count));
    host.pageItems = 20;
    // Two hundred rows a second.
    const paced = pacedHost(host, 5);
    const isPassedThrough: boolean[] = [];
    for (let reason: string | undefined = MORE; reason === MORE;) {
      const before = paced.rows;
      // As after a crash: every turn has a connection of its own.
      const lcm = openLcm({ databasePath, transcript: paced.transcript, now: host.now });
      const engine = lcm.createEngine();
      ({ reason } = await engine.bootstrap(host.ref(KEY)));
      expect(paced.rows - before).toBeLessThan(300);
      const messages = host.transcript(KEY).map(({ message }) => message);
      const answer = await engine.assemble({ ...host.ref(KEY), messages });
      isPassedThrough.push(answer.messages === messages);
      lcm.close();
    }
    expect(paced.rows).toBeLessThanOrEqual(2 * count);
    expect(isPassedThrough.length).toBeLessThan(20);
    expect(isPassedThrough.slice(0, -1)).not.toContain(false);
    const lcm = openWithHost(host, { databasePath });
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(count);
    expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
    for (const table of ["release_01_keys", "alignments", "alignment_entries"]) {
      expect(lcm.stores.db.get(`SELECT count(*) AS n FROM ${table}`)).toEqual({ n: 0 });
    }
  });

  it("goes on where it was after turns that were committed, steered or missed meanwhile", async () => {
    const host = new FakeHost();
    const count = 300;
    const databasePath = oldDatabase(host, chat(host, count));
    host.pageItems = 20;
    const paced = pacedHost(host, 10);
    const lcm = openWithHost(host, { databasePath, transcript: paced.transcript });
    const play = async (index: number): Promise<void> => {
      const engine = lcm.createEngine();
      await engine.assemble({ ...host.ref(KEY), messages: [] });
      // The same short texts as in the old rows, the middle ones without an entry id.
      const rows = ["ok", "ok", "ok"].map((text) => userMessage(text, host.tick()));
      const turn = host.turn(KEY, rows);
      if (index % 3 !== 2) await engine.commitTurn(turn);
      if (index % 2 === 0) host.rotate(KEY);
    };
    let turns = 0;
    for (let reason: string | undefined = MORE; reason === MORE; turns += 1) {
      ({ reason } = await lcm.createEngine().bootstrap(host.ref(KEY)));
      if (reason === MORE) await play(turns);
    }
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(host.activeIds(KEY).length);
    expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
    // Each rotation costs a page or two, not a new beginning.
    expect(paced.rows).toBeLessThan(3 * count);
  });

  it("starts over when a rotation replaced what was read", async () => {
    const host = new FakeHost();
    const before = chat(host, 60);
    const databasePath = oldDatabase(host, before);
    host.pageItems = 10;
    const paced = pacedHost(host, 40);
    const lcm = openWithHost(host, { databasePath, transcript: paced.transcript });
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.rewrite(KEY, before);
    while ((await lcm.createEngine().bootstrap(host.ref(KEY))).reason === MORE);
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(60);
  });

  it("is shared by processes that read at the same time", async () => {
    const host = new FakeHost();
    const databasePath = oldDatabase(host, chat(host, 200));
    host.pageItems = 7;
    const lcm = openWithHost(host, { databasePath });
    const reads = [1, 2, 3].map(() => lcm.createEngine().bootstrap(host.ref(KEY)));
    await Promise.all(reads);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(200);
    expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
  });
});
