// Every setting changes something a user can see. Each row sets one variable as an operator would and
// looks at a public surface, with and without it.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { renderReport } from "../src/cli/render-report.js";
import { makeReport } from "../src/cli/report.js";
import { type LcmConfig, resolveConfig, type ResolvedConfig } from "../src/db/config.js";
import { configKeys } from "../src/db/config/keys.js";
import type { ToolResult } from "../src/tools/common.js";
import type { ModelRequest } from "../src/types.js";
import { Chat } from "./support/chat.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, heartbeatPrompt, toolLoop, userMessage } from "./support/messages.js";
import { registerPlugin } from "./support/plugin-host.js";
import { ScriptedSearch } from "./support/scripted-search.js";
import { obedient, targetOf } from "./support/summarizers.js";
import { countMessages, openWithHost, temporaryDirectory } from "./support/workspace.js";

const KEY = "agent:main:web1";

/** Settings of parts that are not built yet; a row moves up when its part lands. */
const WAITING: readonly (keyof LcmConfig)[] = ["largeFileTokenThreshold", "largeFilesDir"];

interface World {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly host: FakeHost;
  readonly resolved: ResolvedConfig;
}

interface Effect {
  readonly key: keyof LcmConfig;
  readonly env: Readonly<Record<string, string>>;
  /** Set in both worlds, where the key needs another to be seen. */
  readonly base?: Readonly<Record<string, string>>;
  see(world: World): Promise<unknown>;
  readonly without: unknown;
  readonly with: unknown;
}

