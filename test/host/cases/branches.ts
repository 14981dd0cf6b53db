// Rewinds, switches, forks and resets that keep the session id.

import { describe, expect, test } from "vitest";
import { str } from "../harness/loose-json.js";
import type { World } from "../support/world.js";

export function branches(world: () => World): void {
  const entries = (key: string) => world().transcript(key);
  const field = (answer: unknown, name: string) => str((answer as Record<string, unknown>)[name]);

  /** What the last request of a session showed the model of the conversation, in order. */
  const userTexts = (key: string): string[] =>
    world()
      .lines(key)
      .filter((line) => line.startsWith("user: "))
      .map((line) => line.slice(6));

  const viewUserTexts = (key: string): string[] => {
    const shown = new Set(world().memory.view(key));
    return entries(key)
      .filter((row) => shown.has(row.entryId) && row.message["role"] === "user")
      .map((row) => String(row.message["content"]));
  };

  async function play(key: string, ...texts: string[]): Promise<void> {
    for (const text of texts) await world().turn(key, text);
  }

  describe("branches", () => {
    test("rewind, resend, and switch back to the old branch", async () => {
      const key = "agent:main:rewind";
      const from = world().host.log.length;
      await play(key, "one", 'CALL:exec:{"command":"echo two"}', "three");
      await world().expectStored(key);
      const old = entries(key);
      const second = old.find((row) => String(row.message["content"]).startsWith("CALL:"));
      await world().host.rpc("sessions.rewind", { sessionKey: key, entryId: second?.entryId });
      await play(key, "two again");
      expect(userTexts(key)).toEqual(["one", "two again"]);
      await world().expectStored(key);
      await world().expectReceiptAtHead(key);
      expect(viewUserTexts(key)).toEqual(["one", "two again"]);

      const leafEntryId = old.at(-1)?.entryId;
      await world().host.rpc("sessions.branches.switch", { sessionKey: key, leafEntryId });
      await play(key, "four");
      expect(userTexts(key)).toEqual(["one", 'CALL:exec:{"command":"echo two"}', "three", "four"]);
      await world().expectStored(key);
      await world().expectReceiptAtHead(key);
      expect(viewUserTexts(key)).toEqual(userTexts(key));
      expect(world().memory.events(key)).toEqual({});
      expect(world().engineLog(from)).toEqual({ owned: 5, degraded: 0 });
    });

    test("a steered turn that a rewind takes off the branch is stored with the session it left", async () => {
      const key = "agent:main:steered-rewind";
      await play(key, "one");
      const left = world().sessionId(key);
      await world().steeredTurn(key, "one way", "no, this way");
      const start = entries(key).find((row) => row.message["content"] === "one way");
      await world().host.rpc("sessions.rewind", { sessionKey: key, entryId: start?.entryId });
      expect(world().sessionId(key)).not.toBe(left);
      await play(key, "another way");
      await world().expectStored(key);
      await world().expectStored(key, left);
      expect(world().memory.branch(left)).toHaveLength(6);
      expect(viewUserTexts(key)).toEqual(["one", "another way"]);
      expect(world().memory.events(key)).toEqual({ gap: 1 });
    });

    test("a rewind to the first message starts over", async () => {
      const key = "agent:main:rewind-all";
      await play(key, "one", "two");
      const entryId = entries(key)[0]?.entryId;
      await world().host.rpc("sessions.rewind", { sessionKey: key, entryId });
      await play(key, "other");
      await world().expectStored(key);
      expect(viewUserTexts(key)).toEqual(["other"]);
    });

    test("forks, by entry and whole, are conversations that name their parent", async () => {
      const key = "agent:main:parent";
      await play(key, "one", "two");
      const entryId = entries(key)[2]?.entryId;
      const byEntry = field(
        await world().host.rpc("sessions.fork", { sessionKey: key, entryId }),
        "sessionKey",
      );
      const whole = field(
        await world().host.rpc("sessions.create", { parentSessionKey: key, fork: true }),
        "key",
      );
      await play(byEntry, "in the fork by entry");
      await play(whole, "in the whole fork");
      expect(userTexts(byEntry)).toEqual(["one", "in the fork by entry"]);
      expect(userTexts(whole)).toEqual(["one", "two", "in the whole fork"]);
      for (const child of [byEntry, whole]) {
        await world().expectStored(child);
        const [row] = world().memory.all<{ parent: string }>(
          `SELECT p.session_key AS parent FROM conversations c
           JOIN conversations p ON p.conversation_id = c.forked_from WHERE c.session_key = ?`,
          child,
        );
        expect(row?.parent).toBe(key);
      }
      await world().expectStored(key);
      expect(viewUserTexts(key)).toEqual(["one", "two"]);
    });

    test("a reset that keeps the session id starts the view anew and keeps the history", async () => {
      const key = "agent:main:reset";
      await play(key, "yesterday", "still yesterday");
      const before = world().sessionId(key);
      await world().host.rpc("sessions.reset", { key, reason: "new" });
      await play(key, "today", "later today");
      expect(world().sessionId(key)).toBe(before);
      await world().expectStored(key);
      await world().expectReceiptAtHead(key);
      expect(userTexts(key)).toEqual(["yesterday", "still yesterday", "today", "later today"]);
      expect(viewUserTexts(key)).toEqual(["today", "later today"]);
    });

    test("a rewind to the first message after a reset keeps to the reset", async () => {
      const key = "agent:main:reset-rewind";
      await play(key, "yesterday");
      await world().host.rpc("sessions.reset", { key, reason: "new" });
      await play(key, "today");
      const entryId = entries(key)[2]?.entryId;
      await world().host.rpc("sessions.rewind", { sessionKey: key, entryId });
      await play(key, "today, in other words");
      await world().expectStored(key);
      expect(viewUserTexts(key)).toEqual(["today, in other words"]);
    });
  });
}
