import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { SCHEMA_VERSION } from "../src/db/migration.js";
import { openLcm } from "../src/lcm.js";
import { silentLogger } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { createRelease01, type Release01Message } from "./support/release-01.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
} from "./support/workspace.js";

const KEY = "agent:main:web1";

function fingerprint(directory: string): string {
  return readdirSync(directory)
    .toSorted()
    .map(
      (name) =>
        `${name}:${createHash("sha256")
          .update(readFileSync(join(directory, name)))
          .digest("hex")}`,
    )
    .join("\n");
}

describe("a database made by release 0.1.x", () => {
  const old: Release01Message[] = [
    { role: "user", text: "please fix   the login", createdAt: "2026-02-17 07:37:00" },
    {
      role: "assistant",
      text: "looking",
      createdAt: "2026-02-17 07:38:00",
      block: { type: "text", text: "looking" },
    },
    {
      role: "tool",
      text: "exit 0",
      createdAt: "2026-02-17 07:39:00",
      block: { type: "text", text: "exit 0" },
      toolCallId: "c1",
    },
    {
      role: "user",
      text: "[LCM File: file_1234567890abcdef | log.txt]",
      createdAt: "2026-02-17 08:00:00",
    },
    { role: "system", text: "LCM compaction event", createdAt: "2026-02-17 08:30:00" },
    { role: "assistant", text: "done", createdAt: "2026-02-17 17:21:00" },
  ];

  function hostWithTheSameSession(): FakeHost {
    const host = new FakeHost();
    const at = Date.parse("2026-02-17T07:37:00Z");
    host.append(KEY, userMessage("please fix the login", at));
    host.append(KEY, assistantMessage("looking", at + 1000));
    host.append(KEY, {
      role: "toolResult",
      toolCallId: "c1",
      toolName: "exec",
      content: [{ type: "text", text: "exit 0" }],
      details: { exitCode: 0 },
      isError: false,
      timestamp: at + 2000,
    });
    host.append(KEY, userMessage(`<file name="log.txt">${"x".repeat(500)}</file>`, at + 3000));
    host.append(KEY, assistantMessage("done", at + 4000));
    host.append(KEY, userMessage("and now?", at + 5000));
    return host;
  }

  it.each([true, false])(
    "opens with its graph, ranges and descendants derived (depth columns: %s)",
    (depthColumns) => {
      const databasePath = join(temporaryDirectory(), "lcm.db");
      createRelease01(databasePath, "old-session", old, { depthColumns });
      const lcm = openLcm({ databasePath });
      const rows = lcm.stores.db.all(
        "SELECT summary_id AS id, depth, level, earliest_at AS earliest, latest_at AS latest, descendant_count AS descendants FROM summaries ORDER BY summary_id",
      );
      lcm.close();
      expect(rows).toEqual([
        {
          id: "sum_aaaaaaaaaaaaaaaa",
          depth: 0,
          level: "normal",
          earliest: "2026-02-17T07:37:00.000Z",
          latest: "2026-02-17T07:39:00.000Z",
          descendants: 0,
        },
        {
          id: "sum_bbbbbbbbbbbbbbbb",
          depth: 0,
          level: "deterministic",
          earliest: "2026-02-17T08:00:00.000Z",
          latest: "2026-02-17T17:21:00.000Z",
          descendants: 0,
        },
        {
          id: "sum_cccccccccccccccc",
          depth: 1,
          level: "normal",
          earliest: "2026-02-17T07:37:00.000Z",
          latest: "2026-02-17T17:21:00.000Z",
          descendants: 2,
        },
      ]);
    },
  );

  it("leaves a private backup of what it was", () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    createRelease01(databasePath, "old-session", old);
    openLcm({ databasePath }).close();
    const backup = readdirSync(directory).find((name) => name.endsWith(".bak")) as string;
    expect(statSync(join(directory, backup)).mode & 0o777).toBe(0o600);
    const db = new DatabaseSync(join(directory, backup), { readOnly: true });
    expect(db.prepare("SELECT count(*) AS n FROM messages").get()).toEqual({ n: old.length });
    db.close();
  });

  it("is adopted by its session and goes on without a duplicate", async () => {
    const host = hostWithTheSameSession();
    const databasePath = join(temporaryDirectory(), "lcm.db");
    createRelease01(databasePath, host.ref(KEY).sessionId, old);
    const lcm = openWithHost(host, { databasePath });
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    // Four rows met their entries; the rewritten file message and the event stay as an archive.
    expect(countMessages(lcm)).toBe(old.length + 2);
    const covered = lcm.stores.db.all(
      "SELECT m.entry_id IS NOT NULL AS aligned FROM summary_messages sm JOIN messages m USING (message_id) ORDER BY m.message_id",
    );
    expect(covered.map((row) => row["aligned"])).toEqual([1, 1, 1, 0, 0, 1]);
    expect(
      lcm.stores.db.get("SELECT count(*) AS n FROM operator_actions WHERE finished_at IS NULL"),
    ).toEqual({ n: 0 });
    host.append(KEY, assistantMessage("next", host.tick()));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
  });

  it("takes over a graph that runs in a circle, without the links that can not be true", () => {
    const databasePath = join(temporaryDirectory(), "lcm.db");
    createRelease01(databasePath, "s", old);
    const db = new DatabaseSync(databasePath);
    db.exec(
      "INSERT INTO summaries (summary_id, conversation_id, kind, content, token_count) VALUES ('sum_d', 1, 'condensed', 'x', 1); INSERT INTO summary_parents VALUES ('sum_cccccccccccccccc', 'sum_d', 2), ('sum_d', 'sum_cccccccccccccccc', 0)",
    );
    db.close();
    const lcm = openLcm({ databasePath });
    const links = lcm.stores.db.all(
      "SELECT summary_id AS id, parent_summary_id AS source FROM summary_parents ORDER BY 1, 2",
    );
    lcm.close();
    expect(links).toEqual([
      { id: "sum_cccccccccccccccc", source: "sum_aaaaaaaaaaaaaaaa" },
      { id: "sum_cccccccccccccccc", source: "sum_bbbbbbbbbbbbbbbb" },
    ]);
  });

  it("leaves rows behind that refer to nothing, and takes over the rest", () => {
    const databasePath = join(temporaryDirectory(), "lcm.db");
    createRelease01(databasePath, "s", old);
    const db = new DatabaseSync(databasePath, { enableForeignKeyConstraints: false });
    db.exec(`INSERT INTO summary_messages VALUES ('sum_aaaaaaaaaaaaaaaa', 999, 9);
      INSERT INTO summary_parents VALUES ('sum_cccccccccccccccc', 'sum_gone', 5);
      INSERT INTO context_items (conversation_id, ordinal, item_type, message_id) VALUES (1, 7, 'message', 998);
      INSERT INTO messages (conversation_id, seq, role, content, token_count) VALUES (77, 1, 'user', 'adrift', 1);
      INSERT INTO large_files (file_id, conversation_id, storage_uri) VALUES ('file_adrift', 77, '/x');`);
    db.close();
    const lcm = openLcm({ databasePath });
    expect(countMessages(lcm)).toBe(old.length);
    lcm.close();
  });

  it("says what it does, since a large file takes a while", () => {
    const databasePath = join(temporaryDirectory(), "lcm.db");
    createRelease01(databasePath, "s", old);
    const said: string[] = [];
    const log = { ...silentLogger, info: (text: string) => said.push(text) };
    openLcm({ databasePath, log }).close();
    expect(said).toEqual([
      expect.stringContaining("taking it over, after a backup beside it"),
      expect.stringMatching(/^backup: .*\.bak$/),
      expect.stringMatching(/^took over .* in \d+\.\d s$/),
    ]);
  });

  it("keeps a second backup when the file has changed since the first", () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    createRelease01(databasePath, "s", old);
    openLcm({ databasePath }).close();
    rmSync(databasePath);
    createRelease01(databasePath, "other", old);
    utimesSync(databasePath, Date.now() / 1000 + 60, Date.now() / 1000 + 60);
    openLcm({ databasePath }).close();
    expect(readdirSync(directory).filter((name) => name.endsWith(".bak"))).toHaveLength(2);
  });

  it("keeps a second backup when an older file was moved in its place", () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    const other = join(directory, "other.db");
    createRelease01(databasePath, "s", old);
    createRelease01(other, "other", old.slice(0, 2));
    utimesSync(other, 1_000, 1_000);
    openLcm({ databasePath }).close();
    rmSync(databasePath);
    renameSync(other, databasePath);
    openLcm({ databasePath }).close();
    const sizes = readdirSync(directory)
      .filter((name) => name.endsWith(".bak"))
      .map((name) => {
        const db = new DatabaseSync(join(directory, name), { readOnly: true });
        const row = db.prepare("SELECT count(*) AS messages FROM messages").get();
        db.close();
        return row?.["messages"];
      });
    expect(sizes.toSorted()).toEqual([2, old.length]);
  });

  it("aligns rows by the role they had in the transcript", async () => {
    const host = new FakeHost();
    const at = Date.parse("2026-02-17T07:37:00Z");
    const note = { type: "text", text: "note" };
    host.append(KEY, userMessage("hi", at));
    host.append(KEY, { role: "custom", customType: "x", content: [note], timestamp: at });
    const databasePath = join(temporaryDirectory(), "lcm.db");
    const createdAt = "2026-02-17 07:37:00";
    createRelease01(databasePath, host.ref(KEY).sessionId, [
      { role: "user", text: "hi", createdAt },
      { role: "assistant", originalRole: "custom", text: "note", createdAt, block: note },
    ]);
    const lcm = openWithHost(host, { databasePath });
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(2);
  });

  describe("whose transcript differs from what was stored", () => {
    const text = (index: number) => `message number ${index}`;
    const oldRow = (content: string): Release01Message => ({
      role: "user",
      text: content,
      createdAt: "2026-02-17 07:37:00",
    });

    async function takeOver(stored: readonly string[], transcript: readonly string[]) {
      const host = new FakeHost();
      for (const content of transcript) host.append(KEY, userMessage(content, host.tick()));
      const databasePath = join(temporaryDirectory(), "lcm.db");
      createRelease01(databasePath, host.ref(KEY).sessionId, stored.map(oldRow));
      const lcm = openWithHost(host, { databasePath });
      await lcm.createEngine().bootstrap(host.ref(KEY));
      expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
      return countMessages(lcm);
    }

    it("finds its rows behind hundreds that are not in the transcript", async () => {
      const strangers = Array.from({ length: 250 }, (_, index) => `abandoned ${index}`);
      const shared = Array.from({ length: 100 }, (_, index) => text(index));
      expect(await takeOver([...strangers, ...shared], shared)).toBe(350);
    });

    it("is not pulled out of step by a short text that one side lacks", async () => {
      const shared = Array.from({ length: 150 }, (_, index) => text(index));
      const stored = [...shared, "ok", text(150)];
      expect(await takeOver(stored, ["ok", ...stored])).toBe(stored.length + 1);
    });

    it("waits for a transcript that can not be read, and stores nothing twice", async () => {
      const shared = Array.from({ length: 20 }, (_, index) => text(index));
      const host = new FakeHost();
      for (const content of shared) host.append(KEY, userMessage(content, host.tick()));
      const databasePath = join(temporaryDirectory(), "lcm.db");
      createRelease01(databasePath, host.ref(KEY).sessionId, shared.map(oldRow));
      const lcm = openWithHost(host, { databasePath });
      host.unavailable = true;
      await lcm.createEngine().bootstrap(host.ref(KEY));
      host.unavailable = false;
      host.pageItems = 7;
      const interrupted = { ...host.ref(KEY), abortSignal: AbortSignal.abort() };
      for (let round = 0; round < 5; round += 1) await lcm.createEngine().maintain(interrupted);
      await lcm.createEngine().bootstrap(host.ref(KEY));
      expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
      expect(countMessages(lcm)).toBe(20);
    });
  });
});

