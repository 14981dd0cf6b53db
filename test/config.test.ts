// The configuration as users meet it: where a value comes from, what is refused and in which words,
// and that the manifest and the documentation say what the code does.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { driftedFiles } from "../scripts/manifest.js";
import { type LcmConfig, resolveConfig, sessionPatternToRegExp } from "../src/db/config.js";

const directories = { stateDir: "/state", homeDir: "/home/me" };

function resolve(env: Record<string, string | undefined> = {}, pluginConfig: unknown = {}) {
  return resolveConfig({ env, pluginConfig, ...directories });
}

interface Row<K extends keyof LcmConfig = keyof LcmConfig> {
  readonly key: K;
  readonly env: string;
  readonly fallback: LcmConfig[K];
  /** Text as it stands in the environment, and the value it means. */
  readonly text: readonly [string, LcmConfig[K]];
  readonly json: LcmConfig[K];
  readonly badText: readonly string[];
  readonly badJson: readonly unknown[];
  readonly allowed: string;
  /** What the plugin config must hold too for the key to be of use. */
  readonly beside?: Partial<LcmConfig>;
}

const flag = (key: keyof LcmConfig, env: string, fallback: boolean): Row => ({
  key,
  env,
  fallback,
  text: [String(!fallback), !fallback],
  json: !fallback,
  badText: ["maybe", "2", "on"],
  badJson: ["maybe", 1, [], {}],
  allowed: "true or false",
});

const count = (key: keyof LcmConfig, env: string, fallback: number, minimum: number): Row => ({
  key,
  env,
  fallback,
  text: [String(minimum), minimum],
  json: fallback + 1,
  badText: [String(minimum - 1), "20k", "1e3", "0x10", "20_000", "1.5", "NaN", "9".repeat(400)],
  badJson: [minimum - 1, 2.5, true, [3], {}, "many"],
  allowed: `a whole number, at least ${minimum}`,
});

const path = (key: keyof LcmConfig, env: string, fallback: string): Row => ({
  key,
  env,
  fallback,
  text: ["/else/where", "/else/where"],
  json: "/json/path",
  badText: ["~other/file", "/a\0b"],
  badJson: [1, true, [], {}],
  allowed: "a path",
});

const optionalPath = (key: keyof LcmConfig, env: string): Row => ({
  ...path(key, env, ""),
  fallback: "",
});

const text = (key: keyof LcmConfig, env: string): Row => ({
  key,
  env,
  fallback: "",
  text: ["acme/one", "acme/one"],
  json: "acme/two",
  badText: [],
  badJson: [1, false, [], {}],
  allowed: "text",
});

const list = (key: keyof LcmConfig, env: string): Row => ({
  key,
  env,
  fallback: [],
  text: [" agent:*:cron:** ,,a ", ["agent:*:cron:**", "a"]],
  json: ["agent:main:*"],
  badText: [],
  badJson: [1, true, [1], {}],
  allowed: "a list of session key patterns",
});

