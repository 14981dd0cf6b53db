import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const SOURCE = `
import { appendFileSync } from "node:fs";

export default {
  id: "smoke-engine",
  name: "Smoke engine",
  description: "Passes the history through and journals every committed turn.",
  register(api) {
    const journal = (line) => appendFileSync(api.pluginConfig.journal, JSON.stringify(line) + "\\n");
    api.registerCommand({
      name: "smoke",
      description: "Answers with its arguments.",
      acceptsArgs: true,
      handler: (ctx) => ({ text: "smoke heard: " + ctx.args }),
    });
    api.registerContextEngine("smoke-engine", () => ({
      info: {
        id: "smoke-engine",
        name: "Smoke engine",
        ownsCompaction: true,
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      },
      ingest: async () => ({ ingested: false }),
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
      compact: async () => ({ ok: true, compacted: false, reason: "never" }),
      commitTurn: async ({ sessionKey, admission, terminal, messages }) => {
        journal({
          sessionKey,
          from: admission.activeMessagePosition,
          to: terminal.activeMessagePosition,
          roles: messages.map((message) => message.role),
        });
        return { status: "committed" };
      },
    }));
  },
};
`;

/** A throw-away context engine, so that the harness is tested without the product. */
export async function writeSmokeEngine(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const files: Record<string, string> = {
    "package.json": JSON.stringify({
      name: "smoke-engine",
      version: "0.0.1",
      type: "module",
      openclaw: { extensions: ["./index.js"] },
    }),
    "openclaw.plugin.json": JSON.stringify({
      id: "smoke-engine",
      name: "Smoke engine",
      description: "Harness check",
      kind: "context-engine",
      activation: { onStartup: true },
      configSchema: {
        type: "object",
        additionalProperties: false,
        properties: { journal: { type: "string" } },
      },
    }),
    "index.js": SOURCE,
  };
  await Promise.all(
    Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)),
  );
}
