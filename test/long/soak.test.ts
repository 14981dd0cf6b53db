// Hundreds of turns through the real host with everything that disturbs a transcript mixed in: after
// each disturbance the store equals the transcript, and nothing is stored twice.

import { afterAll, beforeAll, expect, test } from "vitest";
import { World } from "../host/support/world.js";

const TURNS = 300;
const KEY = "agent:main:soak";
const LATE_KEY = "agent:main:late-soak";

let world: World;

beforeAll(async () => {
  world = await World.create();
  await world.host.startGateway();
});

afterAll(() => world?.dispose());

async function setSlot(slot: string | undefined): Promise<void> {
  await world.host.patchConfig((config) => {
    const { slots } = config["plugins"] as { slots: Record<string, unknown> };
    if (slot === undefined) delete slots["contextEngine"];
    else slots["contextEngine"] = slot;
  });
}

async function rewind(): Promise<void> {
  const users = world.transcript(KEY).filter((row) => row.message["role"] === "user");
  const entryId = users.at(-3)?.entryId;
  await world.host.rpc("sessions.rewind", { sessionKey: KEY, entryId });
}

async function crash(): Promise<void> {
  await world.host.killGateway();
  await world.host.startGateway();
}

const disturbances: readonly (() => Promise<unknown>)[] = [
  () => world.steeredTurn(KEY, `start ${Date.now()}`, `change ${Date.now()}`),
  rewind,
  () => world.host.rpc("chat.inject", { sessionKey: KEY, message: `note ${Date.now()}` }),
  () => world.chat(KEY, "/lcm", "Lossless memory is active"),
  crash,
  () => world.host.rpc("sessions.reset", { key: KEY, reason: "new" }),
];

test(`${TURNS} turns with tool calls and a disturbance after every fifth`, async () => {
  for (let turn = 0; turn < TURNS; turn += 1) {
    await world.turn(KEY, `CALL:exec:{"command":"echo turn-${turn}"}`);
    await world.expectReceiptAtHead(KEY);
    if (turn % 5 !== 4) continue;
    await disturbances[Math.floor(turn / 5) % disturbances.length]?.();
    await world.turn(KEY, `after the disturbance of turn ${turn}`);
    await world.expectStored(KEY);
  }
  expect(world.memory.events(KEY)["legacy"]).toBeUndefined();
  expect(world.engineLog().degraded).toBe(0);
});

test("a session of 400 messages from before the plugin is imported with its next turn", async () => {
  await setSlot(undefined);
  for (let turn = 0; turn < 200; turn += 1) await world.turn(LATE_KEY, `early ${turn}`);
  const started = performance.now();
  await world.turn(LATE_KEY, "the last without");
  const without = performance.now() - started;
  await setSlot("lossless-claw");
  await world.turn("agent:main:warm", "load the plugin");
  const again = performance.now();
  await world.turn(LATE_KEY, "the first with");
  const withImport = performance.now() - again;
  await world.expectStored(LATE_KEY);
  console.log(
    `a turn took ${Math.round(without)} ms without the plugin and ${Math.round(withImport)} ms with the import`,
  );
});
