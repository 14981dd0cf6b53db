// Ordinary turns, and rows that the host never commits.

import { describe, expect, test } from "vitest";
import { prose } from "../../support/prose.js";
import type { RecordedRequest } from "../harness/model-types.js";
import { waitUntil } from "../harness/wait-until.js";
import { requestTokens } from "../support/summary-script.js";
import type { World } from "../support/world.js";

/** Of the model `fake-2`. */
const SMALL_WINDOW = 32_000;

/** Comes first: nothing has run through the plugin yet. */
export function firstContact(world: () => World): void {
  test("/lcm answers before any conversation exists", async () => {
    const answer = "Lossless memory is active; no turn has run through it yet.";
    await world().chat("agent:main:fresh", "/lcm", answer);
  });
}

export function turns(world: () => World): void {
  describe("turns", () => {
    test("20 turns with tool calls: receipt at the head, engine in charge, all stored", async () => {
      const key = "agent:main:twenty";
      const from = world().host.log.length;
      for (let turn = 1; turn <= 20; turn += 1) {
        const text = `CALL:exec:{"command":"echo out-${turn}"}`;
        expect(await world().turn(key, text)).toContain("REPLY");
        await world().expectReceiptAtHead(key);
        expect(world().engineLog(from)).toEqual({ owned: turn, degraded: 0 });
      }
      expect(world().transcript(key)).toHaveLength(80);
      await world().expectStored(key);
      expect(world().memory.receipts(key)).toHaveLength(20);
      expect(world().memory.events(key)).toEqual({});
    });

    test("the model receives the conversation whole and in order", async () => {
      const key = "agent:main:view";
      await world().turn(key, "alpha");
      await world().turn(key, 'CALL:exec:{"command":"echo beta-output"}');
      await world().turn(key, "gamma");
      const seen = world()
        .model.requests.findLast((request) => request.sessionKey === key)
        ?.messages.map((message) => message.text)
        .join("\n");
      const order = ["alpha", "REPLY", "beta-output", "gamma"].map((text) => seen?.indexOf(text));
      expect(order.every((index) => index !== undefined && index >= 0)).toBe(true);
      expect(order).toEqual(order.toSorted((a, b) => Number(a) - Number(b)));
      expect(world().memory.view(key)).toEqual(
        world()
          .transcript(key)
          .map((row) => row.entryId),
      );
    });

    test("two sessions at the same time", async () => {
      const keys = ["agent:main:left", "agent:main:right"];
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(
          keys.map((key) => world().turn(key, `CALL:exec:{"command":"echo ${key}-${round}"}`)),
        );
      }
      for (const key of keys) await world().expectStored(key);
    });

    test("slash-command rows and an injected note are filled in, and count as asides", async () => {
      const key = "agent:main:asides";
      await world().turn(key, "before");
      await world().chat(key, "/lcm", "Lossless memory is active for agent:main:asides since");
      await world().host.rpc("chat.inject", {
        sessionKey: key,
        message: "a note from the operator",
      });
      await world().turn(key, "after");
      await world().expectStored(key);
      await world().expectReceiptAtHead(key);
      expect(world().lines(key)).toContain("assistant: a note from the operator");
      expect(world().memory.events(key)).toEqual({ aside: 1 });
      const shown = world().memory.view(key);
      const note = world()
        .transcript(key)
        .find((row) => row.message["model"] === "gateway-injected");
      expect(shown).not.toContain(note?.entryId);
    });

    test("three steered turns are filled in before the next turn, each as one gap", async () => {
      const key = "agent:main:steered";
      const from = world().host.log.length;
      await world().turn(key, "calm");
      for (const round of [1, 2, 3]) {
        await world().steeredTurn(key, `start ${round}`, `change ${round}`);
        await world().turn(key, `next ${round}`);
        await world().expectReceiptAtHead(key);
        await world().expectStored(key);
        expect(world().engineLog(from)).toEqual({ owned: 1 + round * 2, degraded: 0 });
      }
      expect(world().memory.events(key)).toEqual({ gap: 3 });
    });

    test("a heartbeat turn is recorded", async () => {
      const key = "agent:main:main";
      await world().host.rpc("set-heartbeats", { enabled: true });
      await world().host.rpc("wake", { mode: "now", text: "wake up" });
      await waitUntil("the heartbeat's turn", () => world().memory.receipts(key).length === 1);
      await world().host.rpc("set-heartbeats", { enabled: false });
      expect(world().lines(key)[0]).toBe("user: [OpenClaw heartbeat poll]");
      await world().expectStored(key);
    });

    test("a heartbeat turn leaves nothing when heartbeats are skipped", async () => {
      const key = "agent:main:main";
      await world().host.setPluginConfig({ skipHeartbeats: true });
      const before = world().transcript(key).length;
      await world().host.rpc("set-heartbeats", { enabled: true });
      await world().host.rpc("wake", { mode: "now", text: "wake up again" });
      await waitUntil("the heartbeat's reply", () => world().transcript(key).length >= before + 2);
      await world().host.rpc("set-heartbeats", { enabled: false });
      const polled = world().transcript(key).slice(before);
      expect(world().lines(key)[before]).toBe("user: [OpenClaw heartbeat poll]");
      await world().turn(key, "real work");
      await waitUntil("the turn", () => world().memory.receipts(key).length === 3);
      const stored = world().memory.branch(world().sessionId(key));
      expect(stored.map((row) => row.position)).toEqual(
        world()
          .transcript(key)
          .map((row) => row.position)
          .filter((position) => !polled.some((row) => row.position === position)),
      );
      const tombstones = world().memory.all<{ entryId: string }>(
        "SELECT entry_id AS entryId FROM tombstones",
      );
      expect(tombstones.map((row) => row.entryId).toSorted()).toEqual(
        polled.map((row) => row.entryId).toSorted(),
      );
      await world().host.setPluginConfig({});
    });

    test("a 9 MiB user message, which the host never commits, is stored whole", async () => {
      const key = "agent:main:huge";
      await world().turn(key, "small");
      await world().turn(key, `${"0123456789abcdef".repeat(590_000)} end`);
      expect(world().memory.receipts(key)).toHaveLength(1);
      await world().turn(key, "small again");
      await world().expectStored(key);
      expect(world().memory.events(key)).toEqual({ gap: 1 });
    });

    test("a history of 58,000 tokens goes on in a window of 32,000", async () => {
      const key = "agent:main:smaller";
      for (let turn = 1; turn <= 16; turn += 1) {
        await world().turn(key, `LARGE-${turn} ${prose(3_000, turn)}`);
      }
      expect(requestTokens(requestsOf(key, "fake-1").at(-1)!)).toBeGreaterThan(58_000);
      await world().host.rpc("sessions.patch", { key, model: "fake/fake-2" });
      const from = world().host.log.length;
      // By chat, because the host demands space before a turn on no other route.
      await world().chat(key, "in less room", " to: in less room");
      expect(world().host.log.slice(from)).toMatch(
        /asked to compact agent:main:smaller \(budget\): \d+ tokens became \d+[^]*\[context-overflow-precheck\]/,
      );
      expect(await world().turn(key, "and on")).toContain("to: and on");
      const small = requestsOf(key, "fake-2");
      expect(small).toHaveLength(2);
      for (const request of small) {
        expect(requestTokens(request)).toBeLessThan(SMALL_WINDOW);
        const shown = request.messages.map(({ text }) => text).join("\n");
        expect(shown).toMatch(/<(?:summary id|folded messages)="[^]* LARGE-16 /);
      }
      await world().expectStored(key);
      await world().expectReceiptAtHead(key);
    });
  });

  function requestsOf(key: string, model: string): RecordedRequest[] {
    return world().model.requests.filter(
      (request) => request.sessionKey === key && request.model === model,
    );
  }
}
