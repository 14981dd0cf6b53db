// The plugin's configuration: environment over plugin config over default, each value checked.
// Nothing here throws or reads the process: a bad value becomes a sentence in `problems` and the next
// layer is used. The keys are declared in config/keys.ts.
import {
  type ConfigKey,
  configKeys,
  type KeySchema,
  type LcmConfig,
  oldNames,
  retiredEnv,
} from "./config/keys.js";
import {
  defaultValue,
  describeAllowed,
  type Directories,
  isUnset,
  readValue,
  show,
} from "./config/values.js";

export type { LcmConfig } from "./config/keys.js";
export { sessionPatternToRegExp } from "./config/session-patterns.js";

export interface ConfigSources extends Directories {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As OpenClaw hands it over. Anything may be in it: it is edited by hand. */
  readonly pluginConfig?: unknown;
}

export interface ResolvedConfig {
  readonly config: LcmConfig;
  /** What is wrong with the configuration, as sentences for a person. Empty when all is well. */
  readonly problems: readonly string[];
}

/** One place a value may come from, by the name a person knows it by. */
interface Layer {
  readonly name: string;
  readonly raw: unknown;
}

type PluginConfig = Readonly<Record<string, unknown>>;

export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  const problems: string[] = [];
  const pluginConfig = asObject(sources.pluginConfig, problems);
  const values = configKeys.map(([key, schema]) => {
    const layers = [
      { name: schema.env, raw: sources.env[schema.env] },
      pluginLayer(key, schema, pluginConfig, problems),
    ];
    return [key, resolveKey(key, schema, layers, sources, problems)] as const;
  });
  problems.push(...unknownKeys(pluginConfig), ...unknownEnv(sources.env));
  // Every value passed its key's schema or is the schema's own default.
  const config = Object.fromEntries(values) as unknown as LcmConfig;
  return { config: withUsableProvider(config, problems), problems };
}

/** OpenClaw takes a provider only as the first part of a model's name, so it needs a model. */
function withUsableProvider(config: LcmConfig, problems: string[]): LcmConfig {
  const { summaryModel, summaryProvider } = config;
  if (summaryProvider === "" || summaryModel !== "") return config;
  problems.push(
    `summaryProvider (LCM_SUMMARY_PROVIDER) is ${show(summaryProvider)} but no summaryModel (LCM_SUMMARY_MODEL) is set; the provider is ignored until one is.`,
  );
  return { ...config, summaryProvider: "" };
}

function resolveKey(
  key: ConfigKey,
  schema: KeySchema,
  layers: readonly Layer[],
  directories: Directories,
  problems: string[],
): unknown {
  const bad: Layer[] = [];
  let value = defaultValue(schema, directories);
  for (const layer of layers) {
    if (isUnset(layer.raw)) continue;
    const reading = readValue(schema, layer.raw, directories);
    if (reading.ok) {
      value = reading.value;
      break;
    }
    bad.push(layer);
  }
  for (const { name, raw } of bad) problems.push(badValue(key, name, raw, schema, value));
  return value;
}

function badValue(
  key: ConfigKey,
  name: string,
  raw: unknown,
  schema: KeySchema,
  used: unknown,
): string {
  const subject = name === key ? key : `${key}, set by ${name},`;
  return `${subject} is ${show(raw)} but must be ${describeAllowed(schema)}; using ${show(used)} instead.`;
}

/**
 * The plugin config's value for a key, by its present or its old name. OpenClaw fills in the
 * manifest's defaults before the plugin sees its config, so a present name that holds exactly the
 * default does not prove that anyone wrote it, and the old name goes before it.
 */
function pluginLayer(
  key: ConfigKey,
  schema: KeySchema,
  config: PluginConfig,
  problems: string[],
): Layer {
  const present = own(config, key);
  const oldName = oldNames[key];
  const old = oldName === undefined ? undefined : own(config, oldName);
  if (oldName === undefined || isUnset(old)) return { name: key, raw: present };
  if (!isUnset(present) && present !== schema.default) {
    problems.push(`${oldName} is an old name of ${key}, which is set too; ${oldName} is ignored.`);
    return { name: key, raw: present };
  }
  problems.push(`${oldName} is an old name of ${key}; its value is used, but please rename it.`);
  return { name: oldName, raw: old };
}

function own(config: PluginConfig, key: string): unknown {
  return Object.hasOwn(config, key) ? config[key] : undefined;
}

function asObject(raw: unknown, problems: string[]): PluginConfig {
  if (typeof raw === "object" && raw !== null && !Array.isArray(raw)) return raw as PluginConfig;
  if (!isUnset(raw)) {
    problems.push(`The plugin config is ${show(raw)} but must be an object; it is ignored.`);
  }
  return {};
}

function unknownKeys(config: PluginConfig): string[] {
  const known = new Set<string>([...configKeys.map(([key]) => key), ...Object.values(oldNames)]);
  return Object.keys(config)
    .filter((key) => !known.has(key))
    .map((key) => `${show(key)} is not a configuration key of lossless-claw; it is ignored.`);
}

/** Only names with our prefix: the rest of the environment is not ours to judge. */
function unknownEnv(env: ConfigSources["env"]): string[] {
  const known = new Set(configKeys.map(([, schema]) => schema.env));
  return Object.keys(env)
    .filter((name) => name.startsWith("LCM_") && !known.has(name) && !isUnset(env[name]))
    .map((name) =>
      retiredEnv.has(name)
        ? `${name} is no longer used; it is ignored.`
        : `${name} is not a variable of lossless-claw; it is ignored.`,
    );
}
