// `openclaw lcm grep` and `openclaw lcm describe`: the same tools, for a person who may see everything.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runForPerson } from "../src/cli/recall-commands.js";
import { errorOf, KEYS, RecallWorld, textOf } from "./support/recall-world.js";
import { createRelease01 } from "./support/release-01.js";
import { temporaryDirectory } from "./support/workspace.js";

async function storedWorld() {
  const databasePath = join(temporaryDirectory(), "lcm.db");
  const world = new RecallWorld({ recallScope: "conversation" }, { databasePath });
  await world.store(KEYS.own, "the harbor code is 7391");
  await world.store(KEYS.foreign, "the harbor is closed");
  return { world, options: { config: () => world.lcm.config, search: world.search } };
}

describe("a person at the terminal", () => {
  it("searches every conversation, or those of an agent or a session", async () => {
    const { options } = await storedWorld();
    const find = async (person: object) =>
      textOf(await runForPerson(options, "lcm_grep", { pattern: "harbor", limit: "9" }, person));
    expect(await find({})).toMatch(/7391[\s\S]*closed|closed[\s\S]*7391/);
    expect(await find({ agent: "ops" })).not.toContain("7391");
    expect(await find({ session: KEYS.own })).not.toContain("closed");
    expect(await find({ conversation: "2" })).not.toContain("7391");
    expect(await find({ agent: "nobody" })).toContain("Nothing is stored for agent nobody");
  });

  it("sees one item whole", async () => {
    const { options } = await storedWorld();
    const shown = await runForPerson(options, "lcm_describe", { id: "msg_1" }, {});
    expect(textOf(shown)).toContain("the harbor code is 7391");
    const missing = await runForPerson(options, "lcm_describe", { id: "msg_99" }, {});
    expect(errorOf(missing)).toContain("There is no msg_99");
  });

  it("is told when nothing is stored yet, and no database is made", async () => {
    const { world } = await storedWorld();
    const databasePath = join(temporaryDirectory(), "none.db");
    const options = { config: () => ({ ...world.lcm.config, databasePath }), search: world.search };
    const result = await runForPerson(options, "lcm_grep", { pattern: "a" }, {});
    expect(errorOf(result)).toContain("made by the first turn");
    expect(existsSync(databasePath)).toBe(false);
  });

  it("is told when the file is an earlier release's or no database, and it is left alone", async () => {
    const { world } = await storedWorld();
    const old = join(temporaryDirectory(), "lcm.db");
    createRelease01(old, "session-1", []);
    const foreign = join(temporaryDirectory(), "notes.db");
    writeFileSync(foreign, "these are my notes, not a database at all");
    const ask = (databasePath: string) =>
      runForPerson(
        { config: () => ({ ...world.lcm.config, databasePath }), search: world.search },
        "lcm_describe",
        { id: "msg_1" },
        {},
      );
    expect(errorOf(await ask(old))).toContain("takes it over");
    expect(errorOf(await ask(foreign))).toContain("can not be read");
  });
});
