// A commit names only the entries at both ends of its turn. Which entry each row between them is must
// never be guessed: a message can not be given another one's place (G1, G2).

import { describe, expect, it } from "vitest";
import type { Lcm } from "../src/lcm.js";
import type { CommitTurnCall } from "../src/host-calls.js";
import type { TranscriptSource } from "../src/types.js";
import { FakeHost } from "./support/fake-host.js";
import { assistantMessage, toolLoop, userMessage } from "./support/messages.js";
import { countMessages, openWithHost, storedBranch } from "./support/workspace.js";

const KEY = "agent:main:web1";
const PAGES = [1, 2, 3, 500];

/** A turn of seven rows with a user's message in the middle, where a rewind may cut it. */
function longTurn(host: FakeHost): CommitTurnCall {
  const at = host.tick();
  return host.turn(KEY, [
    userMessage("first", at),
    ...toolLoop("c1", "o1", at),
    userMessage("in the middle", at + 3),
    ...toolLoop("c2", "o2", at + 4),
    assistantMessage("end", at + 9),
  ]);
}

function shortTurn(host: FakeHost, text: string): CommitTurnCall {
  const at = host.tick();
  return host.turn(KEY, [userMessage(text, at), assistantMessage(`re: ${text}`, at + 1)]);
}

/** Every stored row that has an entry id holds exactly what the host wrote under it. */
function expectTrue(host: FakeHost, lcm: Lcm): void {
  const written = new Map(
    host
      .sessionIds(KEY)
      .flatMap((id) => host.transcriptOf(id))
      .map(({ entryId, message }) => [entryId, JSON.stringify(message)]),
  );
  const stored = lcm.stores.db.all<{ entryId: string; body: string }>(
    "SELECT entry_id AS entryId, body FROM messages WHERE entry_id IS NOT NULL",
  );
  for (const { entryId, body } of stored) expect(body).toBe(written.get(entryId));
}

describe.each(PAGES)("with pages of %i", (pageItems) => {
  async function cut(options: { transcript?: (host: FakeHost) => TranscriptSource } = {}) {
    const host = new FakeHost();
    host.pageItems = pageItems;
    const lcm = openWithHost(host, { transcript: options.transcript?.(host) ?? host });
    await lcm.createEngine().commitTurn(longTurn(host));
    const old = host.ref(KEY);
    host.rewind(KEY, host.activeIds(KEY)[3] as string);
    await lcm.createEngine().bootstrap(host.ref(KEY));
    return { host, lcm, old };
  }

  it.each(["is committed", "never commits"])(
    "a turn that a rewind cut keeps its rows apart from the next one, which %s",
    async (which) => {
      const { host, lcm, old } = await cut();
      const next = shortTurn(host, "other way");
      if (which === "is committed") await lcm.createEngine().commitTurn(next);
      await lcm.createEngine().bootstrap(host.ref(KEY));
      expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
      expect(storedBranch(lcm, old)).toEqual(host.transcriptOf(old.sessionId));
      expect(countMessages(lcm)).toBe(9);
    },
  );

  it("so does one whose own session can not be read any more", async () => {
    const { host, lcm } = await cut({ transcript: onlyCurrent });
    // As many rows as the cut turn had, so that its end would seem to be in sight.
    for (const text of ["other way", "and on"]) {
      shortTurn(host, text);
      await lcm.createEngine().bootstrap(host.ref(KEY));
      expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    }
    expectTrue(host, lcm);
  });

  it("a late commit does not take rows of another branch for its own", async () => {
    const host = new FakeHost();
    host.pageItems = pageItems;
    const lcm = openWithHost(host, { transcript: onlyCurrent(host) });
    const late = longTurn(host);
    const old = host.ref(KEY);
    host.rewind(KEY, host.activeIds(KEY)[3] as string);
    shortTurn(host, "other way");
    await lcm.createEngine().bootstrap(host.ref(KEY));
    await lcm.createEngine().commitTurn(late);
    expect(storedBranch(lcm, old).map((row) => row.message)).toEqual(late.messages);
    expectTrue(host, lcm);
  });

  it("a turn that is committed while half of it is being read is stored once", async () => {
    const host = new FakeHost();
    host.pageItems = pageItems;
    const steps: (() => Promise<unknown>)[] = [];
    const transcript = host.answering({
      visible: async (session, limits) => {
        const page = await host.visible(session, limits);
        await steps.shift()?.();
        return page;
      },
    });
    const lcm = openWithHost(host, { transcript });
    const at = host.tick();
    const started = [userMessage("go", at), ...toolLoop("c1", "o1", at)];
    const begun = host.turn(KEY, started);
    steps.push(async () => {
      const ended = host.turn(KEY, [assistantMessage("and", at), assistantMessage("done", at)]);
      const messages = [...begun.messages, ...ended.messages];
      await lcm.createEngine().commitTurn({ ...ended, admission: begun.admission, messages });
    });
    await lcm.createEngine().bootstrap(host.ref(KEY));
    expect(storedBranch(lcm, host.ref(KEY))).toEqual(host.transcript(KEY));
    expect(countMessages(lcm)).toBe(5);
  });
});

/** A host that has nothing of a session id that is not current any more. */
function onlyCurrent(host: FakeHost): TranscriptSource {
  return host.answering({
    visible: async (session, limits) =>
      session.sessionId === host.ref(KEY).sessionId
        ? host.visible(session, limits)
        : { kind: "missing" },
  });
}
