// A process of its own that prints the report on a database as JSON. Argument: the database.

import { dirname } from "node:path";
import { makeReport } from "../../src/cli/report.js";
import { resolveConfig } from "../../src/db/config.js";
import { FakeHost } from "./fake-host.js";

const databasePath = process.argv[2] as string;
const stateDir = dirname(databasePath);
const resolved = resolveConfig({ env: {}, pluginConfig: { databasePath }, stateDir, homeDir: "/" });
const facts = { slot: "lossless-claw", transcript: new FakeHost() };
process.stdout.write(JSON.stringify(await makeReport(facts, resolved)));
