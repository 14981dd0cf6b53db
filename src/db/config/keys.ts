// The configuration keys of the plugin: one TypeBox schema that says everything about each of them
// (type, bounds, default, environment variable, label, help). The `LcmConfig` type, the resolver, the
// manifest's `configSchema` and `uiHints`, and the table in docs/configuration.md all derive from it.
// Declarations only: values are read and judged in values.ts and ../config.ts.
import { type Static, type TSchema, Type } from "@sinclair/typebox";

/** How a value is read from text and what it must be, beyond what the JSON type says. */
export type ValueKind = "boolean" | "number" | "choice" | "path" | "text" | "timezone" | "list";

/** What every key carries besides its JSON schema. */
export interface KeyMetadata {
  readonly kind: ValueKind;
  readonly env: string;
  readonly title: string;
  readonly description: string;
  /** Absent for paths, whose default lies in the state directory (see `stateFile`). */
  readonly default?: boolean | number | string | readonly string[];
  /** For paths with a default: the file name in OpenClaw's state directory. */
  readonly stateFile?: string;
  /** For choices: what may be chosen. */
  readonly choices?: readonly string[];
  /** What an empty default stands for, in words. */
  readonly emptyMeans?: string;
}

export type KeySchema = TSchema & KeyMetadata;

const flag = (env: string, fallback: boolean, title: string, description: string) =>
  Type.Boolean({ kind: "boolean", env, default: fallback, title, description });

const count = (
  env: string,
  fallback: number,
  minimum: number,
  title: string,
  description: string,
) => Type.Integer({ kind: "number", env, default: fallback, minimum, title, description });

const path = (env: string, stateFile: string, title: string, description: string) =>
  Type.String({ kind: "path", env, stateFile, title, description });

const optionalPath = (env: string, emptyMeans: string, title: string, description: string) =>
  Type.String({ kind: "path", env, default: "", emptyMeans, title, description });

const text = (env: string, emptyMeans: string, title: string, description: string) =>
  Type.String({ kind: "text", env, default: "", emptyMeans, title, description });

const patterns = (env: string, title: string, description: string) =>
  Type.Array(Type.String(), {
    kind: "list",
    env,
    default: [],
    emptyMeans: "none",
    title,
    description,
  });

