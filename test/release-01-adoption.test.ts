// Release 0.1.x knew session ids and no keys: what it kept finds its key again when the id has changed.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeHost } from "./support/fake-host.js";
import { userMessage } from "./support/messages.js";
import { createRelease01, type Release01Message } from "./support/release-01.js";
import {
  countMessages,
  openWithHost,
  storedBranch,
  temporaryDirectory,
  viewEntries,
} from "./support/workspace.js";

const KEY = "agent:main:web1";

describe("a database of release 0.1.x whose session got another id before the first new turn", () => {
  const texts = ["one", "two", "three", "four"];
  const oldRows = texts.map((text): Release01Message => ({
    role: "user",
    text,
    createdAt: "2026-02-17 07:37:00",
  }));

  /** `answer` is what the host says to reads of the old session id, until `comeBack`. */
  async function openOld(answer?: "missing" | "unavailable") {
    const host = new FakeHost();
    const ids = texts.map((text) => host.append(KEY, userMessage(text, host.tick())));
    const old = host.ref(KEY);
    const databasePath = join(temporaryDirectory(), "lcm.db");
    createRelease01(databasePath, old.sessionId, oldRows);
    let isAway = answer !== undefined;
    const transcript = host.answering({
      visible: async (session, limits) =>
        isAway && answer && session.sessionId === old.sessionId
          ? { kind: answer, reason: "projection_rebuilding" }
          : host.visible(session, limits),
    });
    const lcm = openWithHost(host, { databasePath, transcript });
    const comeBack = (): void => void (isAway = false);
    return { host, lcm, ids, old, comeBack };
  }

  const bodies = "SELECT body FROM messages GROUP BY body HAVING count(*) > 1";

  it("by a rewind: every row is met once, cut ones too", async () => {
    const { host, lcm, ids, old } = await openOld();
    host.rewind(KEY, ids[2] as string);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    host.append(KEY, userMessage("another three", host.tick()));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(storedBranch(lcm, old)).toEqual(host.transcriptOf(old.sessionId));
    expect(countMessages(lcm)).toBe(5);
    expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
  });

  it("by a rewind, with the old session gone: what is left of it is met", async () => {
    const { host, lcm, ids } = await openOld("missing");
    host.rewind(KEY, ids[2] as string);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(4);
  });

  it("by a rewind, with the old session not readable at first: nothing is stored twice", async () => {
    const { host, lcm, ids, comeBack } = await openOld("unavailable");
    host.rewind(KEY, ids[2] as string);
    host.append(KEY, userMessage("another three", host.tick()));
    await lcm.createEngine().bootstrap(host.ref(KEY));
    comeBack();
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(lcm.stores.db.all(bodies)).toEqual([]);
    expect(countMessages(lcm)).toBe(5);
  });

  it("by a reset: the conversation goes on, and the view begins anew", async () => {
    const { host, lcm, old } = await openOld();
    host.newSessionId(KEY);
    const engine = lcm.createEngine();
    await engine.assemble({ ...host.ref(KEY), messages: [] });
    await engine.commitTurn(host.turn(KEY, [userMessage("today", host.tick())]));
    await engine.maintain(host.ref(KEY));
    expect(storedBranch(lcm, old)).toEqual(host.transcriptOf(old.sessionId));
    expect(countMessages(lcm)).toBe(5);
    expect(viewEntries(lcm, host.ref(KEY))).toEqual(host.activeIds(KEY));
    expect(lcm.stores.status.database().conversations).toBe(1);
  });

  it("is not taken by another key", async () => {
    const { host, lcm } = await openOld();
    const other = "agent:main:web2";
    host.newSessionId(KEY);
    host.append(other, userMessage("one", host.tick()));
    await lcm.createEngine().bootstrap(host.ref(other));
    expect(storedBranch(lcm, host.ref(other))).toEqual(host.transcript(other));
    expect(countMessages(lcm)).toBe(5);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(lcm.stores.status.database().conversations).toBe(2);
  });
});
