// Grants: random, no wider than what the giver has, counted down once, ended when they should be.

import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issueGrant, revokeGrantsOf, validGrant } from "../src/expansion-auth.js";
import { openLcm } from "../src/lcm.js";
import type { ConversationId } from "../src/types.js";
import { KEYS, RecallWorld, textOf } from "./support/recall-world.js";
import { temporaryDirectory } from "./support/workspace.js";

const CHILD = KEYS.child;
const GRANDCHILD = "agent:main:subagent:worker:subagent:helper";
const ids = (...numbers: number[]): ConversationId[] => numbers as ConversationId[];

describe("a grant", () => {
  it("has 128 random bits in its id", async () => {
    const world = new RecallWorld();
    const made = Array.from({ length: 50 }, () => world.grant(CHILD, ids(1)));
    expect(made.every((id) => /^grant_[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(new Set(made).size).toBe(50);
  });

  it("is never wider, larger or longer than what the giver has", () => {
    const world = new RecallWorld();
    const { stores } = world.lcm;
    const lists = fc.uniqueArray(fc.integer({ min: 1, max: 6 }));
    const numbers = fc.integer({ min: 1, max: 9_000 });
    fc.assert(
      fc.property(
        lists,
        lists,
        lists,
        numbers,
        numbers,
        numbers,
        (given, own, asked, cap, used, ttl) => {
          const now = world.host.tick();
          const ask = { sessionKey: CHILD, tokenCap: 5_000, ttlMs: 5_000 };
          const parent =
            given.length === 0
              ? undefined
              : issueGrant(
                  stores,
                  {
                    ...ask,
                    tokenCap: cap,
                    conversations: ids(...given),
                    own: ids(...given),
                    parent: undefined,
                  },
                  now,
                );
          const taken = Math.min(used, cap);
          if (parent) stores.grants.take(parent.id, taken, new Date(now).toISOString());
          const child = issueGrant(
            stores,
            {
              sessionKey: GRANDCHILD,
              tokenCap: 6_000,
              ttlMs: ttl,
              conversations: ids(...asked),
              own: ids(...own),
              parent,
            },
            now,
          );
          if (!child)
            return asked.every((id) => !own.includes(id) && !given.includes(id)) || taken === cap;
          const may = new Set([...own, ...given]);
          return (
            child.conversations.every((id) => may.has(id)) &&
            child.tokenCap <= 6_000 &&
            (!parent || (child.tokenCap <= cap - taken && child.expiresAt <= parent.expiresAt))
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it("is counted down to its cap by two processes at once, and no further", () => {
    const databasePath = join(temporaryDirectory(), "lcm.db");
    const world = new RecallWorld({}, { databasePath });
    const grant = world.grant(CHILD, ids(1), { tokenCap: 100 });
    const other = openLcm({ databasePath });
    const now = new Date(world.host.now()).toISOString();
    const takers = [world.lcm.stores.grants, other.stores.grants];
    const taken = Array.from({ length: 10 }, (_, turn) => takers[turn % 2]!.take(grant, 30, now));
    other.close();
    expect(taken.filter(Boolean)).toHaveLength(3);
    expect(world.lcm.stores.grants.remaining(grant)).toBe(10);
  });

  it("is charged with what was read under the grants made from it", () => {
    const world = new RecallWorld();
    const { stores } = world.lcm;
    const now = world.host.now();
    const parent = stores.grants.get(world.grant(CHILD, ids(1), { tokenCap: 100 }));
    const ask = {
      sessionKey: GRANDCHILD,
      conversations: ids(1),
      own: [],
      tokenCap: 80,
      ttlMs: 1_000,
    };
    const children = [0, 1].map(() => issueGrant(stores, { ...ask, parent }, now)!);
    const take = (grant: string) => stores.grants.take(grant, 60, new Date(now).toISOString());
    expect(children.map(({ id }) => take(id))).toEqual([true, false]);
    expect(stores.grants.remaining(parent!.id)).toBe(40);
    expect(stores.grants.remaining(children[1]!.id)).toBe(40);
  });

  it("ends with the one it was made from", () => {
    const world = new RecallWorld();
    const { stores } = world.lcm;
    const now = world.host.now();
    const parent = stores.grants.get(world.grant(CHILD, ids(1)));
    const ask = { conversations: ids(1), own: [], tokenCap: 80, ttlMs: 1_000, parent };
    issueGrant(stores, { ...ask, sessionKey: GRANDCHILD }, now);
    expect(validGrant(stores, GRANDCHILD, now)).toBeDefined();
    revokeGrantsOf(stores, CHILD, now);
    expect(validGrant(stores, CHILD, now)).toBeUndefined();
    expect(validGrant(stores, GRANDCHILD, now)).toBeUndefined();
  });

  it("is not made from one that has ended, or whose giver's has", () => {
    const world = new RecallWorld();
    const { stores } = world.lcm;
    const now = world.host.now();
    const ask = { conversations: ids(1), own: [], tokenCap: 80, ttlMs: 1_000 };
    const parent = stores.grants.get(world.grant(CHILD, ids(1)))!;
    const child = issueGrant(stores, { ...ask, sessionKey: GRANDCHILD, parent }, now)!;
    const from = (giver: typeof parent, moment: number) =>
      issueGrant(stores, { ...ask, sessionKey: KEYS.recall, parent: giver }, moment);
    expect(from(child, now)).toBeDefined();
    expect(from(child, now + 1_000)).toBeUndefined();
    expect(from(parent, now + 60_000)).toBeUndefined();
    revokeGrantsOf(stores, CHILD, now);
    expect([from(parent, now), from(child, now)]).toEqual([undefined, undefined]);
  });

  it("is forgotten a week after it ended, with what was read under it", () => {
    const world = new RecallWorld();
    const { grants, db } = world.lcm.stores;
    const old = world.grant(CHILD, ids(1));
    grants.noteReads(old, [{ itemId: "msg_1", tokens: 3 }]);
    world.host.tick(8 * 24 * 3_600_000);
    world.grant(CHILD, ids(1));
    expect(grants.get(old)).toBeUndefined();
    expect(db.all("SELECT * FROM expansion_reads")).toEqual([]);
  });
});

describe("a sub-agent that the host spawns", () => {
  const spawn = (world: RecallWorld, parentSessionKey: string, childSessionKey: string) =>
    world.lcm
      .createEngine()
      .prepareSubagentSpawn({ parentSessionKey, childSessionKey, contextMode: "isolated" });

  it("reads its parent's conversation until it ends", async () => {
    const world = new RecallWorld();
    const { leaf } = await world.store(KEYS.own, "the harbor code is 7391");
    await spawn(world, KEYS.own, CHILD);
    const params = { summaryIds: [leaf], includeMessages: true };
    expect(await world.text(CHILD, "lcm_expand", params)).toContain("7391");
    await world.lcm.createEngine().onSubagentEnded({ childSessionKey: CHILD, reason: "completed" });
    expect(await world.text(CHILD, "lcm_expand", params)).toBe("(not offered)");
    expect(await world.text(CHILD, "lcm_grep", { pattern: "harbor" })).toContain("was revoked");
  });

  it("loses it again when the spawn is rolled back", async () => {
    const world = new RecallWorld();
    await world.store(KEYS.own, "the harbor code is 7391");
    const prepared = await spawn(world, KEYS.own, CHILD);
    await prepared?.rollback();
    expect(validGrant(world.lcm.stores, CHILD, world.host.now())).toBeUndefined();
  });

  it("hands on what it may read itself, and nothing once its own grant has ended", async () => {
    const world = new RecallWorld();
    const own = await world.store(KEYS.own, "nothing");
    await spawn(world, KEYS.own, CHILD);
    const child = await world.store(CHILD, "what the sub-agent does");
    await spawn(world, CHILD, GRANDCHILD);
    const granted = validGrant(world.lcm.stores, GRANDCHILD, world.host.now());
    expect(new Set(granted?.conversations)).toEqual(new Set([own.id, child.id]));
    revokeGrantsOf(world.lcm.stores, CHILD, world.host.now());
    expect(validGrant(world.lcm.stores, GRANDCHILD, world.host.now())).toBeUndefined();
    await spawn(world, CHILD, `${GRANDCHILD}2`);
    const later = validGrant(world.lcm.stores, `${GRANDCHILD}2`, world.host.now());
    expect(later?.conversations).toEqual([child.id]);
  });

  it("gets nothing from a session that has no memory", async () => {
    const world = new RecallWorld({ ignoreSessionPatterns: [KEYS.own] });
    await spawn(world, KEYS.own, CHILD);
    expect(validGrant(world.lcm.stores, CHILD, world.host.now())).toBeUndefined();
  });

  it("reads through its grant also where it is stateless", async () => {
    const world = new RecallWorld({ statelessSessionPatterns: ["agent:*:subagent:**"] });
    await world.store(KEYS.own, "the harbor code is 7391");
    await world.store(KEYS.sibling, "the harbor code was 1111");
    await spawn(world, KEYS.own, CHILD);
    const text = await world.text(CHILD, "lcm_grep", { pattern: "harbor code \\w+ \\d+" });
    expect(text).toContain("7391");
    expect(text).not.toContain("1111");
  });
});

describe("what is read under a grant", () => {
  it("is counted by lcm_expand and lcm_describe, and refused when the cap is reached", async () => {
    const world = new RecallWorld();
    const { id, messages } = await world.store(KEYS.own, "harbor ".repeat(60), [
      "tail ".repeat(60),
    ]);
    const grant = world.grant(KEYS.recall, [id], { tokenCap: 150 });
    const describeFirst = () =>
      world.text(KEYS.recall, "lcm_describe", { id: `msg_${messages[0]}` });
    expect(await describeFirst()).toContain("harbor harbor");
    expect(world.lcm.stores.grants.remaining(grant)).toBeLessThan(90);
    await describeFirst();
    expect(await describeFirst()).toMatch(/takes \d+ tokens and the grant .* holds \d+ more/);
  });

  it("is never shown uncounted when the grant expires between two looks at the clock", async () => {
    for (const expiresAtLook of [1, 2, 3, 4]) {
      let looks = Number.NEGATIVE_INFINITY;
      const now = (): number => world.host.now() + (++looks >= expiresAtLook ? 200_000 : 0);
      const world: RecallWorld = new RecallWorld({}, { now });
      const { id, messages } = await world.store(KEYS.own, "the harbor code is 7391");
      const grant = world.grant(CHILD, [id]);
      const describeTool = world.tools(CHILD).find(({ name }) => name === "lcm_describe");
      looks = 0;
      const shown = textOf(await describeTool?.execute("call-1", { id: `msg_${messages[0]}` }));
      const isCounted = world.lcm.stores.grants.remaining(grant) < 4_000;
      expect([expiresAtLook, shown.includes("7391")]).toEqual([expiresAtLook, isCounted]);
    }
  });

  it("is free for a sub-agent in its own conversation", async () => {
    const world = new RecallWorld();
    const own = await world.store(KEYS.own, "nothing");
    const child = await world.store(CHILD, "what the sub-agent does");
    const grant = world.grant(CHILD, [own.id]);
    await world.text(CHILD, "lcm_describe", { id: `msg_${child.messages[0]}` });
    expect(world.lcm.stores.grants.remaining(grant)).toBe(4_000);
  });
});
