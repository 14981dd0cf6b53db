// Several processes on one database file: every turn is stored once, whole and in order (G1, G7).

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contents, halfWritten, readRows } from "./support/disk-state.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { bundle, Committer } from "./support/processes.js";
import { createRelease01 } from "./support/release-01.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
} from "./support/workspace.js";

const MESSAGES_PER_TURN = 4;
const committerScript = new URL("./support/committer.ts", import.meta.url);

function turns(host: FakeHost, key: string, count: number, bytes = 10) {
  return Array.from({ length: count }, (_, index) => {
    const at = host.tick();
    return host.turn(key, [
      userMessage(`${key} ${index}`, at),
      ...toolLoop(`c${at}`, "x".repeat(bytes), at + 1),
      assistantMessage(`done ${index}`, at + 9),
    ]);
  });
}

async function runAll(committers: readonly Committer[]): Promise<void> {
  for (const committer of committers) committer.go();
  const endings = await Promise.all(committers.map(({ ended }) => ended));
  const errors = committers.map((committer) => committer.errors).join("");
  expect({ endings, errors }).toEqual({ endings: committers.map(() => 0), errors: "" });
}

function expectSound(databasePath: string): void {
  expect(readRows(databasePath, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  expect(readRows(databasePath, "PRAGMA foreign_key_check")).toEqual([]);
  expect(halfWritten(databasePath)).toEqual([]);
}

describe("processes that commit at the same time", () => {
  it("store every turn once and in order, whoever delivers it first", async () => {
    const script = await bundle(committerScript);
    const host = new FakeHost();
    const databasePath = join(temporaryDirectory(), "lcm.db");
    const shared = turns(host, "agent:main:shared", 30);
    const own = ["a", "b", "c"].map((name) => turns(host, `agent:main:${name}`, 30));
    const orders = [shared, shared, shared.toReversed()];
    const committers = await Promise.all(
      own.map((mine, index) =>
        Committer.start(script, databasePath, interleave(mine, orders[index]!)),
      ),
    );
    await runAll(committers);

    const keys = [shared, ...own].flat().map((call) => call.advancementKey);
    const committed = committers.flatMap((committer) => committer.committed);
    expect(committed.toSorted()).toEqual(keys.toSorted());
    expectSound(databasePath);
    const lcm = openWithHost(host, { databasePath });
    for (const key of ["shared", "a", "b", "c"].map((name) => `agent:main:${name}`)) {
      const stored = storedBranch(lcm, host.ref(key)).map((row) => row.message);
      expect(stored).toEqual(host.transcript(key).map((row) => row.message));
      await lcm.createEngine().bootstrap(host.ref(key));
      expect(storedBranch(lcm, host.ref(key))).toEqual(host.transcript(key));
    }
    expect(countMessages(lcm)).toBe(keys.length * MESSAGES_PER_TURN);
  }, 30_000);
});

describe("processes that open a database for the first time together", () => {
  const PROCESSES = 6;

  async function race(databasePath: string) {
    const script = await bundle(committerScript);
    const host = new FakeHost();
    const keys = Array.from({ length: PROCESSES }, (_, index) => `agent:main:s${index}`);
    const committers = await Promise.all(
      keys.map((key) => Committer.start(script, databasePath, turns(host, key, 2))),
    );
    await runAll(committers);
    expectSound(databasePath);
    const lcm = openWithHost(host, { databasePath });
    for (const key of keys) {
      expect(storedBranch(lcm, host.ref(key)).map((row) => row.message)).toEqual(
        host.transcript(key).map((row) => row.message),
      );
    }
    expect(readRows(databasePath, "SELECT version FROM lcm_schema")).toEqual([{ version: 1 }]);
    return countMessages(lcm) - PROCESSES * 2 * MESSAGES_PER_TURN;
  }

  it.each([1, 2])(
    "make it once (round %i)",
    async () => {
      const directory = temporaryDirectory();
      expect(await race(join(directory, "lcm.db"))).toBe(0);
      expect(readdirSync(directory).filter((name) => name.includes(".bak"))).toEqual([]);
    },
    30_000,
  );

  it.each([1, 2])(
    "take over one of release 0.1.x once, with one backup (round %i)",
    async () => {
      const directory = temporaryDirectory();
      const databasePath = join(directory, "lcm.db");
      const old = Array.from({ length: 40 }, (_, index) => ({
        role: "user" as const,
        text: `old ${index}`,
        createdAt: "2026-02-17 07:37:00",
      }));
      createRelease01(databasePath, "old-session", old);
      const before = contents(databasePath);
      expect(await race(databasePath)).toBe(old.length);
      const backups = readdirSync(directory).filter((name) => name.includes(".bak"));
      expect(backups).toHaveLength(1);
      expect(contents(join(directory, backups[0]!))).toBe(before);
    },
    30_000,
  );
});

describe("a process killed while it commits", () => {
  it("keeps every turn it acknowledged, and no half of another", async () => {
    const script = await bundle(committerScript);
    const host = new FakeHost();
    const key = "agent:main:killed";
    const databasePath = join(temporaryDirectory(), "lcm.db");
    const calls = turns(host, key, 600, 10_000);
    const acknowledged = new Set<string>();
    for (let kills = 0; kills < 8; kills += 1) {
      // As from the host's outbox: what was not acknowledged is delivered again.
      const waiting = calls.filter((call) => !acknowledged.has(call.advancementKey));
      const committer = await Committer.start(script, databasePath, waiting);
      committer.go();
      await Promise.race([committer.acknowledgements(1 + Math.random() * 20), committer.ended]);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
      committer.kill();
      expect(await committer.ended).toBe("SIGKILL");
      for (const each of [...committer.committed, ...committer.duplicate]) acknowledged.add(each);
      expectSound(databasePath);
      const receipts = readRows(
        databasePath,
        "SELECT advancement_key AS receipt FROM turn_receipts",
      );
      expect(receipts.map(({ receipt }) => receipt)).toEqual(
        expect.arrayContaining([...acknowledged]),
      );
      expect(receipts.length - acknowledged.size).toBeLessThanOrEqual(1);
    }
    const delivered = calls.slice(0, acknowledged.size + 1);
    expect(delivered.length).toBeLessThan(calls.length);

    const lcm = openWithHost(host, { databasePath });
    const answers = new Map<string, string>();
    for (const call of delivered) {
      const { status } = await lcm.createEngine().commitTurn(call);
      answers.set(call.advancementKey, status);
    }
    const again = [...acknowledged].map((key) => answers.get(key));
    expect(again).toEqual(again.map(() => "duplicate"));
    expect(countMessages(lcm)).toBe(delivered.length * MESSAGES_PER_TURN);
    await lcm.createEngine().bootstrap(host.ref(key));
    expect(storedBranch(lcm, host.ref(key))).toEqual(host.transcript(key));
  }, 30_000);
});

function interleave<T>(left: readonly T[], right: readonly T[]): T[] {
  return left.flatMap((one, index) => [one, right[index]!]);
}