const rows: readonly Row[] = [
  flag("enabled", "LCM_ENABLED", true),
  path("databasePath", "LCM_DATABASE_PATH", "/state/lcm.db"),
  {
    key: "contextThreshold",
    env: "LCM_CONTEXT_THRESHOLD",
    fallback: 0.75,
    text: ["0.5", 0.5],
    json: 1,
    badText: ["0", "1.01", "-0.5", "75%", "Infinity"],
    badJson: [0, 2, true, []],
    allowed: "a number, above 0 and at most 1",
  },
  count("freshTailCount", "LCM_FRESH_TAIL_COUNT", 32, 1),
  count("leafMinFanout", "LCM_LEAF_MIN_FANOUT", 8, 1),
  count("condensedMinFanout", "LCM_CONDENSED_MIN_FANOUT", 4, 2),
  count("condensedMinFanoutHard", "LCM_CONDENSED_MIN_FANOUT_HARD", 2, 2),
  count("incrementalMaxDepth", "LCM_INCREMENTAL_MAX_DEPTH", 0, 0),
  count("leafChunkTokens", "LCM_LEAF_CHUNK_TOKENS", 20_000, 100),
  count("leafTargetTokens", "LCM_LEAF_TARGET_TOKENS", 1_200, 1),
  count("condensedTargetTokens", "LCM_CONDENSED_TARGET_TOKENS", 2_000, 1),
  count("maxExpandTokens", "LCM_MAX_EXPAND_TOKENS", 4_000, 1),
  count("largeFileTokenThreshold", "LCM_LARGE_FILE_TOKEN_THRESHOLD", 25_000, 1),
  path("largeFilesDir", "LCM_LARGE_FILES_DIR", "/state/lcm-files"),
  text("summaryModel", "LCM_SUMMARY_MODEL"),
  { ...text("summaryProvider", "LCM_SUMMARY_PROVIDER"), beside: { summaryModel: "small" } },
  {
    key: "summaryFormat",
    env: "LCM_SUMMARY_FORMAT",
    fallback: "full",
    text: ["compact", "compact"],
    json: "compact",
    badText: ["short", "Full"],
    badJson: [1, true, [], "xml"],
    allowed: "full or compact",
  },
  text("customInstructions", "LCM_CUSTOM_INSTRUCTIONS"),
  optionalPath("promptDir", "LCM_PROMPT_DIR"),
  count("summaryTokensPerDay", "LCM_SUMMARY_TOKENS_PER_DAY", 5_000_000, 0),
  {
    key: "summaryCostPerDay",
    env: "LCM_SUMMARY_COST_PER_DAY",
    fallback: 5,
    text: ["0.5", 0.5],
    json: 12.5,
    badText: ["-1", "5$", "1e3"],
    badJson: [-0.1, true, [], {}],
    allowed: "a number, at least 0",
  },
  count("promptCacheMinutes", "LCM_PROMPT_CACHE_MINUTES", 5, 0),
  flag("autocompactDisabled", "LCM_AUTOCOMPACT_DISABLED", false),
  {
    key: "timezone",
    env: "TZ",
    fallback: "UTC",
    text: ["Europe/Berlin", "Europe/Berlin"],
    json: "America/Los_Angeles",
    badText: ["Mars/Olympus", "+02:00", ":/etc/localtime"],
    badJson: ["Mars/Olympus", 2, true, []],
    allowed: "an IANA time zone",
  },
  flag("pruneHeartbeatOk", "LCM_PRUNE_HEARTBEAT_OK", false),
  flag("skipHeartbeats", "LCM_SKIP_HEARTBEATS", false),
  {
    key: "recallScope",
    env: "LCM_RECALL_SCOPE",
    fallback: "agent",
    text: ["all", "all"],
    json: "conversation",
    badText: ["agents", "All"],
    badJson: [1, true, [], "none"],
    allowed: "conversation or agent or all",
  },
  list("ignoreSessionPatterns", "LCM_IGNORE_SESSION_PATTERNS"),
  list("statelessSessionPatterns", "LCM_STATELESS_SESSION_PATTERNS"),
];

test("the table covers every key and an empty configuration has nothing wrong", () => {
  const { config, problems } = resolve();
  expect(problems).toEqual([]);
  expect(Object.keys(config).toSorted()).toEqual(rows.map(({ key }) => key).toSorted());
});

describe.each(rows)(
  "$key",
  ({ key, env, fallback, text: [written, meant], json, beside, ...bad }) => {
    test("has its default", () => {
      expect(resolve().config[key]).toEqual(fallback);
    });

    test("comes from the plugin config, and the environment goes before it", () => {
      expect(resolve({}, { ...beside, [key]: json })).toMatchObject({
        config: { [key]: json },
        problems: [],
      });
      expect(resolve({ [env]: written }, { ...beside, [key]: json })).toMatchObject({
        config: { [key]: meant },
        problems: [],
      });
    });

    test.each(["", "  ", undefined])("treats the variable %j as unset", (blank) => {
      expect(resolve({ [env]: blank }, { ...beside, [key]: json })).toMatchObject({
        config: { [key]: json },
        problems: [],
      });
    });

    test.each([null, ""])("treats %j in the plugin config as unset", (blank) => {
      const { config, problems } = resolve({}, { [key]: blank });
      expect([config[key], problems]).toEqual([fallback, []]);
    });

    test("refuses bad text with a sentence and uses the plugin config", () => {
      for (const value of bad.badText) {
        const { config, problems } = resolve({ [env]: value }, { [key]: json });
        expect(config[key], value).toEqual(json);
        expect(problems, value).toHaveLength(1);
        for (const part of [key, env, bad.allowed, value.slice(0, 3).replace("\0", "\\x00")]) {
          expect(problems[0]).toContain(part);
        }
      }
    });

    test("refuses bad JSON with a sentence and uses the default", () => {
      for (const value of bad.badJson) {
        if (Array.isArray(value) && value.length === 0 && Array.isArray(fallback)) continue;
        const { config, problems } = resolve({}, { [key]: value });
        expect(config[key], JSON.stringify(value)).toEqual(fallback);
        expect(problems, JSON.stringify(value)).toHaveLength(1);
        expect(problems[0]).toContain(`${key} is `);
        expect(problems[0]).toContain(bad.allowed);
      }
    });
  },
);

