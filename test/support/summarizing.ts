// A process of its own that summarizes what is due, with a model that never answers: it says when the
// model was asked, and waits to be killed. Argument: the database.

import { writeSync } from "node:fs";
import { openLcm } from "../../src/lcm.js";

const lcm = openLcm({
  databasePath: process.argv[2] as string,
  summarize: () => {
    writeSync(1, "asked\n");
    return new Promise(() => undefined);
  },
});
// A parent that is gone can not end this process.
process.stdin.on("end", () => process.exit(2));
process.stdin.resume();
await lcm.worker.drain();
