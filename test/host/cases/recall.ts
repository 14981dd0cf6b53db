// Recall through a real sub-agent, which is gone afterwards, and where the tools are listed.

import { afterAll, describe, expect, test } from "vitest";
import { prose } from "../../support/prose.js";
import type { JsonRecord } from "../harness/loose-json.js";
import type { RecordedRequest, Script } from "../harness/model-types.js";
import type { World } from "../support/world.js";

const KEY = "agent:main:recall";
const FACT = "the harbor code is 7391";

export function recall(world: () => World): void {
  describe("recall", () => {
    let tools: unknown;

    afterAll(() => setTools(tools));

    function setTools(next: unknown): Promise<void> {
      return world().host.patchConfig((config) => {
        config["tools"] = next;
      });
    }

    test("a sub-agent reads under a grant, answers with what it read, and leaves nothing behind", async () => {
      await world().turn(KEY, `${FACT} ${prose(900, 1)}`);
      const source = sourceRef(world());
      world().model.setScript(scriptFor(source));
      const reply = await world().turn(KEY, "ask");
      world().model.resetScript();
      expect(reply).toContain(`ANSWER It says: ${FACT}`);
      expect(reply).toContain(`Cited: ${source}. Left out, because it was not read: msg_99999.`);
      expect(reply).toContain("A sub-agent read the sources");

      const child = world().model.requests.find(isChild)!;
      expect(ours(child)).toEqual(["lcm_describe", "lcm_expand", "lcm_grep"]);
      const { memory } = world();
      const stored = memory.all(
        "SELECT 1 FROM conversations WHERE session_key = ?",
        child.sessionKey!,
      );
      expect(stored).toEqual([]);
      const grants = memory.all<{ revoked: number; used: number }>(
        `SELECT revoked_at IS NOT NULL AS revoked, tokens_used > 500 AS used FROM expansion_grants
         WHERE session_key = ?`,
        child.sessionKey!,
      );
      expect(grants).toEqual([{ revoked: 1, used: 1 }]);
      expect(world().transcript(child.sessionKey!)).toEqual([]);
    });

    test.each(["minimal", "coding", "messaging", "full"])(
      "the tools are listed in the profile %s",
      async (profile) => {
        const config = await world().host.readConfig();
        tools ??= config["tools"] ?? {};
        await setTools({ ...(tools as JsonRecord), profile });
        await world().turn(`agent:main:${profile}`, "hello");
        const request = world().model.requests.at(-1)!;
        expect(ours(request)).toEqual(["lcm_describe", "lcm_expand_query", "lcm_grep"]);
      },
    );

    test("a person reads the same at the terminal", async () => {
      const { stdout } = await world().host.cli(["lcm", "describe", sourceRef(world())]);
      expect(stdout).toContain(FACT);
      const help = await world().host.cli(["lcm", "grep", "--help"]);
      expect(help.stdout).toContain("Examples:");
    });
  });
}

function sourceRef({ memory }: World): string {
  const [row] = memory.all<{ id: number }>(
    "SELECT message_id AS id FROM messages WHERE role = 'user' AND instr(body, ?) > 0",
    FACT,
  );
  return `msg_${row?.id}`;
}

function ours({ toolNames }: RecordedRequest): string[] {
  return toolNames.filter((name) => name.startsWith("lcm_")).toSorted();
}

function isChild({ sessionKey }: RecordedRequest): boolean {
  return sessionKey?.includes(":subagent:lcm-recall-") === true;
}

/** The child reads the message it was told of; the agent passes on what it is told. */
function scriptFor(source: string): Script {
  return (request) => {
    const last = request.messages.findLast(({ role }) => role === "tool")?.text ?? "";
    const isFirst = request.toolResultsSinceUser === 0;
    if (isChild(request)) {
      if (isFirst) return { toolCalls: [{ name: "lcm_describe", arguments: { id: source } }] };
      const answer = `It says: ${/the harbor code is \d+/.exec(last)?.[0]}`;
      return { text: JSON.stringify({ answer, citedIds: [source, "msg_99999"] }) };
    }
    if (!isFirst) return { text: `ANSWER ${last}` };
    const question = { prompt: "What exactly is the harbor code?", summaryIds: [source] };
    return { toolCalls: [{ name: "lcm_expand_query", arguments: question }] };
  };
}
