// Two turns through the real OpenClaw with the plugin in its context-engine slot, and what was stored.
// The model is a scripted server on loopback: no key, no network. `--keep` leaves the directory.

import { rmSync } from "node:fs";
import { join } from "node:path";
import "../scripts/build.mjs";
import { openLcm } from "../src/lcm.js";
import { sessionRef } from "../src/session-policy.js";
import { VERSION } from "../src/version.js";
import { startModelServer } from "../test/host/harness/model-server.js";
import { createHost, type OpenClawHost } from "../test/host/harness/openclaw-host.js";
import { stagePlugin } from "../test/host/harness/stage-plugin.js";

const SESSION = "agent:main:demo";
const TURNS = ["Remember that our launch code is TANGERINE-42.", "What does `date -u` say?"];

const keep = process.argv.includes("--keep");

async function main(): Promise<void> {
  const model = await startModelServer();
  model.setScript((request) => {
    if (!request.lastUserText.includes("date -u")) return { text: "Noted: TANGERINE-42." };
    if (request.toolResultsSinceUser > 0) return { text: "That is the time in UTC." };
    return { toolCalls: [{ name: "exec", arguments: { command: "date -u" } }] };
  });
  const plugin = stagePlugin();
  const host = await createHost({ modelServer: model, pluginPath: plugin });
  try {
    await play(host);
  } finally {
    await (keep ? host.stopGateway() : host.dispose());
    await model.close();
    rmSync(plugin, { recursive: true, force: true });
  }
  if (keep) say(`\nKept: ${host.paths.root}\nDatabase: ${join(host.stateDir, "lcm.db")}`);
}

async function play(host: OpenClawHost): Promise<void> {
  say(`Starting OpenClaw with lossless-claw ${VERSION} in its context-engine slot …`);
  const started = performance.now();
  await host.startGateway();
  say(`  ready after ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  for (const text of TURNS) {
    say(`you    ${text}`);
    say(`agent  ${await host.turn(SESSION, text)}\n`);
  }
  say("What the database holds, exactly as OpenClaw wrote it:");
  for (const line of storedLines(join(host.stateDir, "lcm.db"))) say(`  ${line}`);
  say("\n$ openclaw lcm status --session agent:main:demo");
  const status = await host.cli(["lcm", "status", "--session", SESSION]);
  say(status.stdout.trim().replace(/^/gm, "  "));
}

function storedLines(databasePath: string): string[] {
  const lcm = openLcm({ databasePath });
  try {
    const session = sessionRef({ sessionKey: SESSION });
    const conversation = session && lcm.stores.conversations.find(session);
    const segment =
      conversation?.sessionId &&
      lcm.stores.conversations.segment(conversation.id, conversation.sessionId);
    if (!segment) return ["nothing"];
    return lcm.stores.messages
      .branch(segment.id)
      .map(({ role, message }) => `${role.padEnd(11)}${JSON.stringify(message["content"])}`);
  } finally {
    lcm.close();
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

await main();
