// What `lcm status` says of turns that did not come the usual way, and when they happened (G8).

import { describe, expect, it } from "vitest";
import { renderReport } from "../src/cli/render-report.js";
import { makeReport } from "../src/cli/report.js";
import type { Lcm } from "../src/lcm.js";
import { timeFormat } from "../src/time-format.js";
import type { AgentMessage, TranscriptSource } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { openWithHost } from "./support/workspace.js";

const KEY = "agent:main:web1";
const MINUTE = 60_000;

function rows(host: FakeHost, text: string): AgentMessage[] {
  const at = host.tick(MINUTE);
  return [
    userMessage(text, at),
    ...toolLoop(`c${at}`, "out", at + 1),
    assistantMessage(`re: ${text}`, at + 9),
  ];
}

/** The engine serves a turn. `deliver` says whether the host commits it. */
async function serve(host: FakeHost, lcm: Lcm, text: string, deliver = true): Promise<void> {
  const engine = lcm.createEngine();
  await engine.bootstrap(host.ref(KEY));
  await engine.assemble({ ...host.ref(KEY), messages: [] });
  const call = host.turn(KEY, rows(host, text));
  if (deliver) await engine.commitTurn(call);
}

async function openAfterATurn() {
  const host = new FakeHost();
  const lcm = openWithHost(host);
  await serve(host, lcm, "first");
  return { host, lcm };
}

async function status(host: FakeHost, lcm: Lcm) {
  await lcm.createEngine().bootstrap(host.ref(KEY));
  const facts = { slot: "lossless-claw", transcript: host };
  const report = await makeReport(facts, { config: lcm.config, problems: [] }, host.ref(KEY));
  const { conversation, head } = report.status!.session!;
  expect(head.state).toBe("equal");
  return { ...conversation!, text: renderReport(report) };
}

function slashCommand(host: FakeHost): void {
  const at = host.tick(MINUTE);
  host.append(KEY, userMessage("/status", at));
  host.append(KEY, note("all is well", at + 1));
}

function note(text: string, at: number): AgentMessage {
  return { ...assistantMessage(text, at), provider: "openclaw", model: "gateway-injected" };
}

describe("turns that were not delivered", () => {
  it("are gaps, with the time of the last one", async () => {
    const { host, lcm } = await openAfterATurn();
    await serve(host, lcm, "killed", false);
    await serve(host, lcm, "too large", false);
    const { gapsFilled, lastGapAt, legacyTurns, text } = await status(host, lcm);
    expect({ gapsFilled, legacyTurns }).toEqual({ gapsFilled: 2, legacyTurns: 0 });
    expect(lastGapAt).toBe("2026-11-18T08:03:00.000Z");
    expect(text).toContain("12 messages, 2 gaps filled (last 2026-11-18 08:03 UTC), no fall-back");
  });

  it("count as one gap when the user steered, however often", async () => {
    const { host, lcm } = await openAfterATurn();
    const engine = lcm.createEngine();
    await engine.bootstrap(host.ref(KEY));
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    const [prompt, ...work] = rows(host, "do it") as [AgentMessage, ...AgentMessage[]];
    host.append(KEY, prompt);
    for (const text of ["no, the other one", "and hurry"]) {
      host.append(KEY, {
        ...userMessage(text, host.tick()),
        __openclaw: { steerTargetRunId: "run-1" },
      });
      host.rotate(KEY);
    }
    for (const message of work) host.append(KEY, message);
    const { gapsFilled, legacyTurns, messages } = await status(host, lcm);
    expect({ gapsFilled, legacyTurns, messages }).toEqual({
      gapsFilled: 1,
      legacyTurns: 0,
      messages: 10,
    });
  });

  it("are a gap when nothing but the prompt is left, in the first turn too", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    const at = host.tick();
    host.tick(10);
    await lcm.createEngine().assemble({ ...host.ref(KEY), messages: [] });
    host.append(KEY, userMessage("killed in the model call", at));
    expect(await status(host, lcm)).toMatchObject({ gapsFilled: 1, imported: 0 });
  });

  it("are not counted again by the next reads", async () => {
    const { host, lcm } = await openAfterATurn();
    await serve(host, lcm, "killed", false);
    await status(host, lcm);
    host.rotate(KEY);
    expect(await status(host, lcm)).toMatchObject({ gapsFilled: 1, legacyTurns: 0 });
  });
});

describe("turns the host ran without asking for a view", () => {
  it("are reported as served by legacy, with the time of the last one", async () => {
    const { host, lcm } = await openAfterATurn();
    for (const text of ["alone", "alone again"]) host.turn(KEY, rows(host, text));
    const { gapsFilled, legacyTurns, lastLegacyAt, text } = await status(host, lcm);
    expect({ gapsFilled, legacyTurns }).toEqual({ gapsFilled: 0, legacyTurns: 2 });
    expect(lastLegacyAt).toBe("2026-11-18T08:03:00.000Z");
    expect(text).toContain("no gaps, 2 turns served by legacy (last 2026-11-18 08:03 UTC)");
  });

  it("are told from turns that were served and not delivered", async () => {
    const { host, lcm } = await openAfterATurn();
    host.turn(KEY, rows(host, "alone"));
    await serve(host, lcm, "served", false);
    host.turn(KEY, rows(host, "alone again"));
    expect(await status(host, lcm)).toMatchObject({ gapsFilled: 1, legacyTurns: 2 });
  });
});

