// The engine coming late, going away and coming back, and configuration that is read live.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { anthropicProvider } from "../harness/host-config.js";
import type { VisibleEntry } from "../harness/host-transcript.js";
import type { JsonRecord } from "../harness/loose-json.js";
import type { World } from "../support/world.js";

export const ANTHROPIC_MODEL = "fake-anthropic/claude-fake";

/** What the host needs for the route on which it never commits a turn. */
export function cacheTtlConfig(origin: string): JsonRecord {
  return {
    models: { providers: { "fake-anthropic": anthropicProvider(origin, "claude-fake") } },
    agents: { defaults: { contextPruning: { mode: "cache-ttl" } } },
  };
}

export function lifecycle(world: () => World): void {
  async function setSlot(slot: string | undefined): Promise<void> {
    await world().host.patchConfig((config) => {
      const plugins = config["plugins"] as { slots: JsonRecord };
      if (slot === undefined) delete plugins.slots["contextEngine"];
      else plugins.slots["contextEngine"] = slot;
    });
  }

  async function setEntry(change: JsonRecord): Promise<void> {
    await world().host.patchConfig((config) => {
      const { entries } = config["plugins"] as { entries: Record<string, JsonRecord> };
      Object.assign(entries["lossless-claw"] as JsonRecord, change);
    });
  }

  /** Writes a transcript into the plugin's database as the takeover of an old file leaves it. */
  function insertAsRelease01(sessionId: string, rows: readonly VisibleEntry[]): void {
    const db = new DatabaseSync(join(world().host.stateDir, "lcm.db"), { timeout: 5_000 });
    const at = new Date().toISOString();
    const { lastInsertRowid: id } = db
      .prepare(
        `INSERT INTO conversations (agent_id, session_key, session_id, unaligned, created_at, updated_at)
         VALUES ('main', 'release-0.1:' || ?1, ?1, 1, ?2, ?2)`,
      )
      .run(sessionId, at);
    const insert = db.prepare(
      `INSERT INTO messages (conversation_id, role, in_context, starts_turn, token_count, created_at, body)
       VALUES (?1, ?2, 1, ?2 = 'user', 1, ?3, ?4)`,
    );
    for (const { message } of rows) {
      const { role, content } = message;
      insert.run(id, String(role), at, JSON.stringify({ role, content }));
    }
    db.close();
  }

  describe("lifecycle", () => {
    test("enabled late, it imports the session that was there, tool calls and times included", async () => {
      const key = "agent:main:late";
      await setSlot(undefined);
      await world().turn(key, "before the plugin");
      await world().turn(key, 'CALL:exec:{"command":"echo early-output"}');
      expect(world().memory.branch(world().sessionId(key))).toEqual([]);
      await setSlot("lossless-claw");
      await world().turn(key, "with the plugin");
      await world().expectStored(key);
      await world().expectReceiptAtHead(key);
      expect(world().memory.events(key)).toEqual({ import: 1 });
      const times = world().memory.all<{ createdAt: string }>(
        `SELECT m.created_at AS createdAt FROM messages m JOIN conversations c USING (conversation_id)
         WHERE c.session_key = ? ORDER BY m.message_id`,
        key,
      );
      expect(times.map((row) => Date.parse(row.createdAt))).toEqual(
        world()
          .transcript(key)
          .map((row) => row.message["timestamp"]),
      );
    });

    test("what release 0.1.x kept finds its key when the session id has changed", async () => {
      const key = "agent:main:taken-over";
      await setSlot(undefined);
      for (const text of ["one", "two"]) await world().turn(key, text);
      const old = world().sessionId(key);
      const rows = world().transcript(key);
      insertAsRelease01(old, rows);
      await world().host.rpc("sessions.rewind", { sessionKey: key, entryId: rows[2]?.entryId });
      await world().turn(key, "another two");
      await setSlot("lossless-claw");
      await world().turn(key, "with the plugin");
      await world().expectStored(key);
      await world().expectStored(key, old);
      expect(
        world().memory.all("SELECT 1 FROM conversations WHERE session_key LIKE 'release-0.1:%'"),
      ).toEqual([]);
    });

    test("taken out of its slot and put back, it fills the turns that legacy served and says so", async () => {
      const key = "agent:main:away";
      await world().turn(key, "with the plugin");
      await setSlot(undefined);
      await world().turn(key, "first without");
      await world().turn(key, "second without");
      await setSlot("lossless-claw");
      await world().turn(key, "with it again");
      await world().expectStored(key);
      expect(world().memory.events(key)).toEqual({ legacy: 2 });
      await world().chat(key, "/lcm", "2 turns served by legacy (last ");
    });

    test("disabled as a plugin and enabled again, it goes on without a loss", async () => {
      const key = "agent:main:disabled";
      await world().turn(key, "enabled");
      await setEntry({ enabled: false });
      await world().turn(key, "while disabled");
      await setEntry({ enabled: true });
      await world().turn(key, "enabled again");
      await world().expectStored(key);
      expect(world().memory.events(key)).toEqual({ legacy: 1 });
    });

    test("`enabled: false` in its configuration turns it off and on without a reload", async () => {
      const key = "agent:main:off";
      await world().turn(key, "on");
      await world().host.setPluginConfig({ enabled: false });
      const from = world().host.log.length;
      await world().turn(key, "off");
      expect(world().engineLog(from)).toEqual({ owned: 0, degraded: 1 });
      await world().chat(key, "/lcm", "Lossless memory is turned off");
      await world().host.setPluginConfig({});
      await world().turn(key, "on again");
      await world().expectStored(key);
    });

    test("bad and unknown settings are named, ignored, and stop nothing", async () => {
      const key = "agent:main:misconfigured";
      await world().host.setPluginConfig({
        freshTailCount: -3,
        ignoreSessionPatterns: 7,
        colour: "red",
      });
      await world().turn(key, "goes on");
      await world().expectStored(key);
      const report = await world().host.cli(["lcm", "status", "--json", "--session", key]);
      expect(report.code).toBe(0);
      expect(JSON.parse(report.stdout)).toMatchObject({
        active: true,
        state: "ready",
        problems: [
          "freshTailCount is -3 but must be a whole number, at least 1; using 32 instead.",
          "ignoreSessionPatterns is 7 but must be a list of session key patterns; using [] instead.",
          "'colour' is not a configuration key of lossless-claw; it is ignored.",
        ],
        status: {
          session: { class: "kept", conversation: { messages: 2 }, head: { state: "equal" } },
        },
      });
      await world().host.setPluginConfig({ ignoreSessionPatterns: ["agent:main:private-*"] });
      await world().turn("agent:main:private-1", "not for the record");
      expect(world().memory.branch(world().sessionId("agent:main:private-1"))).toEqual([]);
      await world().host.setPluginConfig({});
    });

    test("on the route where the host never commits, the transcript brings every turn", async () => {
      const key = "agent:main:ttl";
      await world().host.patchConfig((config) => {
        const { agents, models } = cacheTtlConfig(world().model.origin) as Record<
          string,
          JsonRecord
        >;
        Object.assign(
          (config["agents"] as { defaults: JsonRecord }).defaults,
          agents?.["defaults"],
        );
        Object.assign(
          (config["models"] as { providers: JsonRecord }).providers,
          models?.["providers"],
        );
      });
      const play = (text: string) => world().host.turn(key, text, { model: ANTHROPIC_MODEL });
      await play("one");
      await play('CALL:exec:{"command":"echo two"}');
      await play("three");
      expect(world().memory.receipts(key)).toEqual([]);
      const settled = world().transcript(key).slice(0, -2);
      const stored = world().memory.branch(world().sessionId(key));
      expect(stored.map((row) => row.entryId)).toEqual(settled.map((row) => row.entryId));
      expect(stored.map((row) => row.body)).toEqual(
        settled.map((row) => JSON.stringify(row.message)),
      );
      expect(world().memory.events(key)).toEqual({ gap: 2 });
    });
  });
}
