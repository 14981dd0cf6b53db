// Nobody but their owner reads the files (G9).

import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeHost } from "./support/fake-host.js";
import { userMessage } from "./support/messages.js";
import { createRelease01 } from "./support/release-01.js";
import { openTestLcm, openWithHost, temporaryDirectory } from "./support/workspace.js";

const FILES = ["", "-wal", "-shm"];

function mode(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

async function openAndWrite(databasePath: string): Promise<void> {
  const host = new FakeHost();
  const lcm = openWithHost(host, { databasePath });
  const call = host.turn("agent:main:web1", [userMessage("secret", host.tick())]);
  await lcm.createEngine().commitTurn(call);
}

describe("files", () => {
  it("are made private, and so are the directories made for them", async () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "new", "deeper", "lcm.db");
    await openAndWrite(databasePath);
    expect(FILES.map((suffix) => mode(`${databasePath}${suffix}`))).toEqual(["600", "600", "600"]);
    expect(["new", "new/deeper"].map((name) => mode(join(directory, name)))).toEqual([
      "700",
      "700",
    ]);
  });

  it("are made private in a directory that others may read, which is left as it is", async () => {
    const directory = join(temporaryDirectory(), "shared");
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    await openAndWrite(join(directory, "lcm.db"));
    expect(readdirSync(directory).map((name) => mode(join(directory, name)))).toEqual(
      FILES.map(() => "600"),
    );
    expect(mode(directory)).toBe("755");
  });

  it("that others could read are made private when they are opened", async () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    await openAndWrite(join(directory, "original.db"));
    // What a process leaves that was killed: the log still holds the messages.
    for (const suffix of ["", "-wal"]) {
      copyFileSync(join(directory, `original.db${suffix}`), `${databasePath}${suffix}`);
      chmodSync(`${databasePath}${suffix}`, 0o644);
    }
    const lcm = openTestLcm({ databasePath });
    expect(lcm.stores.status.database().messages).toBe(1);
    expect(FILES.map((suffix) => mode(`${databasePath}${suffix}`))).toEqual(["600", "600", "600"]);
  });

  it("of release 0.1.x are made private with their backup", async () => {
    const directory = temporaryDirectory();
    const databasePath = join(directory, "lcm.db");
    createRelease01(databasePath, "old-session", []);
    chmodSync(databasePath, 0o664);
    await openAndWrite(databasePath);
    const names = readdirSync(directory);
    expect(names.filter((name) => name.endsWith(".bak"))).toHaveLength(1);
    expect(names.map((name) => mode(join(directory, name)))).toEqual(names.map(() => "600"));
  });
});
