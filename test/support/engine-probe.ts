// A process of its own that runs one turn on an engine and prints what came of it as JSON.
// Argument: the database path.

import { resolveConfig } from "../../src/db/config.js";
import { createSelfOpeningEngine } from "../../src/lcm.js";
import { FakeHost } from "./fake-host.js";
import { userMessage } from "./messages.js";
import { recordingLog } from "./recording-log.js";

const KEY = "agent:main:web1";
const databasePath = process.argv[2] as string;
const { config } = resolveConfig({ env: {}, stateDir: process.cwd(), homeDir: "/" });
const host = new FakeHost();
const log = recordingLog();
const engine = createSelfOpeningEngine({
  config: { ...config, databasePath },
  source: host,
  log,
  now: host.now,
});
const call = host.turn(KEY, [userMessage("hello", host.tick())]);
const { bootstrapped } = await engine.bootstrap(host.ref(KEY));
const { messages } = await engine.assemble({ ...host.ref(KEY), messages: call.messages });
const commit = await engine.commitTurn(call).catch(({ name, code, message }) => ({
  name,
  code,
  message,
}));
await engine.dispose();
const passedThrough = messages === call.messages;
process.stdout.write(JSON.stringify({ bootstrapped, passedThrough, commit, errors: log.errors }));
