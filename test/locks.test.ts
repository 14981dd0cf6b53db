// Another process holds the database: what must be kept waits for it, the reply does not (G6, G8).

import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeReport } from "../src/cli/report.js";
import { openLcm } from "../src/lcm.js";
import { createStores } from "../src/store/index.js";
import { FakeHost } from "./support/fake-host.js";
import { Gateway } from "./support/gateway.js";
import { lockElsewhere, lockHere } from "./support/lock.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { recordingLog } from "./support/recording-log.js";
import { createRelease01 } from "./support/release-01.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
} from "./support/workspace.js";

const KEY = "agent:main:web1";
const CHILD_KEY = "agent:main:subagent:child-1";
const LOCKS = ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"];

function turn(host: FakeHost, text: string) {
  return host.turn(KEY, [userMessage(text, host.tick()), assistantMessage("ok", host.tick())]);
}

async function openWithOneTurn() {
  const host = new FakeHost();
  const log = recordingLog();
  const lcm = openWithHost(host, { log });
  await lcm.createEngine().commitTurn(turn(host, "one"));
  await lcm.createEngine().bootstrap(host.ref(KEY));
  return { host, lcm, log, path: lcm.config.databasePath };
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

describe("commitTurn", () => {
  it.each(LOCKS)("waits while another process holds %s, and lets others work", async (begin) => {
    const { host, lcm, path } = await openWithOneTurn();
    const engine = lcm.createEngine();
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    await lockElsewhere(path, begin, 1_000);
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 10);
    onTestFinished(() => clearInterval(ticking));
    const waited = await elapsed(() => engine.commitTurn(turn(host, "two")));
    expect(waited).toBeGreaterThan(300);
    expect(turns).toBeGreaterThan(20);
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("gives up in the end, so that the host delivers the turn again", async () => {
    const { host, lcm, path } = await openWithOneTurn();
    const lock = lockHere(path, "BEGIN IMMEDIATE");
    const call = turn(host, "two");
    speedUpClock(30);
    await expect(lcm.createEngine().commitTurn(call)).rejects.toMatchObject({
      name: "LcmError",
      code: "BUSY",
      message: expect.stringMatching(/lcm\.db: another process holds the database; it is tried/),
    });
    expect(countMessages(lcm)).toBe(2);
    lock.release();
    await expect(lcm.createEngine().commitTurn(call)).resolves.toEqual({ status: "committed" });
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("gives up sooner before a turn, whose reply waits for it", async () => {
    const { host, lcm, path } = await openWithOneTurn();
    lockHere(path, "BEGIN IMMEDIATE");
    const redelivery = lcm.createEngine().commitTurn(turn(host, "two"));
    expect(await elapsed(() => redelivery.catch(() => undefined))).toBeLessThan(2_500);
    await expect(redelivery).rejects.toMatchObject({ code: "BUSY" });
  });

  it("does not wait for readers", async () => {
    const { host, lcm, path } = await openWithOneTurn();
    lockHere(path, "BEGIN; SELECT count(*) FROM messages");
    expect(await elapsed(() => lcm.createEngine().commitTurn(turn(host, "two")))).toBeLessThan(500);
  });
});

describe.each(LOCKS)("while another connection holds %s, the reply", (begin) => {
  it("is not held up by bootstrap, assemble and status", async () => {
    const { host, lcm, log, path } = await openWithOneTurn();
    turn(host, "missed");
    const lock = lockHere(path, begin);
    const engine = lcm.createEngine();
    const messages = [userMessage("hello", host.tick())];

    const bootstrapping = engine.bootstrap(host.ref(KEY));
    expect(await elapsed(() => bootstrapping)).toBeLessThan(3_000);
    await expect(bootstrapping).resolves.toMatchObject({ bootstrapped: false });
    const assembling = engine.assemble({ ...host.ref(KEY), messages });
    expect(await elapsed(() => assembling)).toBeLessThan(3_000);
    expect((await assembling).messages).toBe(messages);
    expect(log.errors.join("\n")).toMatch(/could not be stored: .*another process holds/);
    expect(log.errors.join("\n")).toMatch(/pass through unchanged.*another process holds/);
    const facts = { slot: "lossless-claw", transcript: host };
    const report = await makeReport(facts, { config: lcm.config, problems: [] }, host.ref(KEY));
    expect(report).toMatchObject({ state: "ready", status: { session: { head: { missing: 2 } } } });

    lock.release();
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });
});

describe("bookkeeping waits for the lock and takes effect", () => {
  it("sessionDeleted", async () => {
    const { host, lcm, path } = await openWithOneTurn();
    await lockElsewhere(path, "BEGIN IMMEDIATE", 300);
    await lcm.createEngine().sessionDeleted({ sessionKey: KEY });
    expect(lcm.stores.conversations.find(host.ref(KEY))).toBeUndefined();
  });

  it("prepareSubagentSpawn, its rollback and onSubagentEnded", async () => {
    const { lcm, path } = await openWithOneTurn();
    const links = () =>
      lcm.stores.db.all(
        "SELECT end_reason AS ended FROM subagent_links WHERE child_session_key = ?",
        CHILD_KEY,
      );
    const engine = lcm.createEngine();
    await lockElsewhere(path, "BEGIN IMMEDIATE", 300);
    const spawn = { parentSessionKey: KEY, childSessionKey: CHILD_KEY };
    const preparation = await engine.prepareSubagentSpawn(spawn);
    expect(links()).toEqual([{ ended: null }]);
    await lockElsewhere(path, "BEGIN IMMEDIATE", 300);
    await engine.onSubagentEnded({ childSessionKey: CHILD_KEY, reason: "completed" });
    expect(links()).toEqual([{ ended: "completed" }]);
    await lockElsewhere(path, "BEGIN IMMEDIATE", 300);
    await preparation?.rollback();
    expect(links()).toEqual([]);
  });

  it("dispose, for what is still under way", async () => {
    const { host, lcm, path } = await openWithOneTurn();
    const engine = lcm.createEngine();
    await lockElsewhere(path, "BEGIN IMMEDIATE", 300);
    void engine.commitTurn(turn(host, "two"));
    await engine.dispose();
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });
});

describe("while another process takes over a file of release 0.1.x", () => {
  function oldGateway(): Gateway {
    const gateway = new Gateway();
    createRelease01(gateway.path, gateway.session.sessionId, [
      { role: "user", text: "old", createdAt: "2026-02-17 07:37:00" },
    ]);
    return gateway;
  }

  it("a turn passes through, its commit waits, and everything else goes on", async () => {
    const gateway = oldGateway();
    const { session, host, log } = gateway;
    host.append(KEY, userMessage("old", host.tick()));
    await lockElsewhere(gateway.path, "BEGIN IMMEDIATE", 1_500);
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 10);
    onTestFinished(() => clearInterval(ticking));
    const engine = gateway.engine();
    const messages = [userMessage("hello", host.tick())];
    expect(await engine.bootstrap(session)).toMatchObject({ bootstrapped: false });
    expect((await engine.assemble({ ...session, messages })).messages).toBe(messages);
    expect(await engine.commitTurn(gateway.play("hello"))).toEqual({ status: "committed" });
    expect(ticks).toBeGreaterThan(30);
    // Said once, and only by who does it.
    expect(log.infos.map((line) => line.replace(gateway.path, "it").split(/[;:]| in /)[0])).toEqual(
      ["it is of release 0.1.x", "backup", "took over it"],
    );
    await gateway.engine().bootstrap(session);
    const stores = createStores(gateway.database);
    expect(storedBranch({ stores }, session)).toEqual(gateway.transcript);
  });

  it("compact waits as well", async () => {
    const gateway = oldGateway();
    const { session } = gateway;
    await lockElsewhere(gateway.path, "BEGIN IMMEDIATE", 300);
    const answer = await gateway.engine().compact({ ...session, tokenBudget: 1_000 });
    expect(answer).toMatchObject({ ok: true });
  });
});

describe("opening", () => {
  it.each(["BEGIN; SELECT count(*) FROM messages", ...LOCKS])(
    "waits for a process that holds %s on a file of release 0.1.x",
    async (begin) => {
      const databasePath = join(temporaryDirectory(), "lcm.db");
      createRelease01(databasePath, "old-session", [
        { role: "user", text: "old", createdAt: "2026-02-17 07:37:00" },
      ]);
      await lockElsewhere(databasePath, begin, 300);
      const lcm = openLcm({ databasePath });
      expect(countMessages(lcm)).toBe(1);
      lcm.close();
    },
  );
});

/** Lets deadlines pass earlier. Timers and SQLite keep their own pace. */
function speedUpClock(factor: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() * factor);
  onTestFinished(() => void vi.restoreAllMocks());
}