const effects: readonly Effect[] = [
  {
    key: "enabled",
    env: { LCM_ENABLED: "false" },
    see: storeThroughPlugin,
    without: { refusal: undefined, stored: 2 },
    with: {
      refusal: "lossless-claw is turned off by its configuration (enabled, LCM_ENABLED)",
      stored: 0,
    },
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
    see: storedAndSaid,
    without: [4, "is active"],
    with: [0, "does not store"],
  },
  {
    key: "statelessSessionPatterns",
    env: { LCM_STATELESS_SESSION_PATTERNS: "agent:main:*" },
    see: storedAndSaid,
    without: [4, "is active"],
    with: [0, "adds nothing"],
  },
  {
    key: "contextThreshold",
    env: { LCM_CONTEXT_THRESHOLD: "0.4" },
    see: async (world) => (await talk(world, 22)).shownSummaries().length,
    without: 0,
    with: 2,
  },
  {
    key: "freshTailCount",
    env: { LCM_FRESH_TAIL_COUNT: "8" },
    see: async (world) => rawMessages(await compacted(world, 24)),
    without: 32,
    with: 8,
  },
  {
    key: "leafMinFanout",
    env: { LCM_LEAF_MIN_FANOUT: "2" },
    // Behind a full chunk a few messages are left, which wait for more or do not.
    base: { LCM_CONTEXT_THRESHOLD: "0.2", LCM_FRESH_TAIL_COUNT: "4" },
    see: async (world) => messagesPerLeaf(await talk(world, 30)).some((count) => count < 8),
    without: false,
    with: true,
  },
  {
    key: "condensedMinFanout",
    env: { LCM_CONDENSED_MIN_FANOUT: "2" },
    base: { LCM_INCREMENTAL_MAX_DEPTH: "1" },
    see: async (world) => depths(await talk(world, 30)),
    without: [0, 0],
    with: [0, 0, 1],
  },
  {
    key: "condensedMinFanoutHard",
    env: { LCM_CONDENSED_MIN_FANOUT_HARD: "5" },
    see: async (world) => depths(await compacted(world, 30)),
    without: [0, 0, 0, 1],
    with: [0, 0, 0],
  },
  {
    key: "incrementalMaxDepth",
    env: { LCM_INCREMENTAL_MAX_DEPTH: "1" },
    base: { LCM_CONDENSED_MIN_FANOUT: "2" },
    see: async (world) => depths(await talk(world, 30)),
    without: [0, 0],
    with: [0, 0, 1],
  },
  {
    key: "leafChunkTokens",
    env: { LCM_LEAF_CHUNK_TOKENS: "1000" },
    see: async (world) => Math.max(...messagesPerLeaf(await talk(world, 22))) > 10,
    without: true,
    with: false,
  },
  {
    key: "leafTargetTokens",
    env: { LCM_LEAF_TARGET_TOKENS: "300" },
    see: async (world) => targets(await compacted(world, 20))[0],
    // A sixteenth of the budget is less than what is configured.
    without: 1_115,
    with: 300,
  },
  {
    key: "condensedTargetTokens",
    env: { LCM_CONDENSED_TARGET_TOKENS: "150" },
    see: async (world) => targets(await compacted(world, 30)).at(-1) === 150,
    without: false,
    with: true,
  },
  {
    key: "summaryModel",
    env: { LCM_SUMMARY_MODEL: "acme/small" },
    see: async (world) => (await compacted(world, 20)).requests[0]?.model,
    without: "",
    with: "acme/small",
  },
  {
    key: "summaryProvider",
    env: { LCM_SUMMARY_PROVIDER: "acme" },
    base: { LCM_SUMMARY_MODEL: "small" },
    see: async (world) => (await compacted(world, 20)).requests[0]?.model,
    without: "small",
    with: "acme/small",
  },
  {
    key: "summaryFormat",
    env: { LCM_SUMMARY_FORMAT: "compact" },
    see: async (world) => {
      const { messages } = await (await compacted(world, 20)).look();
      return /^<summary id="\S+" (\w+)=/.exec(String(messages[0]?.["content"]))?.[1];
    },
    without: "kind",
    with: "range",
  },
  {
    key: "customInstructions",
    env: { LCM_CUSTOM_INSTRUCTIONS: "Keep every name." },
    see: async (world) =>
      /<operator_instructions>\n(.*)\n/.exec((await compacted(world, 20)).requests[0]!.prompt)?.[1],
    without: undefined,
    with: "Keep every name.",
  },
  {
    key: "promptDir",
    env: { LCM_PROMPT_DIR: "prompts" },
    see: async (world) => {
      mkdirSync(join(world.directory, "prompts"));
      writeFileSync(
        join(world.directory, "prompts", "leaf.md"),
        "Mine, about {{targetTokens}} tokens. Expand for details about: {{source}}",
      );
      return (await compacted(world, 20)).requests[0]?.prompt.slice(0, 5);
    },
    without: "You w",
    with: "Mine,",
  },
  {
    key: "summaryTokensPerDay",
    env: { LCM_SUMMARY_TOKENS_PER_DAY: "1000" },
    see: async (world) => levels(await compacted(world, 30)),
    without: ["normal"],
    with: ["deterministic", "normal"],
  },
  {
    key: "summaryCostPerDay",
    env: { LCM_SUMMARY_COST_PER_DAY: "0.01" },
    see: async (world) => levels(await compacted(world, 30)),
    without: ["normal"],
    with: ["deterministic", "normal"],
  },
  {
    key: "promptCacheMinutes",
    env: { LCM_PROMPT_CACHE_MINUTES: "0" },
    see: async (world) => (await talk(world, 19)).shownSummaries().length,
    without: 0,
    with: 1,
  },
  {
    key: "recallScope",
    env: { LCM_RECALL_SCOPE: "conversation" },
    see: async (world) => {
      await storeTurn(world, KEY);
      const { details } = await grepFrom(world, "agent:main:web2", { allConversations: true });
      return Object.keys(details as object)[0];
    },
    without: "matches",
    with: "error",
  },
  {
    key: "maxExpandTokens",
    env: { LCM_MAX_EXPAND_TOKENS: "500" },
    see: async (world) => {
      const chat = await compacted(world, 20);
      const summaryIds = chat.shownSummaries();
      const tools = chat.lcm.tools({ kind: "session", session: chat.host.ref(chat.key) });
      const ask = tools.find(({ name }) => name === "lcm_expand_query");
      const result = await ask?.execute("call", { prompt: "What was said?", summaryIds });
      const details = result?.details as { totalSourceTokens: number } | undefined;
      return (details?.totalSourceTokens ?? 0) > 500;
    },
    without: true,
    with: false,
  },
  {
    key: "autocompactDisabled",
    env: { LCM_AUTOCOMPACT_DISABLED: "true" },
    see: async (world) => (await talk(world, 30)).requests.length,
    without: 2,
    with: 0,
  },
];

test("every setting has a row or waits for its part", () => {
  const known = [...effects.map(({ key }) => key), ...WAITING];
  expect(known.toSorted()).toEqual(configKeys.map(([key]) => key).toSorted());
});

