// Writes what is derived from code: `openclaw.plugin.json` and the table in `docs/configuration.md`.
// `npm run manifest` writes, `--check` fails when a file on disk differs.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type ConfigKey, configKeys, type KeySchema, oldNames } from "../src/db/config/keys.js";
import { describeAllowed } from "../src/db/config/values.js";
import { TOOL_NAMES } from "../src/tools/index.js";

const manifestFile = new URL("../openclaw.plugin.json", import.meta.url);
const docsFile = new URL("../docs/configuration.md", import.meta.url);
const packageFile = new URL("../package.json", import.meta.url);

const BEGIN = "<!-- begin generated: npm run manifest -->";
const END = "<!-- end generated -->";

/** A tool is seen in the host's tool profiles only if the manifest says so. */
const PROFILES = ["minimal", "coding", "messaging", "full"];

export interface GeneratedFile {
  readonly name: string;
  readonly url: URL;
  readonly expected: string;
}

export function generatedFiles(): GeneratedFile[] {
  return [
    { name: "openclaw.plugin.json", url: manifestFile, expected: renderManifest() },
    { name: "docs/configuration.md", url: docsFile, expected: renderDocs(read(docsFile)) },
  ];
}

/** The generated files whose content on disk is not what the code says. */
export function driftedFiles(): string[] {
  return generatedFiles()
    .filter(({ url, expected }) => read(url) !== expected)
    .map(({ name }) => name);
}

function renderManifest(): string {
  const { description } = JSON.parse(read(packageFile)) as { description: string };
  const manifest = {
    id: "lossless-claw",
    name: "Lossless Claw",
    description,
    kind: "context-engine",
    categories: ["context"],
    activation: { onStartup: true },
    cliCommands: [
      {
        name: "lcm",
        description: "Inspect and look after the lossless memory",
        hasSubcommands: true,
      },
    ],
    contracts: { tools: TOOL_NAMES },
    toolMetadata: Object.fromEntries(TOOL_NAMES.map((name) => [name, { profiles: PROFILES }])),
    skills: ["./skills"],
    configSchema: {
      type: "object",
      additionalProperties: true,
      properties: mapKeys(propertySchema),
    },
    uiHints: mapKeys(uiHint),
    backupResources: ["lcm.db", "lcm-files"].map((relativePath) => ({
      disposition: "include",
      scope: "state",
      relativePath,
    })),
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/**
 * No `type`, no bounds: with a config that breaks a plugin's schema OpenClaw refuses most of its
 * commands, and a slip in our section must not do that. `resolveConfig` checks the values instead and
 * reports bad ones; what is allowed stands in the help. For the same reason unknown keys pass.
 */
function propertySchema(_key: ConfigKey, schema: KeySchema) {
  const { title, default: fallback } = schema;
  const description = plain(schema.description);
  return isEmpty(fallback) ? { title, description } : { title, description, default: fallback };
}

function uiHint(_key: ConfigKey, schema: KeySchema) {
  const help = `${plain(schema.description)} Must be ${describeAllowed(schema)}. ${schema.env} overrides it.`;
  const placeholder = isEmpty(schema.default) ? { placeholder: defaultInWords(schema) } : {};
  return { label: schema.title, help, ...placeholder };
}

/** Puts the table between the markers of the page and leaves the rest of it alone. */
function renderDocs(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error(`docs/configuration.md must hold ${BEGIN} and ${END}.`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${renderTable()}\n\n${page.slice(end)}`;
}

function renderTable(): string {
  const rows = configKeys.map(([key, schema]) =>
    row(
      `\`${key}\``,
      `\`${schema.env}\``,
      defaultCell(schema),
      describeAllowed(schema),
      help(key, schema),
    ),
  );
  return [
    row("Key", "Variable", "Default", "Must be", "What it does"),
    row("---", "---", "---", "---", "---"),
    ...rows,
  ].join("\n");
}

function help(key: ConfigKey, schema: KeySchema): string {
  const old = oldNames[key];
  return old === undefined ? schema.description : `${schema.description} Old name: \`${old}\`.`;
}

function defaultCell(schema: KeySchema): string {
  return isEmpty(schema.default) && schema.stateFile === undefined
    ? `*(${defaultInWords(schema)})*`
    : `\`${defaultInWords(schema)}\``;
}

function defaultInWords(schema: KeySchema): string {
  if (schema.stateFile !== undefined) return `~/.openclaw/${schema.stateFile}`;
  return isEmpty(schema.default) ? (schema.emptyMeans ?? "") : String(schema.default);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

function mapKeys<T>(render: (key: ConfigKey, schema: KeySchema) => T): Record<string, T> {
  return Object.fromEntries(configKeys.map(([key, schema]) => [key, render(key, schema)]));
}

/** The control UI shows help as it is, not as Markdown. */
function plain(markdown: string): string {
  return markdown.replaceAll("`", "");
}

function row(...cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** A missing file reads as empty: it then drifts, or lacks its markers, and is reported as such. */
function read(url: URL): string {
  try {
    return readFileSync(url, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

function main(): void {
  if (!process.argv.includes("--check")) {
    for (const { url, expected } of generatedFiles()) writeFileSync(url, expected);
    return;
  }
  const drifted = driftedFiles();
  if (drifted.length === 0) return;
  process.stderr.write(`Out of date: ${drifted.join(", ")}. Run \`npm run manifest\`.\n`);
  process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
