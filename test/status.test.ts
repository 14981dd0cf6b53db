// The report behind `/lcm` and `openclaw lcm status`: where things stand, and what the host did to them.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { renderReport } from "../src/cli/render-report.js";
import { makeReport, type Report } from "../src/cli/report.js";
import { resolveConfig } from "../src/db/config.js";
import { openLcm } from "../src/lcm.js";
import type { SessionRef } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { createRelease01 } from "./support/release-01.js";
import { temporaryDirectory } from "./support/workspace.js";

const KEY = "agent:main:web1";

class World {
  readonly host = new FakeHost();
  readonly directory = temporaryDirectory();
  readonly databasePath = join(this.directory, "lcm.db");
  slot: string | undefined = "lossless-claw";

  /** A turn that runs through the engine; the host delivers it unless told otherwise. */
  async turn(text: string, { delivered = true } = {}): Promise<void> {
    const { host, databasePath } = this;
    const lcm = openLcm({ databasePath, transcript: host, now: host.now });
    const engine = lcm.createEngine();
    await engine.bootstrap(host.ref(KEY));
    const call = this.play(text);
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    if (delivered) await engine.commitTurn(call);
    lcm.close();
  }

  /** A turn the engine hears nothing of. */
  play(text: string) {
    const { host } = this;
    const rows = [userMessage(text, host.tick()), assistantMessage(`re: ${text}`, host.tick())];
    return host.turn(KEY, rows);
  }

  async sync(): Promise<void> {
    const { host, databasePath } = this;
    const lcm = openLcm({ databasePath, transcript: host, now: host.now });
    await lcm.createEngine().bootstrap(host.ref(KEY));
    lcm.close();
  }

  async report(pluginConfig: object = {}, session?: SessionRef): Promise<Report> {
    const resolved = resolveConfig({
      env: {},
      pluginConfig,
      stateDir: this.directory,
      homeDir: "/home",
    });
    const report = await makeReport({ slot: this.slot, transcript: this.host }, resolved, session);
    return JSON.parse(JSON.stringify(report)) as Report;
  }

  async sessionReport(pluginConfig: object = {}) {
    const report = await this.report(pluginConfig, this.host.ref(KEY));
    return { session: report.status!.session!, text: renderReport(report) };
  }
}

describe("whether it works", () => {
  it("before there is a database, which asking does not make", async () => {
    const world = new World();
    const report = await world.report({}, world.host.ref(KEY));
    expect(report).toMatchObject({ active: true, state: "absent", slot: "lossless-claw" });
    expect(renderReport(report)).toBe(
      `Lossless memory is active; no turn has run through it yet.
Database: ${world.databasePath}, made by the first turn.`,
    );
    expect(readdirSync(world.directory)).toEqual([]);
  });

  it("leaves a database of an earlier release as it is, and says what will become of it", async () => {
    const world = new World();
    createRelease01(world.databasePath, "old-session", []);
    const before = readFileSync(world.databasePath);
    const report = await world.report({}, world.host.ref(KEY));
    expect(report).toMatchObject({ active: true, state: "waiting" });
    expect(renderReport(report)).toContain("the first turn backs it up and takes it over");
    expect(readFileSync(world.databasePath).equals(before)).toBe(true);
    expect(readdirSync(world.directory)).toEqual(["lcm.db"]);
  });

  it("before there is a conversation", async () => {
    const world = new World();
    openLcm({ databasePath: world.databasePath }).close();
    const report = await world.report();
    expect(report).toMatchObject({ active: true, state: "ready", status: { recent: [] } });
    expect(renderReport(report)).toMatch(
      /^Lossless memory is active\.\nSummaries today: 0 calls, 0 of 5,000,000 tokens\.\nDatabase: .*lcm\.db, [\d.]+ KiB, 0 messages in 0 conversations\.$/,
    );
    const { session, text } = await world.sessionReport();
    expect(session).toMatchObject({ conversation: null, head: { state: "unknown" } });
    expect(text).toMatch(`Lossless memory is active; no turn of ${KEY} has run through it yet.`);
  });

  it("when it is turned off", async () => {
    const world = new World();
    await world.turn("hello");
    const report = await world.report({ enabled: false });
    expect(report).toMatchObject({ active: false, enabled: false, state: "ready" });
    expect(renderReport(report)).toMatch(/turned off: enabled \(LCM_ENABLED\) is false/);
  });

  it.each([
    [undefined, "legacy"],
    ["another-engine", "another-engine"],
  ])("when the slot holds %s", async (slot, shown) => {
    const world = new World();
    await world.turn("hello");
    world.slot = slot;
    const report = await world.report();
    expect(report).toMatchObject({ active: false, slot: shown, state: "ready" });
    expect(renderReport(report)).toContain(
      `the context engine slot holds "${shown}". Set plugins.slots`,
    );
  });

  it("when the database is broken", async () => {
    const world = new World();
    writeFileSync(world.databasePath, "not a database ".repeat(100));
    const report = await world.report({}, world.host.ref(KEY));
    expect(report).toMatchObject({ active: false, state: "broken" });
    expect(report.error).toContain(world.databasePath);
    expect(renderReport(report)).toMatch(
      /^Lossless memory is not working.*is not a SQLite database/,
    );
  });

  it("for sessions that are not kept", async () => {
    const world = new World();
    await world.turn("hello");
    const ignored = await world.sessionReport({ ignoreSessionPatterns: ["agent:main:**"] });
    expect(ignored.session.class).toBe("ignored");
    expect(ignored.text).toContain(`does not store ${KEY}`);
    const stateless = await world.sessionReport({ statelessSessionPatterns: [KEY] });
    expect(stateless.session.class).toBe("stateless");
    expect(stateless.text).toContain(`adds nothing for ${KEY}`);
  });

  it("with what is wrong with the configuration", async () => {
    const world = new World();
    const report = await world.report({ freshTailCount: "many", colour: "red" });
    expect(report.problems).toHaveLength(2);
    const text = renderReport(report);
    expect(text).toMatch(/^Configuration: .*freshTailCount.*many/m);
    expect(text).toMatch(/^Configuration: 'colour' is not a configuration key/m);
  });
});