describe.each(effects)("$key", ({ env, base = {}, see, ...seen }) => {
  test("has its effect, and only when it is set", async () => {
    expect(await see(createWorld(base))).toEqual(seen.without);
    expect(await see(createWorld({ ...base, ...env }))).toEqual(seen.with);
  });
});

test.each([
  ["a name that begins with it", "acme/small", "acme/small"],
  ["a name of another's model, which it serves", "other/small", "acme/other/small"],
])("the provider of the summary model is put before its name once: %s", async (_, model, asked) => {
  const world = createWorld({ LCM_SUMMARY_PROVIDER: "acme", LCM_SUMMARY_MODEL: model });
  expect((await compacted(world, 20)).requests[0]?.model).toBe(asked);
});

test("a provider without a model is named in the report", async () => {
  const world = createWorld({ LCM_SUMMARY_PROVIDER: "acme" });
  expect(await report(world)).toMatch(/^Configuration: summaryProvider .* is 'acme' but /m);
  expect((await compacted(world, 20)).requests[0]?.model).toBe("");
});

function createWorld(env: Record<string, string>): World {
  const directory = temporaryDirectory();
  const resolved = resolveConfig({ env, stateDir: directory, homeDir: directory });
  return { directory, env, host: new FakeHost(), resolved };
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

async function storedAndSaid(world: World): Promise<unknown[]> {
  const stored = await storeTurn(world, KEY);
  const said = /^Lossless memory (is active|does not store|adds nothing)/;
  return [stored, said.exec(await report(world))?.[1]];
}

/** A turn through the plugin as a host registers it. */
async function storeThroughPlugin(world: World): Promise<{ refusal?: unknown; stored: number }> {
  const { directory, env, host, resolved } = world;
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const messages = [userMessage("hello", host.tick()), assistantMessage("hi", host.tick())];
  let refusal: unknown;
  try {
    const engine = await registerPlugin(directory)();
    await engine.commitTurn?.(host.turn(KEY, messages) as never);
    await engine.dispose?.();
  } catch (error) {
    refusal = (error as Error).message;
  }
  const isMade = existsSync(resolved.config.databasePath);
  return { refusal, stored: isMade ? countMessages(open(world)) : 0 };
}

async function grepFrom(world: World, key: string, params: object): Promise<ToolResult> {
  const { host, resolved } = world;
  const search = new ScriptedSearch(() => lcm.stores);
  const { databasePath } = resolved.config;
  const lcm = openWithHost(host, { databasePath, config: resolved.config, search });
  const [grep] = lcm.tools({ kind: "session", session: host.ref(key) });
  return grep!.execute("call", { pattern: "hello", ...params });
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

interface SummarizedChat extends Chat {
  readonly requests: readonly ModelRequest[];
}

/** Turns with their background work, under a model that costs a cent a call. */
async function talk({ resolved: { config } }: World, turns: number): Promise<SummarizedChat> {
  const model = obedient();
  const chat = new Chat({
    config,
    summarize: async (request) => ({ text: String(await model(request)), costUsd: 0.01 }),
    open: { databasePath: config.databasePath },
  });
  await chat.turns(turns);
  return Object.assign(chat, { requests: model.requests });
}

async function compacted(world: World, turns: number): Promise<SummarizedChat> {
  const { config } = world.resolved;
  const chat = await talk(
    { ...world, resolved: { problems: [], config: { ...config, autocompactDisabled: true } } },
    turns,
  );
  const runtimeContext = { trigger: "manual" };
  await chat.lcm.createEngine().compact({ ...chat.host.ref(chat.key), runtimeContext });
  return chat;
}

function column<T>(chat: Chat, sql: string): T[] {
  return chat.stores.db.all<{ value: T }>(sql).map(({ value }) => value);
}

function rawMessages(chat: Chat): number {
  return column(chat, "SELECT 1 AS value FROM context_items WHERE item_type = 'message'").length;
}

function messagesPerLeaf(chat: Chat): number[] {
  return column(
    chat,
    "SELECT message_count AS value FROM summaries WHERE depth = 0 ORDER BY rowid",
  );
}

function depths(chat: Chat): number[] {
  return column(chat, "SELECT depth AS value FROM summaries ORDER BY depth");
}

function levels(chat: Chat): string[] {
  return column(chat, "SELECT DISTINCT level AS value FROM summaries ORDER BY 1");
}

function targets(chat: SummarizedChat): number[] {
  return chat.requests.map(targetOf);
}
