// Sessions that are private, deleted, or children of others.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { str } from "../harness/loose-json.js";
import { waitUntil } from "../harness/wait-until.js";
import type { World } from "../support/world.js";

export function sessions(world: () => World): void {
  /** The plugin's files that hold a text, whatever their kind. */
  function ownFilesWith(text: string): string[] {
    const { stateDir } = world().host;
    const needle = Buffer.from(text);
    return readdirSync(stateDir)
      .filter((name) => name.startsWith("lcm"))
      .filter((name) => readFileSync(join(stateDir, name)).includes(needle));
  }

  describe("sessions", () => {
    test("an incognito session leaves no byte of itself behind", async () => {
      const { host } = world();
      const created = (await host.rpc("sessions.create", { incognito: true })) as { key: string };
      const key = str(created.key);
      expect(key).toContain(":incognito-");
      expect(await world().turn(key, "the code word is XYZZY-4711")).toContain("XYZZY-4711");
      await world().turn(key, 'CALL:exec:{"command":"echo PLUGH-4711"}');
      await host.rpc("sessions.delete", { key });
      await world().turn("agent:main:public", "an ordinary session has MARKER-4711");
      expect(ownFilesWith("MARKER-4711")).not.toEqual([]);
      for (const secret of ["XYZZY-4711", "PLUGH-4711", key.split("incognito-")[1] as string]) {
        expect(ownFilesWith(secret)).toEqual([]);
      }
    });

    test("a deleted session is hidden, kept, and its key can be used again", async () => {
      const key = "agent:main:deleted";
      await world().turn(key, "remember me");
      await world().host.rpc("sessions.delete", { key });
      const hidden = () =>
        world().memory.all<{ hidden: number; messages: number }>(
          `SELECT hidden_at IS NOT NULL AS hidden,
                  (SELECT count(*) FROM messages m WHERE m.conversation_id = c.conversation_id) AS messages
           FROM conversations c WHERE session_key = ? ORDER BY conversation_id`,
          key,
        );
      await waitUntil("the conversation to be hidden", () => hidden()[0]?.hidden === 1);
      await world().turn(key, "a new beginning");
      await world().expectStored(key);
      expect(hidden()).toEqual([
        { hidden: 1, messages: 2 },
        { hidden: 0, messages: 2 },
      ]);
      expect(world().memory.view(key)).toEqual(
        world()
          .transcript(key)
          .map((row) => row.entryId),
      );
    });

    test("a sub-agent's session is a conversation of its own, linked to its parent", async () => {
      const key = "agent:main:boss";
      world().model.setScript((request) => {
        const isChild = request.sessionKey?.includes(":subagent:") === true;
        if (isChild) return { text: "the child counted to three" };
        const asks =
          request.lastUserText === "please delegate" && request.toolResultsSinceUser === 0;
        if (!asks) return { text: "delegated" };
        const spawn = { id: "openclaw:core:sessions_spawn", args: { task: "count to three" } };
        return { toolCalls: [{ name: "tool_call", arguments: spawn }] };
      });
      await world().host.chatSend(key, "please delegate");
      const child = await world().model.waitForRequest(
        (request) => request.sessionKey?.includes(":subagent:") === true,
      );
      const childKey = child.sessionKey as string;
      const link = () =>
        world().memory.all<{ parent: string; ended: number }>(
          `SELECT parent_session_key AS parent, ended_at IS NOT NULL AS ended
           FROM subagent_links WHERE child_session_key = ?`,
          childKey,
        );
      await waitUntil("the child to end", () => link()[0]?.ended === 1);
      expect(link()).toEqual([{ parent: key, ended: 1 }]);
      world().model.resetScript();
      await world().turn(key, "and back to work");
      await world().expectStored(key);
      await world().expectStored(childKey);
      expect(world().memory.events(key)["legacy"]).toBeUndefined();
    });
  });
}
