// The store breaks: messages pass through unchanged, commits fail with a sentence that says what to do,
// the log says so, and once it is mended the transcript supplies what was missed (G1, G8).

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { renderReport } from "../src/cli/render-report.js";
import { makeReport, type Report } from "../src/cli/report.js";
import { halfWritten, readRows } from "./support/disk-state.js";
import { Gateway } from "./support/gateway.js";
import { lockHere } from "./support/lock.js";
import { bundle, Committer } from "./support/processes.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
} from "./support/workspace.js";

interface Trouble {
  readonly name: string;
  readonly code: string;
  /** What the error tells people to do. */
  readonly advice: RegExp;
  begin(gateway: Gateway): void;
  end(gateway: Gateway): void;
}

const removeFile = ({ path }: Gateway): void => rmSync(path, { recursive: true });

const unopenable: Trouble[] = [
  {
    name: "in a directory that is a file",
    code: "UNWRITABLE",
    advice: /check the directory's owner and permissions, or set databasePath/,
    begin: ({ path }) => writeFileSync(dirname(path), ""),
    end: ({ path }) => rmSync(dirname(path)),
  },
  {
    name: "that is a directory",
    code: "DISK_ERROR",
    advice: /check the disk, its quota and limits/,
    begin: ({ path }) => mkdirSync(path, { recursive: true }),
    end: removeFile,
  },
  {
    name: "whose log can not be made",
    code: "DISK_ERROR",
    advice: /check the disk, its quota and limits/,
    begin: ({ path }) => mkdirSync(`${path}-wal`, { recursive: true }),
    end: ({ path }) => rmSync(`${path}-wal`, { recursive: true }),
  },
  {
    name: "that is a text file",
    code: "NOT_A_DATABASE",
    advice: /point databasePath \(LCM_DATABASE_PATH\) elsewhere/,
    begin: ({ path }) => {
      mkdirSync(dirname(path));
      writeFileSync(path, "not a database ".repeat(100));
    },
    end: removeFile,
  },
  {
    name: "of another program",
    code: "FOREIGN_DATABASE",
    advice: /point databasePath \(LCM_DATABASE_PATH\) at a file of its own/,
    begin: ({ path }) => {
      mkdirSync(dirname(path));
      const db = new DatabaseSync(path);
      db.exec("CREATE TABLE photos (id INTEGER)");
      db.close();
    },
    end: removeFile,
  },
];

const moveAway = ({ path }: Gateway): void => {
  for (const suffix of ["", "-wal", "-shm"]) renameSync(`${path}${suffix}`, `${path}.bad${suffix}`);
};

/** Writes all that is in the log to the file and forgets what was read, so that damage is met. */
function damage({ path, database }: Gateway, work: (path: string) => void): void {
  database.get("PRAGMA wal_checkpoint(TRUNCATE)");
  work(path);
  database.exec("PRAGMA shrink_memory");
}

const breaking: Trouble[] = [
  {
    name: "can no longer be written",
    code: "UNWRITABLE",
    advice: /check owner and permissions/,
    begin: ({ database }) => database.exec("PRAGMA query_only = ON"),
    end: ({ database }) => database.exec("PRAGMA query_only = OFF"),
  },
  {
    name: "has no room left",
    code: "DISK_FULL",
    advice: /free some space and the next call goes on/,
    begin: ({ database }) => {
      const pages = database.get<{ page_count: number }>("PRAGMA page_count");
      database.get(`PRAGMA max_page_count = ${pages!.page_count}`);
    },
    end: ({ database }) => void database.get("PRAGMA max_page_count = 1000000"),
  },
  {
    name: "has damaged pages",
    code: "CORRUPT",
    advice: /restore a backup or move it away to start a new one/,
    begin: (gateway) =>
      damage(gateway, (path) => overwrite(path, 4096, statSync(path).size - 4096)),
    end: moveAway,
  },
  {
    name: "has a damaged header",
    code: "NOT_A_DATABASE",
    advice: /point databasePath \(LCM_DATABASE_PATH\) elsewhere/,
    begin: (gateway) => damage(gateway, (path) => overwrite(path, 0, 100)),
    end: moveAway,
  },
  {
    name: "lost its end",
    code: "CORRUPT",
    advice: /restore a backup or move it away to start a new one/,
    begin: (gateway) => damage(gateway, (path) => truncateSync(path, 4096)),
    end: moveAway,
  },
];

function overwrite(path: string, from: number, bytes: number): void {
  const contents = readFileSync(path).fill(0xff, from, from + bytes);
  writeFileSync(path, contents, { flag: "r+" });
}

describe.each(unopenable)("a database $name", (trouble) => {
  it("leaves the host's messages alone until it can be opened", async () => {
    const gateway = new Gateway(join(temporaryDirectory(), "state", "lcm.db"));
    await expectDegraded(gateway, trouble);
  });
});