test.each([
  ["true", true],
  ["TRUE", true],
  ["1", true],
  ["Yes", true],
  ["false", false],
  ["0", false],
  ["NO", false],
])("reads %j as the boolean %j", (written, meant) => {
  expect(resolve({ LCM_ENABLED: written, LCM_SKIP_HEARTBEATS: written })).toMatchObject({
    config: { enabled: meant, skipHeartbeats: meant },
    problems: [],
  });
});

test("takes numbers, booleans and lists written as text in the plugin config too", () => {
  const written = { freshTailCount: "40", enabled: "no", ignoreSessionPatterns: "a:*, b:**" };
  expect(resolve({}, written)).toMatchObject({
    config: { freshTailCount: 40, enabled: false, ignoreSessionPatterns: ["a:*", "b:**"] },
    problems: [],
  });
});

test.each([
  ["~", "/home/me"],
  ["~/lcm/my.db", "/home/me/lcm/my.db"],
  ["my.db", "/state/my.db"],
  ["./a/../my.db", "/state/my.db"],
  ["/x/./y//my.db", "/x/y/my.db"],
])("the path %j is %j", (written, meant) => {
  expect(resolve({ LCM_DATABASE_PATH: written }).config.databasePath).toBe(meant);
  expect(resolve({}, { largeFilesDir: written }).config.largeFilesDir).toBe(meant);
});

test("with two bad layers both are reported and the default is used", () => {
  const { config, problems } = resolve({ LCM_FRESH_TAIL_COUNT: "20k" }, { freshTailCount: -1 });
  expect(config.freshTailCount).toBe(32);
  expect(problems).toEqual([
    "freshTailCount, set by LCM_FRESH_TAIL_COUNT, is '20k' but must be a whole number, at least 1; using 32 instead.",
    "freshTailCount is -1 but must be a whole number, at least 1; using 32 instead.",
  ]);
});

describe("the provider of the summary model", () => {
  test.each([
    ["a model without one", "small", "acme"],
    ["a model that names the same", "acme/small", "acme"],
    ["a model of another that it serves", "other/small", "acme"],
  ])("is taken beside %s", (_, summaryModel, summaryProvider) => {
    expect(resolve({}, { summaryModel, summaryProvider })).toMatchObject({
      config: { summaryModel, summaryProvider },
      problems: [],
    });
  });

  test("is named and ignored without a model, whatever layer it is from", () => {
    const problem =
      "summaryProvider (LCM_SUMMARY_PROVIDER) is 'acme' but no summaryModel (LCM_SUMMARY_MODEL) is set; the provider is ignored until one is.";
    const sources = [
      resolve({ LCM_SUMMARY_PROVIDER: "acme" }),
      resolve({}, { summaryProvider: "acme" }),
    ];
    for (const { config, problems } of sources) {
      expect(problems).toEqual([problem]);
      expect(config).toEqual(resolve().config);
    }
  });
});

describe("old names", () => {
  test.each([
    ["dbPath", "databasePath", "~/old.db", "/home/me/old.db"],
    ["largeFileThresholdTokens", "largeFileTokenThreshold", 5_000, 5_000],
  ])("%s still sets %s, with a warning", (oldName, key, value, meant) => {
    const { config, problems } = resolve({}, { [oldName]: value });
    expect(config).toMatchObject({ [key]: meant });
    expect(problems).toEqual([expect.stringMatching(`^${oldName} is an old name of ${key};`)]);
  });

  test("win over a default that the host filled in under the present name", () => {
    const filled = { largeFileThresholdTokens: 5_000, largeFileTokenThreshold: 25_000 };
    expect(resolve({}, filled).config.largeFileTokenThreshold).toBe(5_000);
  });

  test("lose to a present name that was set", () => {
    const { config, problems } = resolve({}, { dbPath: "/old.db", databasePath: "/new.db" });
    expect(config.databasePath).toBe("/new.db");
    expect(problems).toEqual([expect.stringContaining("dbPath is ignored")]);
  });

  test("a bad value under one is reported under that name", () => {
    const { config, problems } = resolve({}, { largeFileThresholdTokens: "big" });
    expect(config.largeFileTokenThreshold).toBe(25_000);
    expect(problems.join("\n")).toContain(
      "largeFileTokenThreshold, set by largeFileThresholdTokens, is 'big'",
    );
  });
});