describe("how the store compares with the transcript", () => {
  it("when it equals it", async () => {
    const world = new World();
    await world.turn("one");
    await world.turn("two");
    const { session, text } = await world.sessionReport();
    expect(session.head).toEqual({ state: "equal", position: 3 });
    expect(session.conversation).toMatchObject({ messages: 4, gapsFilled: 0, legacyTurns: 0 });
    expect(text).toContain(`active for ${KEY} since 2026-11-18 08:00 UTC.`);
    expect(text).toContain("Stored: 4 messages, no gaps, no fall-back to legacy.");
    expect(text).toMatch(
      /Last receipt: 2026-11-18 08:00 UTC, 2 messages up to entry [\w-]+\. The store equals the transcript\./,
    );
  });

  it("when it is behind", async () => {
    const world = new World();
    await world.turn("one");
    world.play("two");
    const { session, text } = await world.sessionReport();
    expect(session.head).toEqual({ state: "behind", missing: 2, more: false });
    expect(text).toContain("The transcript is 2 messages ahead; the next turn fills them in.");
    world.host.append(KEY, userMessage("three", world.host.tick()));
    expect((await world.sessionReport()).session.head).toEqual({
      state: "behind",
      missing: 3,
      more: false,
    });
  });

  it("when a turn before the last one is missing", async () => {
    const world = new World();
    const { host, databasePath } = world;
    await world.turn("one");
    world.play("missed");
    const late = world.play("delivered");
    const lcm = openLcm({ databasePath, transcript: host, now: host.now });
    await lcm.createEngine().commitTurn(late);
    lcm.close();
    expect((await world.sessionReport()).session.head).toEqual({
      state: "behind",
      missing: 2,
      more: false,
    });
    await world.sync();
    expect((await world.sessionReport()).session.head).toEqual({ state: "equal", position: 5 });
  });

  it("when the transcript can not tell", async () => {
    const world = new World();
    await world.turn("one");
    await world.sync();
    world.host.unavailable = true;
    expect((await world.sessionReport()).text).toContain(
      "was not compared: projection_rebuilding.",
    );
    world.host.unavailable = false;
    world.host.rotate(KEY);
    expect((await world.sessionReport()).text).toContain(
      "was not compared: the transcript was rotated",
    );
  });
});

describe("conversations deleted in the host", () => {
  it("are counted and not shown", async () => {
    const world = new World();
    await world.turn("secret");
    const lcm = openLcm({ databasePath: world.databasePath });
    await lcm.createEngine().sessionDeleted({ sessionKey: KEY });
    lcm.close();
    const report = await world.report();
    expect(report.status).toMatchObject({ database: { hiddenConversations: 1 }, recent: [] });
    const text = renderReport(report);
    expect(text).toContain("2 messages in 0 conversations (and 1 deleted in OpenClaw)");
    expect(text).not.toContain(KEY);
    expect((await world.sessionReport()).session.conversation).toBeNull();
  });
});
