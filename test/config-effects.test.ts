// Every setting changes something a user can see. Each row sets one variable as an operator would and
// looks at a public surface, with and without it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { renderReport } from "../src/cli/render-report.js";
import { makeReport } from "../src/cli/report.js";
import { type LcmConfig, resolveConfig, type ResolvedConfig } from "../src/db/config.js";
import { configKeys } from "../src/db/config/keys.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, heartbeatPrompt, toolLoop, userMessage } from "./support/messages.js";
import { countMessages, openWithHost, temporaryDirectory } from "./support/workspace.js";

const KEY = "agent:main:web1";

/** Settings of parts that are not built yet; a row moves up when its part lands. */
const WAITING: readonly (keyof LcmConfig)[] = [
  "contextThreshold",
  "freshTailCount",
  "leafMinFanout",
  "condensedMinFanout",
  "condensedMinFanoutHard",
  "incrementalMaxDepth",
  "leafChunkTokens",
  "leafTargetTokens",
  "condensedTargetTokens",
  "maxExpandTokens",
  "largeFileTokenThreshold",
  "largeFilesDir",
  "summaryModel",
  "summaryProvider",
  "autocompactDisabled",
];

interface World {
  readonly directory: string;
  readonly host: FakeHost;
  readonly resolved: ResolvedConfig;
}

interface Effect {
  readonly key: keyof LcmConfig;
  readonly env: Readonly<Record<string, string>>;
  see(world: World): Promise<unknown>;
  readonly without: unknown;
  readonly with: unknown;
}

const effects: readonly Effect[] = [
  {
    key: "enabled",
    env: { LCM_ENABLED: "false" },
    see: async (world) => (await report(world)).split(":")[0],
    without: "Lossless memory is active; no turn has run through it yet.\nDatabase",
    with: "Lossless memory is turned off",
  },
  {
    key: "databasePath",
    env: { LCM_DATABASE_PATH: "elsewhere/my.db" },
    see: async (world) => {
      await storeTurn(world, KEY);
      return ["lcm.db", "elsewhere/my.db"].filter((name) =>
        existsSync(join(world.directory, name)),
      );
    },
    without: ["lcm.db"],
    with: ["elsewhere/my.db"],
  },
  {
    key: "timezone",
    env: { TZ: "Asia/Kolkata" },
    see: async (world) => {
      await storeTurn(world, KEY);
      return /since (.*?)\./.exec(await report(world))?.[1];
    },
    without: "2026-11-18 08:00 UTC",
    with: "2026-11-18 13:30 GMT+5:30",
  },
  {
    key: "pruneHeartbeatOk",
    env: { LCM_PRUNE_HEARTBEAT_OK: "true" },
    see: async (world) => [
      await storeHeartbeat(world, "HEARTBEAT_OK"),
      await storeHeartbeat(world, "the build is red"),
    ],
    without: [2, 4],
    with: [0, 2],
  },
  {
    key: "skipHeartbeats",
    env: { LCM_SKIP_HEARTBEATS: "true" },
    see: (world) => storeHeartbeat(world, "the build is red"),
    without: 2,
    with: 0,
  },
  {
    key: "ignoreSessionPatterns",
    env: { LCM_IGNORE_SESSION_PATTERNS: "agent:*:web1" },
    see: (world) => storeTurn(world, KEY),
    without: 4,
    with: 0,
  },
  {
    key: "statelessSessionPatterns",
    env: { LCM_STATELESS_SESSION_PATTERNS: "agent:main:*" },
    see: (world) => storeTurn(world, KEY),
    without: 4,
    with: 0,
  },
];

test("every setting has a row or waits for its part", () => {
  const known = [...effects.map(({ key }) => key), ...WAITING];
  expect(known.toSorted()).toEqual(configKeys.map(([key]) => key).toSorted());
});

describe.each(effects)("$key", ({ env, see, ...seen }) => {
  test("has its effect, and only when it is set", async () => {
    expect(await see(createWorld({}))).toEqual(seen.without);
    expect(await see(createWorld(env))).toEqual(seen.with);
  });
});

function createWorld(env: Record<string, string>): World {
  const directory = temporaryDirectory();
  const resolved = resolveConfig({ env, stateDir: directory, homeDir: directory });
  return { directory, host: new FakeHost(), resolved };
}

function open({ host, resolved: { config } }: World) {
  return openWithHost(host, { databasePath: config.databasePath, config });
}

async function storeTurn(world: World, key: string): Promise<number> {
  const { host } = world;
  const at = host.tick();
  const messages = [
    userMessage("hello", at),
    ...toolLoop("call", "output", at),
    assistantMessage("done", at),
  ];
  const lcm = open(world);
  await lcm.createEngine().commitTurn(host.turn(key, messages));
  return countMessages(lcm);
}

async function storeHeartbeat(world: World, reply: string): Promise<number> {
  const { host } = world;
  const messages = [heartbeatPrompt(host.tick()), assistantMessage(reply, host.tick())];
  const lcm = open(world);
  await lcm.createEngine().commitTurn(host.turn(KEY, messages, { isHeartbeat: true }));
  return countMessages(lcm);
}

async function report({ host, resolved }: World): Promise<string> {
  const facts = { slot: "lossless-claw", transcript: host };
  return renderReport(await makeReport(facts, resolved, host.ref(KEY)));
}
