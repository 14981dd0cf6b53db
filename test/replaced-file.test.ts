// The database file is deleted, moved or replaced while the gateway runs: the next turn goes to what
// the path means then, and the transcript supplies what the new file lacks (G8).

import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRows } from "./support/disk-state.js";
import { Gateway } from "./support/gateway.js";
import { openWithHost, storedBranch, temporaryDirectory } from "./support/workspace.js";

const SIDE_FILES = ["-wal", "-shm"];

const accidents: Record<string, (path: string) => void> = {
  "deleted with its side files": (path) => {
    for (const suffix of ["", ...SIDE_FILES]) rmSync(`${path}${suffix}`);
  },
  "deleted alone": (path) => rmSync(path),
  "deleted with its directory": (path) => rmSync(join(path, ".."), { recursive: true }),
  "moved away with its side files": (path) => {
    for (const suffix of ["", ...SIDE_FILES])
      renameSync(`${path}${suffix}`, `${path}.old${suffix}`);
  },
  "moved away alone": (path) => renameSync(path, `${path}.old`),
  "replaced by an older copy": (path) => {
    for (const suffix of SIDE_FILES) rmSync(`${path}${suffix}`);
    renameSync(`${path}.copy`, path);
  },
};

describe("a database file that is", () => {
  it.each(Object.entries(accidents))("%s is made or taken up anew", async (_name, happen) => {
    const gateway = new Gateway();
    const { host, path } = gateway;
    await gateway.turn("one");
    gateway.database.run("VACUUM INTO ?", `${path}.copy`);
    await gateway.turn("two");
    happen(path);
    for (const text of ["three", "four"]) {
      expect(gateway.database.isOpen).toBe(true);
      await gateway.turn(text);
    }

    // Another process sees it all, and so does one that opens the file after a crash.
    const crashed = join(temporaryDirectory(), "lcm.db");
    for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${crashed}${suffix}`);
    for (const databasePath of [path, crashed]) {
      expect(readRows(databasePath, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
      expect(readRows(databasePath, "SELECT message_id FROM messages")).toHaveLength(8);
      const lcm = openWithHost(host, { databasePath });
      expect(storedBranch(lcm, gateway.session)).toEqual(gateway.transcript);
    }
  });
});