describe("rows beside the turns", () => {
  it("are neither gaps nor turns on legacy", async () => {
    const { host, lcm } = await openAfterATurn();
    slashCommand(host);
    host.append(KEY, note("by an operator", host.tick()));
    const { text, ...counts } = await status(host, lcm);
    expect(counts).toMatchObject({ gapsFilled: 0, legacyTurns: 0, messages: 7 });
    expect(text).toContain("7 messages, no gaps, no fall-back to legacy.");
  });

  it.each([1, 2, 3, 500])(
    "do not end the turn that runs while a command is sent (pages of %i)",
    async (pageItems) => {
      const { host, lcm } = await openAfterATurn();
      const engine = lcm.createEngine();
      await engine.bootstrap(host.ref(KEY));
      await engine.assemble({ ...host.ref(KEY), messages: [] });
      const [prompt, call, result, reply] = rows(host, "long work") as [
        AgentMessage,
        AgentMessage,
        AgentMessage,
        AgentMessage,
      ];
      host.append(KEY, prompt);
      slashCommand(host);
      for (const message of [call, result]) host.append(KEY, message);
      slashCommand(host);
      host.append(KEY, reply);
      host.pageItems = pageItems;
      expect(await status(host, lcm)).toMatchObject({ gapsFilled: 1, legacyTurns: 0 });
      const asides = "SELECT sum(message_count) AS rows FROM sync_events WHERE kind = 'aside'";
      expect(lcm.stores.db.get(asides)).toEqual({ rows: 4 });
    },
  );

  it("do not hide the turn that follows them", async () => {
    const { host, lcm } = await openAfterATurn();
    slashCommand(host);
    host.turn(KEY, rows(host, "alone"));
    expect(await status(host, lcm)).toMatchObject({ gapsFilled: 0, legacyTurns: 1 });
  });
});

describe("history from before the engine", () => {
  it("is an import, not a gap", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host);
    for (const text of ["one", "two"]) host.turn(KEY, rows(host, text));
    slashCommand(host);
    expect(await status(host, lcm)).toMatchObject({ imported: 10, gapsFilled: 0, legacyTurns: 0 });
    await serve(host, lcm, "through the engine");
    host.turn(KEY, rows(host, "alone"));
    expect(await status(host, lcm)).toMatchObject({ imported: 10, gapsFilled: 0, legacyTurns: 1 });
  });

  it("is one even when it takes several turns to read", async () => {
    const host = new FakeHost();
    for (let index = 0; index < 300; index += 1) host.turn(KEY, rows(host, `m${index}`));
    const lcm = openWithHost(host, { transcript: slowed(host) });
    const engine = lcm.createEngine();
    await expect(engine.bootstrap(host.ref(KEY))).resolves.toMatchObject({
      reason: "more is left to import",
    });
    host.tick();
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    await engine.commitTurn(host.turn(KEY, rows(host, "through the engine")));
    const counts = await status(host, lcm);
    expect(counts).toMatchObject({ imported: 1_200, gapsFilled: 0, legacyTurns: 0 });
  });
});

/** A host that takes longer over its first page than a bootstrap waits. */
function slowed(host: FakeHost): TranscriptSource {
  let pause = 1_100;
  return host.answering({
    visible: async (session, limits) => {
      const page = await host.visible(session, limits);
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = 0;
      return page;
    },
  });
}

describe("times", () => {
  it("are shown in the configured zone", async () => {
    const host = new FakeHost();
    const lcm = openWithHost(host, { config: { timezone: "Asia/Kolkata" } });
    await serve(host, lcm, "first");
    expect((await status(host, lcm)).text).toContain(`since 2026-11-18 13:30 GMT+5:30.`);
  });

  it.each([
    ["2026-02-17T23:37:00.000Z", "UTC", "2026-02-17 23:37 UTC"],
    ["2026-02-17T23:37:00.000Z", "America/Los_Angeles", "2026-02-17 15:37 PST"],
    ["2026-02-18T00:00:00.000Z", "UTC", "2026-02-18 00:00 UTC"],
    ["2026-02-18T08:00:59.999Z", "America/Los_Angeles", "2026-02-18 00:00 PST"],
    ["2026-12-31T23:30:00.000Z", "Europe/Berlin", "2027-01-01 00:30 GMT+1"],
    ["2026-03-08T09:59:00.000Z", "America/Los_Angeles", "2026-03-08 01:59 PST"],
    ["2026-03-08T10:00:00.000Z", "America/Los_Angeles", "2026-03-08 03:00 PDT"],
    ["2026-11-01T08:30:00.000Z", "America/Los_Angeles", "2026-11-01 01:30 PDT"],
    ["2026-11-01T09:30:00.000Z", "America/Los_Angeles", "2026-11-01 01:30 PST"],
    ["2026-06-01T12:00:00.000Z", "Asia/Kolkata", "2026-06-01 17:30 GMT+5:30"],
    ["2026-06-01T12:00:00.000Z", "Asia/Kathmandu", "2026-06-01 17:45 GMT+5:45"],
    ["2026-06-01T12:00:00.000Z", "Australia/Lord_Howe", "2026-06-01 22:30 GMT+10:30"],
    ["no time at all", "UTC", "no time at all"],
  ])("%s in %s reads %s", (iso, zone, shown) => {
    expect(timeFormat(zone).timestamp(iso)).toBe(shown);
  });
});
