// A process of its own that commits turns: opens the database when told to, and says on stdout which
// turns were acknowledged. Arguments: the database, a file with the turns as JSON.

import { readFileSync, writeSync } from "node:fs";
import { once } from "node:events";
import type { CommitTurnCall } from "../../src/host-calls.js";
import { openLcm } from "../../src/lcm.js";

const [databasePath, turnsFile] = process.argv.slice(2) as [string, string];
const turns = JSON.parse(readFileSync(turnsFile, "utf8")) as CommitTurnCall[];
// Synchronous: what was said before a kill has been said.
const say = (line: string) => writeSync(1, `${line}\n`);

say("ready");
await once(process.stdin, "data");
// A parent that is gone can not end this process.
process.stdin.on("end", () => process.exit(2));
const lcm = openLcm({ databasePath });
for (const turn of turns) {
  const { status } = await lcm.createEngine().commitTurn(turn);
  say(`${status} ${turn.advancementKey}`);
}
lcm.close();
process.exit(0);
