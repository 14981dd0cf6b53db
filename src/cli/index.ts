// `openclaw lcm …` on the terminal.

import { ENGINE_ID } from "../engine.js";
import type { ResolvedConfig } from "../db/config.js";
import { errorText } from "../errors.js";
import { openLcm } from "../lcm.js";
import { type OpenClawPluginApi, selectedEngine } from "../openclaw-bridge.js";
import { sessionRef } from "../session-policy.js";
import type { TranscriptSource } from "../types.js";
import { statusText } from "./chat-command.js";

export function registerLcmCli(
  api: OpenClawPluginApi,
  transcript: TranscriptSource,
  readConfig: () => ResolvedConfig,
): void {
  api.registerCli(
    ({ program }) => {
      const lcm = program.command("lcm").description("Look after the lossless memory");
      lcm
        .command("status")
        .description("Say whether the engine is active, what is stored and what was mended")
        .option("--session <key>", "the session key to look at, e.g. agent:main:main")
        .option("--json", "print JSON")
        .action(async (options: { session?: string; json?: boolean }) => {
          const session = options.session ? sessionRef({ sessionId: "", sessionKey: options.session }) : undefined;
          if (options.json) await printJson(api, transcript, readConfig(), session);
          else process.stdout.write(`${await statusText(api, transcript, readConfig(), session)}\n`);
        });
    },
    { descriptors: [{ name: "lcm", description: "Look after the lossless memory", hasSubcommands: true }] },
  );
}

async function printJson(
  api: OpenClawPluginApi,
  transcript: TranscriptSource,
  resolved: ResolvedConfig,
  session: ReturnType<typeof sessionRef> | undefined,
): Promise<void> {
  const common = { selected: selectedEngine(api) === ENGINE_ID, problems: resolved.problems };
  try {
    const lcm = openLcm({ databasePath: resolved.config.databasePath, config: resolved.config, transcript });
    const status = await lcm.status(session);
    lcm.close();
    process.stdout.write(`${JSON.stringify({ ...status, ...common }, null, 2)}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ ...common, error: errorText(error) }, null, 2)}\n`);
    process.exitCode = 1;
  }
}
