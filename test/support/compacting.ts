// A process of its own that answers the host's demand for space once, at an agreed moment, and says what
// it answered. Arguments: the database, the conversation's session, its configuration, both as JSON.

import { writeSync } from "node:fs";
import { once } from "node:events";
import { openLcm } from "../../src/lcm.js";

const [databasePath, session, config] = process.argv.slice(2) as [string, string, string];
const lcm = openLcm({ databasePath, config: JSON.parse(config) });
const engine = lcm.createEngine();
writeSync(1, "ready\n");
const [moment] = (await once(process.stdin, "data")) as [Buffer];
// A parent that is gone can not end this process.
process.stdin.on("end", () => process.exit(2));
while (Date.now() < Number(moment));
const answer = await engine.compact({
  ...JSON.parse(session),
  tokenBudget: 32_000,
  runtimeContext: { trigger: "budget" },
});
writeSync(1, `${JSON.stringify(answer)}\n`);
lcm.close();
process.exit(0);
