// `openclaw lcm grep` and `openclaw lcm describe`: the agents' tools for a person. Like the report they
// never create or take over a database.

import { existsSync } from "node:fs";
import type { LcmConfig } from "../db/config.js";
import { inspectBeforeOpening, needsMigration } from "../db/migration.js";
import { errorText } from "../errors.js";
import { createSelfOpeningRecall } from "../lcm.js";
import type { OpenClawPluginApi } from "../openclaw-bridge.js";
import type { Search } from "../search/types.js";
import { type ToolResult, refusal } from "../tools/common.js";
import { TOOL_FACTORIES } from "../tools/index.js";
import { silentLogger } from "../types.js";

type Program = Parameters<Parameters<OpenClawPluginApi["registerCli"]>[0]>[0]["program"];

export interface RecallCommandOptions {
  readonly config: () => LcmConfig;
  readonly search: Search;
}

interface PersonOptions {
  readonly agent?: string;
  readonly session?: string;
  readonly conversation?: string;
  readonly json?: boolean;
}

interface GrepOptions extends PersonOptions {
  readonly mode?: string;
  readonly scope?: string;
  readonly since?: string;
  readonly before?: string;
  readonly limit?: string;
  readonly sort?: string;
  readonly cursor?: string;
}

interface DescribeOptions extends PersonOptions {
  readonly page?: string;
}

const GREP_HELP = `
Examples:
  openclaw lcm grep "why did we move the port" --mode full_text
  openclaw lcm grep "ECONN\\w+" --session agent:main:main --since 2026-02-19
What matched stands between ⟦ and ⟧, under the summary that covers it. Go on with
openclaw lcm describe <id>.`;

const DESCRIBE_HELP = `
Examples:
  openclaw lcm describe sum_0123456789abcdef
  openclaw lcm describe msg_42 --json
Ids stand in the results of openclaw lcm grep. "Parents" of a summary are what it was built from.`;

export function addRecallCommands(lcm: Program, options: RecallCommandOptions): void {
  personOptions(
    lcm
      .command("grep <pattern>")
      .description("Find messages and summaries by a pattern or by words")
      .option("--mode <mode>", "regex (default) or full_text, which takes a whole question")
      .option("--scope <scope>", "messages, summaries or both (default)")
      .option("--since <time>", "nothing older than this ISO time")
      .option("--before <time>", "only what is older than this ISO time")
      .option("--limit <count>", "most matches, 1 to 200 (default 50)")
      .option("--sort <order>", "relevance or recency")
      .option("--cursor <cursor>", "from the end of the page before"),
  )
    .addHelpText("after", GREP_HELP)
    .action(async (pattern: string, given: GrepOptions) => {
      const { mode, scope, since, before, limit, sort, cursor } = given;
      const params = { pattern, mode, scope, since, before, limit, sort, cursor };
      show(await runForPerson(options, "lcm_grep", params, given), given);
    });
  personOptions(
    lcm
      .command("describe <id>")
      .description("Show one summary (sum_…), message (msg_…) or file (file_…) whole")
      .option("--page <number>", "which page of a long text"),
  )
    .addHelpText("after", DESCRIBE_HELP)
    .action(async (id: string, given: DescribeOptions) => {
      const params = { id, page: given.page };
      show(await runForPerson(options, "lcm_describe", params, given), given);
    });
}

function personOptions(command: Program): Program {
  return command
    .option("--agent <id>", "only conversations of this agent")
    .option("--session <key>", "only this session, e.g. agent:main:main")
    .option("--conversation <number>", "only this conversation")
    .option("--json", "print the structured result as JSON");
}

/** All conversations, unless the options name some. */
export async function runForPerson(
  { config, search }: RecallCommandOptions,
  name: "lcm_grep" | "lcm_describe",
  params: Readonly<Record<string, unknown>>,
  { agent, session, conversation }: PersonOptions,
): Promise<ToolResult> {
  const unusable = whyUnusable(config().databasePath);
  if (unusable !== undefined) return refusal(unusable);
  const recall = createSelfOpeningRecall({ config, search, now: Date.now, log: silentLogger });
  try {
    const caller = { kind: "person", agentId: agent, sessionKey: session } as const;
    const tool = TOOL_FACTORIES[name](recall, caller);
    return await tool.execute("cli", { ...params, conversationId: conversation });
  } finally {
    recall.release();
    await search.close();
  }
}

function whyUnusable(path: string): string | undefined {
  if (!existsSync(path)) return `Nothing is stored yet: ${path} is made by the first turn.`;
  try {
    if (!needsMigration(inspectBeforeOpening(path))) return undefined;
    return `${path} was made by an earlier release; the first turn backs it up and takes it over.`;
  } catch (error) {
    return `The memory can not be read: ${errorText(error)}`;
  }
}

function show({ content, details }: ToolResult, { json }: PersonOptions): void {
  const text = json
    ? JSON.stringify(details, null, 2)
    : content.map((part) => part.text).join("\n");
  process.stdout.write(`${text}\n`);
  const isRefused = typeof details === "object" && details !== null && "error" in details;
  if (isRefused) process.exitCode = 1;
}
