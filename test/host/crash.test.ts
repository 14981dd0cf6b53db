// kill -9 at three moments, a locked and a broken database: nothing lost, nothing twice.

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitUntil } from "./harness/wait-until.js";
import { World } from "./support/world.js";

const KEY = "agent:main:crash";

describe("what a crash or a broken store can not take away", () => {
  let world: World;

  const databasePath = (): string => join(world.host.stateDir, "lcm.db");

  /** Holds the database's write lock until the returned function is called. */
  function lockDatabase(): () => void {
    const db = new DatabaseSync(databasePath(), { timeout: 5_000 });
    db.exec("BEGIN IMMEDIATE");
    return () => db.close();
  }

  async function playOn(...texts: string[]): Promise<void> {
    for (const text of texts) await world.turn(KEY, text);
    await world.expectStored(KEY);
    await world.expectReceiptAtHead(KEY);
  }

  /** Starts again after a kill and goes on; the host may resume what it was at before. */
  async function recover(text: string): Promise<void> {
    const from = world.host.log.length;
    const asked = world.model.requests.length;
    await world.host.startGateway();
    await playOn(text);
    const turns = world.model.requests.length - asked;
    expect(world.engineLog(from)).toEqual({ owned: turns, degraded: 0 });
  }

  beforeAll(async () => {
    world = await World.create({
      extraConfig: { agents: { ownership: "explicit", entries: { main: {}, ops: {} } } },
    });
    await world.host.startGateway();
    await playOn("one", 'CALL:exec:{"command":"echo two"}');
  }, 240_000);

  afterAll(() => world?.dispose(), 60_000);

  test("each agent's sessions are its own", async () => {
    const key = "agent:ops:crash";
    await world.turn(key, "for operations only");
    await world.expectStored(key);
    const agents = world.memory.all("SELECT agent_id AS agent FROM conversations ORDER BY agent");
    expect(agents).toEqual([{ agent: "main" }, { agent: "ops" }]);
  });

  test("kill -9 between two turns", async () => {
    await world.host.killGateway();
    await recover("after the first kill");
  });

  test("kill -9 inside the model call: the user's message is not lost", async () => {
    world.model.setScript(() => ({ text: "never sent", hold: new Promise(() => undefined) }));
    const cut = world.turn(KEY, "cut short").catch((error: unknown) => error);
    await world.model.waitForRequest((request) => request.lastUserText === "cut short");
    await world.host.killGateway();
    expect(await cut).toBeInstanceOf(Error);
    world.model.resetScript();
    await recover("after the second kill");
    // The host takes the row off its branch and goes on from before it; the words stay stored.
    const kept = world.memory.all(
      "SELECT body ->> 'content' AS text FROM messages WHERE role = 'user' AND text = 'cut short'",
    );
    expect(kept).toEqual([{ text: "cut short" }]);
  });

  test("kill -9 inside commitTurn: the turn is delivered again and stored once", async () => {
    const unlock = lockDatabase();
    const turn = world.turn(KEY, "caught in the commit").catch((error: unknown) => error);
    await waitUntil("the reply in the transcript", () =>
      world.lines(KEY).some((line) => /^assistant: REPLY#\d+ to: caught in the commit/.test(line)),
    );
    const committed = world.memory.receipts(KEY).length;
    await world.host.killGateway();
    unlock();
    await turn;
    expect(world.memory.receipts(KEY)).toHaveLength(committed);
    await recover("after the third kill");
    const firsts = world.memory.receipts(KEY).map((receipt) => receipt.firstEntryId);
    expect(new Set(firsts).size).toBe(firsts.length);
  });

  test("a database locked for long holds a reply up for seconds at the most, and loses no turn", async () => {
    const unlock = lockDatabase();
    for (const text of ["first in the lock", "second in the lock"]) {
      const started = performance.now();
      expect(await world.turn(KEY, text)).toContain(text);
      expect(performance.now() - started).toBeLessThan(12_000);
    }
    unlock();
    await playOn("after the lock");
  });

  test("a turn that waited while its session was deleted stays hidden with it", async () => {
    const key = "agent:main:doomed";
    await world.turn(key, "one");
    const unlock = lockDatabase();
    const from = world.host.log.length;
    await world.turn(key, "my SECRET words");
    await world.host.waitForLog(/durable turn advancement remains queued/, { from });
    unlock();
    await world.host.rpc("sessions.delete", { key });
    await world.turn(KEY, "another session's turn");
    await world.expectStored(KEY);
    const rows = () =>
      world.memory.all<{ hidden: number }>(
        `SELECT c.hidden_at IS NOT NULL AS hidden FROM messages m JOIN conversations c
         USING (conversation_id) WHERE m.role = 'user' AND m.body LIKE '%my SECRET words%'`,
      );
    await waitUntil("the turn to be delivered", () => rows().length > 0).catch(() => undefined);
    expect(rows()).toEqual([{ hidden: 1 }]);
  });

  test("a broken database: replies go on, status says so, and the gap is filled when it is back", async () => {
    const moveDatabase = (from: string, to: string): void => {
      for (const suffix of ["", "-wal", "-shm"]) renameSync(from + suffix, to + suffix);
    };
    moveDatabase(databasePath(), `${databasePath()}.safe`);
    writeFileSync(databasePath(), "this is no database ".repeat(400));
    for (const text of ["first on a broken store", "second on a broken store"]) {
      expect(await world.turn(KEY, text)).toContain(text);
    }
    const report = await world.host.cli(["lcm", "status", "--session", KEY]);
    expect(report).toMatchObject({ code: 1 });
    expect(report.stdout).toContain("Lossless memory is not working");
    expect(report.stdout).toContain("the file is not a SQLite database");
    moveDatabase(`${databasePath()}.safe`, databasePath());
    await playOn("on the mended store");
    expect(world.memory.events(KEY)["legacy"]).toBeGreaterThan(0);
  });
});
