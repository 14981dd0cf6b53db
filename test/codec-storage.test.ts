// Whatever messages a turn holds, they come back from the database as they went in, by commit and by
// cursor (G1).

import fc from "fast-check";
import { expect, it } from "vitest";
import type { Lcm } from "../src/lcm.js";
import type { AgentMessage } from "../src/types.js";
import { anyMessage } from "./support/any-message.js";
import { FakeHost } from "./support/fake-host.js";
import { openWithHost, storedBranch } from "./support/workspace.js";

type Way = (lcm: Lcm, host: FakeHost, key: string, messages: readonly AgentMessage[]) => unknown;

const ways: [string, Way][] = [
  [
    "a commit",
    (lcm, host, key, messages) => lcm.createEngine().commitTurn(host.turn(key, messages)),
  ],
  [
    "the cursor",
    (lcm, host, key, messages) => {
      for (const message of messages) host.append(key, message);
      return lcm.createEngine().bootstrap(host.ref(key));
    },
  ],
  [
    "a commit that the cursor reads again",
    async (lcm, host, key, messages) => {
      await lcm.createEngine().commitTurn(host.turn(key, messages));
      await lcm.createEngine().bootstrap(host.ref(key));
    },
  ],
];

it.each(ways)("messages that come by %s are given back exactly", async (_, store) => {
  const host = new FakeHost();
  const lcm = openWithHost(host);
  const messages = fc.array(anyMessage, { minLength: 1, maxLength: 5 });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(messages, async (turn) => {
      const key = `agent:main:run${(runs += 1)}`;
      await store(lcm, host, key, turn);
      const stored = storedBranch(lcm, host.ref(key)).map(({ message }) => message);
      expect(stored).toStrictEqual(turn);
      // Keys in order, and those that an equality looks past.
      expect(JSON.stringify(stored)).toBe(JSON.stringify(turn));
    }),
    { numRuns: 150 },
  );
});
