// One gateway with the plugin loaded from this checkout, and everything that needs no crash.

import { afterAll, beforeAll } from "vitest";
import { branches } from "./cases/branches.js";
import { idleResets } from "./cases/idle-resets.js";
import { lifecycle } from "./cases/lifecycle.js";
import { recall } from "./cases/recall.js";
import { sessions } from "./cases/sessions.js";
import { firstContact, turns } from "./cases/turns.js";
import { World } from "./support/world.js";

let shared: World | undefined;

function world(): World {
  if (!shared) throw new Error("the host is not running");
  return shared;
}

beforeAll(async () => {
  shared = await World.create();
  await shared.host.startGateway();
}, 240_000);

afterAll(() => shared?.dispose(), 60_000);

const idle = idleResets(world);

firstContact(world);
idle.begin();
turns(world);
branches(world);
sessions(world);
recall(world);
lifecycle(world);
idle.end();
