// `/lcm` in chat.

import type { ResolvedConfig } from "../db/config.js";
import { errorText } from "../errors.js";
import { openLcm } from "../lcm.js";
import { type OpenClawPluginApi, selectedEngine } from "../openclaw-bridge.js";
import { sessionRef } from "../session-policy.js";
import { renderStatus } from "../status.js";
import type { TranscriptSource } from "../types.js";
import { ENGINE_ID } from "../engine.js";

type CommandDefinition = Parameters<OpenClawPluginApi["registerCommand"]>[0];

export function lcmCommand(
  api: OpenClawPluginApi,
  transcript: TranscriptSource,
  readConfig: () => ResolvedConfig,
): CommandDefinition {
  return {
    name: "lcm",
    description: "Show the state of the lossless memory for this session",
    acceptsArgs: true,
    requireAuth: true,
    handler: async (context) => {
      const { sessionKey, sessionId, agentId } = context as { sessionKey?: string; sessionId?: string; agentId?: string };
      const session = sessionRef({ sessionId: sessionId ?? "", sessionKey, agentId });
      return { text: await statusText(api, transcript, readConfig(), sessionKey ? session : undefined) };
    },
  };
}

/** The status of one session, or of the whole store, as text. Never throws. */
export async function statusText(
  api: OpenClawPluginApi,
  transcript: TranscriptSource,
  resolved: ResolvedConfig,
  session?: ReturnType<typeof sessionRef>,
): Promise<string> {
  const slot = selectedEngine(api);
  const chosen = slot === ENGINE_ID ? "" : `\nThe context engine slot holds "${slot ?? "legacy"}": set plugins.slots.contextEngine to "${ENGINE_ID}" to use it.`;
  try {
    const lcm = openLcm({ databasePath: resolved.config.databasePath, config: resolved.config, transcript });
    try {
      const status = await lcm.status(session);
      return renderStatus({ ...status, problems: resolved.problems }) + chosen;
    } finally {
      lcm.close();
    }
  } catch (error) {
    return `Lossless memory is not working: ${errorText(error)}${chosen}`;
  }
}
