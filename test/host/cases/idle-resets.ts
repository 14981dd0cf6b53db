// Idle resets, which keep the session id on one path of the host and change it on another. The host
// counts whole minutes, so the sessions are played first and looked at last.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { World } from "../support/world.js";

const BY_CHAT = "agent:main:idle-chat";
const BY_HTTP = "agent:main:idle-http";
const IDLE_MS = 61_000;

export function idleResets(world: () => World): { begin(): void; end(): void } {
  let lastTurnAt = 0;

  const begin = (): void => {
    test("two sessions are left alone for a minute", async () => {
      for (const text of ["one", "two", "three", "four"]) {
        await world().chat(BY_CHAT, text, `to: ${text}`);
        await world().turn(BY_HTTP, text);
      }
      // The host never commits this one, and the next turn has another session id.
      await world().steeredTurn(BY_HTTP, "the last of the day", "and one more");
      lastTurnAt = Date.now();
    });
  };

  const end = (): void => {
    describe("idle resets", () => {
      test(
        "the one that keeps the session id shows the tail it kept",
        { timeout: 120_000 },
        async () => {
          await sleep(Math.max(0, lastTurnAt + IDLE_MS - Date.now()));
          await world().host.patchConfig((config) => {
            config["session"] = { reset: { mode: "idle", idleMinutes: 1 } };
          }, /config change detected/);
          const before = world().sessionId(BY_CHAT);
          await world().chat(BY_CHAT, "back again", "to: back again");
          await world().turn(BY_CHAT, "and on");
          expect(world().sessionId(BY_CHAT)).toBe(before);
          await world().expectStored(BY_CHAT);
          const tail = world().transcript(BY_CHAT).slice(2);
          expect(world().memory.view(BY_CHAT)).toEqual(tail.map((row) => row.entryId));
        },
      );

      test("the one that changes it begins an empty segment and keeps the history", async () => {
        const before = world().sessionId(BY_HTTP);
        await world().turn(BY_HTTP, "a new day");
        const after = world().sessionId(BY_HTTP);
        expect(after).not.toBe(before);
        await world().expectStored(BY_HTTP);
        await world().expectStored(BY_HTTP, before);
        expect(world().memory.branch(before).length).toBeGreaterThan(8);
        expect(world().memory.events(BY_HTTP)).toEqual({ gap: 1 });
        expect(world().memory.view(BY_HTTP)).toEqual(
          world()
            .transcript(BY_HTTP)
            .map((row) => row.entryId),
        );
        const conversations = world().memory.all(
          "SELECT count(*) AS count FROM conversations WHERE session_key = ?",
          BY_HTTP,
        );
        expect(conversations).toEqual([{ count: 1 }]);
      });
    });
  };

  return { begin, end };
}