describe("files that are not ours to change", () => {
  it.each([
    [
      "something that is no database",
      "NOT_A_DATABASE",
      (path: string) =>
        writeFileSync(path, "hello, this is a text file, not a database at all".repeat(50)),
    ],
    [
      "another program's database",
      "FOREIGN_DATABASE",
      (path: string) =>
        makeDatabase(path, "PRAGMA journal_mode = WAL; CREATE TABLE photos (id INTEGER)"),
    ],
    [
      "a database of an incompatible newer release",
      "NEWER_SCHEMA",
      (path: string) =>
        makeDatabase(
          path,
          `PRAGMA journal_mode = WAL; CREATE TABLE lcm_schema (version INTEGER, min_reader INTEGER, applied_at TEXT); INSERT INTO lcm_schema VALUES (${SCHEMA_VERSION + 5}, ${SCHEMA_VERSION + 3}, '')`,
        ),
    ],
    ["a damaged database", "CORRUPT", damagedDatabase],
  ])("%s is refused with the code %s, untouched", (_name, code, make) => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    make(databasePath);
    const before = fingerprint(directory);
    expect(() => openLcm({ databasePath })).toThrow(
      expect.objectContaining({
        name: "LcmError",
        code,
        message: expect.stringContaining(databasePath),
      }),
    );
    expect(fingerprint(directory)).toBe(before);
  });

  it("a directory that can not be made is an error that names it", () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, "file"), "");
    expect(() => openLcm({ databasePath: join(directory, "file", "lcm.db") })).toThrow(
      expect.objectContaining({ code: "UNWRITABLE" }),
    );
    mkdirSync(join(directory, "lcm.db"));
    expect(() => openLcm({ databasePath: join(directory, "lcm.db") })).toThrow(
      expect.objectContaining({ name: "LcmError" }),
    );
  });
});

describe("versions", () => {
  it("opens a file from a newer release that only added things", () => {
    const databasePath = join(temporaryDirectory(), "lcm.db");
    openLcm({ databasePath }).close();
    const db = new DatabaseSync(databasePath);
    db.exec(
      `ALTER TABLE messages ADD COLUMN mood TEXT; CREATE TABLE novelties (id INTEGER); INSERT INTO lcm_schema VALUES (${SCHEMA_VERSION + 1}, 1, '2027-01-01')`,
    );
    db.close();
    const lcm = openLcm({ databasePath });
    expect(lcm.stores.status.database().messages).toBe(0);
    lcm.close();
  });

  it("opens a current file without writing to it", () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    openLcm({ databasePath }).close();
    const before = fingerprint(directory);
    openLcm({ databasePath }).close();
    expect(fingerprint(directory)).toBe(before);
  });
});

function makeDatabase(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

function damagedDatabase(path: string): void {
  makeDatabase(path, "CREATE TABLE conversations (a TEXT); CREATE TABLE messages (b TEXT)");
  const bytes = readFileSync(path);
  bytes.fill(0xff, 100, 300);
  writeFileSync(path, bytes);
}