describe("what is not a key", () => {
  test.each(["freshTail", "constructor", "__proto__", "toString"])(
    "%s is named and ignored",
    (key) => {
      const { config, problems } = resolve({}, JSON.parse(`{"${key}": {"enabled": false}}`));
      expect(config).toEqual(resolve().config);
      expect(problems).toEqual([expect.stringContaining(key)]);
    },
  );

  test("a misspelled and a retired variable are named; variables of others are not", () => {
    const { problems } = resolve({
      LCM_FRESH_TAIL: "3",
      LCM_LARGE_FILE_SUMMARY_MODEL: "x",
      PATH: "/bin",
      OPENCLAW_X: "1",
    });
    expect(problems).toEqual([
      "LCM_FRESH_TAIL is not a variable of lossless-claw; it is ignored.",
      "LCM_LARGE_FILE_SUMMARY_MODEL is no longer used; it is ignored.",
    ]);
  });

  test.each([["a string"], [[1]], [7], [true]])(
    "the plugin config %j is reported",
    (pluginConfig) => {
      const { config, problems } = resolve({}, pluginConfig);
      expect(config).toEqual(resolve().config);
      expect(problems).toEqual([expect.stringContaining("must be an object")]);
    },
  );

  test.each([undefined, null])("the plugin config %j is an empty one", (pluginConfig) => {
    expect(resolveConfig({ env: {}, pluginConfig, ...directories }).problems).toEqual([]);
  });
});

describe("whatever is configured", () => {
  const keys = fc.constantFrom(...rows.map(({ key }) => key), "dbPath", "other");
  const names = fc.constantFrom(...rows.map(({ env }) => env), "LCM_OTHER");
  const scalars = fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom("~", "0", "1"));
  const pluginConfigs = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(keys, fc.oneof(scalars, fc.jsonValue())),
  );

  test("the result is complete, within bounds, and accepted unchanged when given back", () => {
    fc.assert(
      fc.property(fc.dictionary(names, scalars), pluginConfigs, (env, pluginConfig) => {
        const { config, problems } = resolve(env, pluginConfig);
        expect(problems.every((problem) => /^[^\n]+\.$/.test(problem))).toBe(true);
        expect(resolve({}, config)).toEqual({ config, problems: [] });
      }),
    );
  });

  test("a problem is reported exactly when a set value is not used", () => {
    fc.assert(
      fc.property(scalars, (written) => {
        const { config, problems } = resolve({ LCM_LEAF_MIN_FANOUT: written });
        const used = written.trim() === "" || Number(written) === config.leafMinFanout;
        expect(problems).toHaveLength(used ? 0 : 1);
      }),
    );
  });
});

describe("session patterns", () => {
  test.each([
    ["agent:main:main", "agent:main:main", true],
    ["agent:main:main", "agent:main:main2", false],
    ["agent:*:main", "agent:ops:main", true],
    ["agent:*:main", "agent:ops:x:main", false],
    ["agent:*", "agent:", true],
    ["agent:**", "agent:ops:cron:1", true],
    ["**:cron:**", "agent:ops:cron:1", true],
    ["**", "", true],
    ["***", "a:b", true],
    ["a*c:*d", "abbc:d", true],
    ["a.c", "abc", false],
    ["a?[b](c){1}+^$|/\\", "a?[b](c){1}+^$|/\\", true],
    ["agent:*", "xagent:1", false],
  ])("%j on %j: %j", (pattern, key, matches) => {
    expect(sessionPatternToRegExp(pattern).test(key)).toBe(matches);
  });

  test("a pattern without stars matches itself and nothing else", () => {
    const plain = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("*"));
    fc.assert(
      fc.property(plain, plain, (pattern, key) => {
        expect(sessionPatternToRegExp(pattern).test(pattern)).toBe(true);
        expect(sessionPatternToRegExp(pattern).test(key)).toBe(pattern === key);
      }),
    );
  });
});

describe("the manifest", () => {
  const manifest = JSON.parse(
    readFileSync(new URL("../openclaw.plugin.json", import.meta.url), "utf8"),
  );

  test("and the documentation are what the code generates", () => {
    expect(driftedFiles()).toEqual([]);
  });

  test("has a schema that no value of ours can break, so that a slip does not stop the host", () => {
    const { properties, additionalProperties } = manifest.configSchema;
    expect(additionalProperties).toBe(true);
    for (const property of Object.values<object>(properties)) {
      expect(["title", "description", "default"]).toEqual(
        expect.arrayContaining(Object.keys(property)),
      );
    }
  });

  test("has defaults that change nothing when the host fills them in", () => {
    const properties = Object.entries<{ default?: unknown }>(manifest.configSchema.properties);
    const filled = Object.fromEntries(properties.map(([key, property]) => [key, property.default]));
    expect(resolve({}, filled)).toEqual(resolve());
  });
});
