// `/lcm` in chat.

import type { ResolvedConfig } from "../db/config.js";
import type { OpenClawPluginApi } from "../openclaw-bridge.js";
import { sessionRef } from "../session-policy.js";
import { renderReport } from "./render-report.js";
import { type HostFacts, makeReport } from "./report.js";

type CommandDefinition = Parameters<OpenClawPluginApi["registerCommand"]>[0];

export function lcmCommand(
  host: () => HostFacts,
  readConfig: () => ResolvedConfig,
): CommandDefinition {
  return {
    name: "lcm",
    description: "Show the state of the lossless memory for this session",
    acceptsArgs: true,
    requireAuth: true,
    handler: async ({ sessionKey, sessionId, agentId }) => {
      const session = sessionRef({ sessionId, sessionKey, agentIds: [agentId] });
      return { text: renderReport(await makeReport(host(), readConfig(), session)) };
    },
  };
}