export const LcmConfigSchema = Type.Object({
  enabled: flag(
    "LCM_ENABLED",
    true,
    "Enabled",
    "Turns the plugin on. When off, OpenClaw's messages pass through unchanged and nothing is stored.",
  ),
  databasePath: path(
    "LCM_DATABASE_PATH",
    "lcm.db",
    "Database path",
    "The SQLite database that holds every message and summary.",
  ),
  contextThreshold: Type.Number({
    kind: "number",
    env: "LCM_CONTEXT_THRESHOLD",
    default: 0.75,
    exclusiveMinimum: 0,
    maximum: 1,
    title: "Context threshold",
    description: "Fraction of the context budget at which the view is compacted.",
  }),
  freshTailCount: count(
    "LCM_FRESH_TAIL_COUNT",
    32,
    1,
    "Fresh tail",
    "Number of newest messages that are never summarized.",
  ),
  leafMinFanout: count(
    "LCM_LEAF_MIN_FANOUT",
    8,
    1,
    "Messages per leaf",
    "Least number of raw messages a leaf summary is made from.",
  ),
  condensedMinFanout: count(
    "LCM_CONDENSED_MIN_FANOUT",
    4,
    2,
    "Summaries per condensed node",
    "Least number of summaries of one depth that are condensed into a node above them.",
  ),
  condensedMinFanoutHard: count(
    "LCM_CONDENSED_MIN_FANOUT_HARD",
    2,
    2,
    "Summaries per condensed node, forced",
    "The relaxed fanout of forced sweeps: /compact and overflow.",
  ),
  incrementalMaxDepth: count(
    "LCM_INCREMENTAL_MAX_DEPTH",
    0,
    0,
    "Incremental depth",
    "How many levels of condensing follow a leaf pass in the background; 0 makes leaves only.",
  ),
  leafChunkTokens: count(
    "LCM_LEAF_CHUNK_TOKENS",
    20_000,
    100,
    "Leaf chunk tokens",
    "Most source tokens that go into one leaf summary; raw messages beyond the fresh tail wait until they reach it.",
  ),
  leafTargetTokens: count(
    "LCM_LEAF_TARGET_TOKENS",
    1_200,
    1,
    "Leaf target tokens",
    "Length a leaf summary aims for.",
  ),
  condensedTargetTokens: count(
    "LCM_CONDENSED_TARGET_TOKENS",
    2_000,
    1,
    "Condensed target tokens",
    "Length a condensed summary aims for.",
  ),
  maxExpandTokens: count(
    "LCM_MAX_EXPAND_TOKENS",
    4_000,
    1,
    "Expansion tokens",
    "Most tokens one expansion query of a sub-agent may read from the graph.",
  ),
  largeFileTokenThreshold: count(
    "LCM_LARGE_FILE_TOKEN_THRESHOLD",
    25_000,
    1,
    "Large file tokens",
    "File blocks above this size are stored beside the database and shown as a reference.",
  ),
  largeFilesDir: path(
    "LCM_LARGE_FILES_DIR",
    "lcm-files",
    "Large files directory",
    "Where the contents of large files are kept.",
  ),
  summaryModel: text(
    "LCM_SUMMARY_MODEL",
    "the model OpenClaw uses",
    "Summary model",
    "Model that writes the summaries, for example `anthropic/claude-sonnet-4-20250514`. Needs `llm.allowModelOverride` in the plugin's entry.",
  ),
  summaryProvider: text(
    "LCM_SUMMARY_PROVIDER",
    "the provider OpenClaw uses",
    "Summary provider",
    "Provider of the summary model, put before its name where it does not begin with it. Ignored, with a warning, without a summary model.",
  ),
  summaryFormat: Type.Union([Type.Literal("full"), Type.Literal("compact")], {
    kind: "choice",
    choices: ["full", "compact"],
    env: "LCM_SUMMARY_FORMAT",
    default: "full",
    title: "Summary format",
    description:
      "How a summary is shown to the model: `full` names its sources and times in ISO form, `compact` spends about half the wrapper's tokens.",
  }),
  customInstructions: text(
    "LCM_CUSTOM_INSTRUCTIONS",
    "none",
    "Custom instructions",
    "What every summary prompt is told beside its own rules, for example what to keep above all.",
  ),
  promptDir: optionalPath(
    "LCM_PROMPT_DIR",
    "the built-in prompts",
    "Prompt directory",
    "Directory with templates of your own: `leaf.md`, `condensed-d1.md`, `condensed-d2.md`, `condensed-d3.md`. Each that is there replaces the built-in one.",
  ),
  summaryTokensPerDay: count(
    "LCM_SUMMARY_TOKENS_PER_DAY",
    5_000_000,
    0,
    "Summary tokens per day",
    "Most tokens a day that summaries may send to a model, in your time zone. Beyond it summaries are made without a model. 0 sets no limit.",
  ),
  summaryCostPerDay: Type.Number({
    kind: "number",
    env: "LCM_SUMMARY_COST_PER_DAY",
    default: 5,
    minimum: 0,
    title: "Summary cost per day",
    description:
      "Most US dollars a day that summaries may cost, as far as OpenClaw knows the model's prices. 0 sets no limit.",
  }),
  promptCacheMinutes: count(
    "LCM_PROMPT_CACHE_MINUTES",
    5,
    0,
    "Prompt cache minutes",
    "How long your provider keeps its prompt cache. A conversation that was idle for longer is compacted above half the threshold, when a changed prompt costs nothing.",
  ),
  autocompactDisabled: flag(
    "LCM_AUTOCOMPACT_DISABLED",
    false,
    "No automatic compaction",
    "Summarizes only on /compact and on overflow, never on its own.",
  ),
  timezone: Type.String({
    kind: "timezone",
    env: "TZ",
    default: "UTC",
    title: "Time zone",
    description: "Zone of the times shown in summaries and tool results. Stored times are UTC.",
  }),
  pruneHeartbeatOk: flag(
    "LCM_PRUNE_HEARTBEAT_OK",
    false,
    "Prune HEARTBEAT_OK",
    "Keeps no message of a heartbeat turn whose whole reply is a HEARTBEAT_OK acknowledgement.",
  ),
  skipHeartbeats: flag(
    "LCM_SKIP_HEARTBEATS",
    false,
    "Skip heartbeats",
    "Keeps no message of any heartbeat turn.",
  ),
  recallScope: Type.Union(
    [Type.Literal("conversation"), Type.Literal("agent"), Type.Literal("all")],
    {
      kind: "choice",
      choices: ["conversation", "agent", "all"],
      env: "LCM_RECALL_SCOPE",
      default: "agent",
      title: "Recall scope",
      description:
        "How far the recall tools may reach when they are asked to: `conversation` for the caller's own conversation only, `agent` for every conversation of the same agent, `all` for those of every agent. Without being asked they look at the caller's own conversation.",
    },
  ),
  ignoreSessionPatterns: patterns(
    "LCM_IGNORE_SESSION_PATTERNS",
    "Ignored sessions",
    "Session keys that are not stored and have no memory. `*` stands for text within one `:` part, `**` for anything.",
  ),
  statelessSessionPatterns: patterns(
    "LCM_STATELESS_SESSION_PATTERNS",
    "Stateless sessions",
    "Session keys that add nothing to what is stored. Same patterns. The report names them apart from ignored ones.",
  ),
});

export type LcmConfig = Static<typeof LcmConfigSchema>;

export type ConfigKey = keyof LcmConfig;

// The helpers above give every property its metadata; TypeBox's option types can not say so.
const keySchemas = LcmConfigSchema.properties as unknown as Record<ConfigKey, KeySchema>;

/** Every key with its schema, in the order of the documentation. */
export const configKeys = Object.entries(keySchemas) as ReadonlyArray<[ConfigKey, KeySchema]>;

/** Names of earlier releases that still set a key. */
export const oldNames: Readonly<Partial<Record<ConfigKey, string>>> = {
  databasePath: "dbPath",
  largeFileTokenThreshold: "largeFileThresholdTokens",
};

/** Variables that an earlier release read and this one does not. */
export const retiredEnv: ReadonlySet<string> = new Set([
  "LCM_LARGE_FILE_SUMMARY_MODEL",
  "LCM_LARGE_FILE_SUMMARY_PROVIDER",
]);