describe.each(breaking)("an open database that $name", (trouble) => {
  it("leaves the host's messages alone until it is mended", async () => {
    const gateway = new Gateway();
    gateway.database.exec("SELECT 1");
    for (const text of ["one", "two", "three"]) await gateway.turn(text);
    await expectDegraded(gateway, trouble);
  });
});

async function expectDegraded(gateway: Gateway, trouble: Trouble): Promise<void> {
  const { log, path, session } = gateway;
  trouble.begin(gateway);
  const missed = gateway.play("missed ".repeat(5_000));
  const engine = gateway.engine();
  await expect(engine.commitTurn(missed)).rejects.toMatchObject({
    name: "LcmError",
    code: trouble.code,
    message: expect.stringMatching(trouble.advice),
  });
  await expect(engine.commitTurn(missed)).rejects.toThrow(path);
  await expect(engine.bootstrap(session)).resolves.toMatchObject({ bootstrapped: false });
  const { messages } = await engine.assemble({ ...session, messages: missed.messages });
  expect(messages).toBe(missed.messages);
  await engine.maintain(session);
  await engine.ingestBatch({ ...session, messages: [] });
  await engine.compact(session);
  const child = "agent:main:subagent:child-1";
  await engine.prepareSubagentSpawn({
    parentSessionKey: session.sessionKey,
    childSessionKey: child,
  });
  await engine.onSubagentEnded({ childSessionKey: child, reason: "completed" });
  await engine.sessionDeleted({ sessionKey: "agent:main:another" });
  expect(log.errors.filter((text) => text.includes(path) && trouble.advice.test(text))).not.toEqual(
    [],
  );

  const report = await reportOf(gateway);
  expect(report.error ?? report.lastFailure?.error).toMatch(trouble.advice);
  expect(renderReport(report)).toMatch(trouble.advice);

  trouble.end(gateway);
  // The host delivers again what was not acknowledged.
  await expect(gateway.engine().commitTurn(missed)).resolves.toEqual({ status: "committed" });
  await gateway.turn("after");
  const mended = await reportOf(gateway);
  expect(mended).toMatchObject({ active: true, state: "ready" });
  expect(mended.lastFailure).toBeUndefined();
  await engine.bootstrap(session);
  const lcm = openWithHost(gateway.host, { databasePath: path });
  expect(storedBranch(lcm, session)).toEqual(gateway.transcript);
  expect(countMessages(lcm)).toBe(gateway.transcript.length);
}

function reportOf({ config, host }: Gateway): Promise<Report> {
  const facts = { slot: "lossless-claw", transcript: host };
  return makeReport(facts, { config, problems: [] }, host.ref("agent:main:web1"));
}

describe("the report on a store that nobody has tried yet", () => {
  const isBroken = { active: false, state: "broken" };

  it.each(unopenable.filter(({ name }) => !name.includes("log")))(
    "a database $name",
    async (trouble) => {
      const gateway = new Gateway(join(temporaryDirectory(), "state", "lcm.db"));
      trouble.begin(gateway);
      const before = filesIn(dirname(dirname(gateway.path)));
      const report = await reportOf(gateway);
      expect(report).toMatchObject(isBroken);
      expect(report.error).toMatch(trouble.advice);
      expect(renderReport(report)).toMatch(/^Lossless memory is not working/);
      expect(filesIn(dirname(dirname(gateway.path)))).toEqual(before);
    },
  );

  it("a database in a directory that is read-only, but for root, who may write anywhere", async () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o500);
    const report = await reportOf(new Gateway(join(directory, "state", "lcm.db")));
    const isRoot = process.getuid?.() === 0;
    const refusal = { ...isBroken, error: expect.stringContaining("owner and permissions") };
    expect(report).toMatchObject(isRoot ? { state: "absent" } : refusal);
  });

  it("an open database that has no room left, and then has", async () => {
    const gateway = new Gateway();
    await gateway.turn("one");
    const { database } = gateway;
    const stored = (): unknown[] => database.all("SELECT * FROM messages");
    const before = stored();
    const trouble = breaking.find(({ code }) => code === "DISK_FULL")!;
    trouble.begin(gateway);
    const report = await reportOf(gateway);
    expect(report).toMatchObject(isBroken);
    expect(report.error).toMatch(trouble.advice);
    trouble.end(gateway);
    expect(await reportOf(gateway)).toMatchObject({ active: true, state: "ready" });
    expect(stored()).toEqual(before);
    expect(database.all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });

  it("a process whose files may not grow", async () => {
    const gateway = new Gateway();
    await gateway.turn("one");
    const script = await bundle(new URL("./support/report-probe.ts", import.meta.url));
    const command = [process.execPath, "--no-warnings", script, gateway.path];
    const limited = ["-c", `ulimit -f 128; exec "$@"`, "sh", ...command];
    const { stdout } = spawnSync("/bin/sh", limited, { encoding: "utf8" });
    expect(JSON.parse(stdout)).toMatchObject(isBroken);
  });

  it("says nothing of a lock that another process holds", async () => {
    const gateway = new Gateway();
    await gateway.turn("one");
    const lock = lockHere(gateway.path, "BEGIN IMMEDIATE");
    expect(await reportOf(gateway)).toMatchObject({ active: true, state: "ready" });
    lock.release();
  });
});

