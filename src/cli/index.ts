// `openclaw lcm …` on the terminal.

import type { ResolvedConfig } from "../db/config.js";
import type { OpenClawPluginApi } from "../openclaw-bridge.js";
import { sessionRef } from "../session-policy.js";
import type { Search } from "../search/types.js";
import { addRecallCommands } from "./recall-commands.js";
import { renderReport } from "./render-report.js";
import { type HostFacts, makeReport } from "./report.js";

const DESCRIPTION = "Look after the lossless memory";

interface StatusOptions {
  readonly session?: string;
  readonly json?: boolean;
}

export function registerLcmCli(
  api: OpenClawPluginApi,
  host: () => HostFacts,
  readConfig: () => ResolvedConfig,
  search: Search,
): void {
  api.registerCli(
    ({ program }) => {
      const lcm = program.command("lcm").description(DESCRIPTION);
      lcm
        .command("status")
        .description(
          "Say whether the engine is active, what is stored, and what was missing and mended",
        )
        .option("--session <key>", "compare one session with its transcript, e.g. agent:main:main")
        .option("--json", "print JSON; the exit code is 1 when the database can not be used")
        .action(async (options: StatusOptions) => {
          const session = sessionRef({ sessionKey: options.session });
          const report = await makeReport(host(), readConfig(), session);
          const text = options.json ? JSON.stringify(report, null, 2) : renderReport(report);
          process.stdout.write(`${text}\n`);
          if (report.state === "broken") process.exitCode = 1;
        });
      addRecallCommands(lcm, { config: () => readConfig().config, search });
    },
    { descriptors: [{ name: "lcm", description: DESCRIPTION, hasSubcommands: true }] },
  );
}