describe("a store that failed last", () => {
  it("is named with its time until something is stored again, in every copy of the plugin", async () => {
    const gateway = new Gateway();
    await gateway.turn("one");
    const trouble = breaking.find(({ code }) => code === "DISK_FULL")!;
    trouble.begin(gateway);
    await expect(gateway.engine().commitTurn(gateway.play("x".repeat(500_000)))).rejects.toThrow(
      /the disk is full/,
    );
    expect(gateway.log.errors.at(-1)).toMatch(/could not be stored: .*free some space/);
    trouble.end(gateway);
    const report = await reportOf(gateway);
    const at = new Date(gateway.host.now()).toISOString();
    expect(report).toMatchObject({ state: "ready", lastFailure: { at } });
    expect(renderReport(report)).toMatch(
      /\nThe store failed at 2026-11-18 08:00 UTC, and nothing was stored since: .*the disk is full/,
    );
    await gateway.turn("two");
    expect(await reportOf(gateway)).not.toHaveProperty("lastFailure");
  });

  it("is not one that another process kept locked", async () => {
    const gateway = new Gateway();
    await gateway.turn("one");
    const lock = lockHere(gateway.path, "BEGIN IMMEDIATE");
    await expect(gateway.engine().commitTurn(gateway.play("two"))).rejects.toThrow(
      /another process/,
    );
    lock.release();
    expect(await reportOf(gateway)).not.toHaveProperty("lastFailure");
  });
});

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true }).map(String).toSorted();
}

describe("a connection that was closed", () => {
  it("is opened again by the next call", async () => {
    const gateway = new Gateway();
    const engine = gateway.engine();
    await engine.commitTurn(gateway.play("one"));
    gateway.database.close();
    await engine.commitTurn(gateway.play("two"));
    const lcm = openWithHost(gateway.host, { databasePath: gateway.path });
    expect(storedBranch(lcm, gateway.session)).toEqual(gateway.transcript);
  });
});

describe("a process whose files may not grow", () => {
  it("keeps what it acknowledged and goes on once they may", async () => {
    const gateway = new Gateway();
    const calls = Array.from({ length: 40 }, (_, index) =>
      gateway.play(`${index} ${"x".repeat(50_000)}`),
    );
    const script = await bundle(new URL("./support/committer.ts", import.meta.url));
    const limited = await Committer.start(script, gateway.path, calls, { fileBlocks: 1_500 });
    limited.go();
    expect(await limited.ended).toBe(1);
    expect(limited.errors).toMatch(
      /lcm\.db: the file system refused .*; check the disk, its quota/,
    );
    expect(limited.errors).toContain("DISK_ERROR");
    expect(halfWritten(gateway.path)).toEqual([]);
    const receipts = readRows(
      gateway.path,
      "SELECT advancement_key AS receipt FROM turn_receipts ORDER BY receipt_id",
    );
    expect(receipts.map(({ receipt }) => receipt)).toEqual(limited.committed);
    expect(limited.committed.length).toBeGreaterThan(0);
    const lcm = openWithHost(gateway.host, { databasePath: gateway.path });
    for (const call of calls) await lcm.createEngine().commitTurn(call);
    expect(storedBranch(lcm, gateway.session)).toEqual(gateway.transcript);
  });
});

describe("a file system without shared memory", () => {
  it("is refused with a sentence that says where to put the database", async () => {
    const script = await bundle(new URL("./support/engine-probe.ts", import.meta.url));
    // SQLite's own file system without locks stands for one, chosen in the name of the file.
    const path = "file:lcm.db?vfs=unix-none";
    const cwd = temporaryDirectory();
    const { stdout } = spawnSync(process.execPath, [script, path], { cwd, encoding: "utf8" });
    const sentence = expect.stringMatching(/lcm\.db.*: this file system can not hold.*local disk/);
    expect(JSON.parse(stdout)).toEqual({
      bootstrapped: false,
      passedThrough: true,
      commit: { name: "LcmError", code: "WAL_UNAVAILABLE", message: sentence },
      errors: [sentence, sentence, sentence],
    });
  });
});
