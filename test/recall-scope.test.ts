// Who may read what, through each of the four tools: a caller, what it asks for and the operator's
// setting give an answer or a refusal that says why.

import { describe, expect, it, test } from "vitest";
import { revokeGrantsOf } from "../src/expansion-auth.js";
import type { RecallReach } from "../src/recall-scope.js";
import type { ToolResult } from "../src/tools/common.js";
import type { ToolName } from "../src/tools/index.js";
import { errorOf, KEYS, RecallWorld, type Stored, textOf } from "./support/recall-world.js";

const SECRET = "the harbor code is 7391";

interface Cell {
  readonly world: RecallWorld;
  readonly target: Stored;
}

/** Who asks, about whose conversation, and whether it is told. */
interface Case {
  readonly name: string;
  readonly caller: keyof typeof KEYS;
  readonly about: "own" | "sibling" | "foreign";
  readonly reach?: RecallReach;
  /** Named by number, by `allConversations`, or not at all. */
  readonly asks?: "one" | "all" | "own";
  readonly grant?: (cell: Cell) => void;
  readonly sees: boolean;
  /** Of the refusal. */
  readonly why?: RegExp;
}

const toTarget = ({ world, target }: Cell) => world.grant(KEYS.child, [target.id]);

const cases: readonly Case[] = [
  { name: "its own conversation", caller: "own", about: "own", asks: "own", sees: true },
  { name: "its own by number", caller: "own", about: "own", sees: true },
  {
    name: "another of its agent, unasked",
    caller: "own",
    about: "sibling",
    asks: "own",
    sees: false,
  },
  { name: "another of its agent by number", caller: "own", about: "sibling", sees: true },
  { name: "all of its agent", caller: "own", about: "sibling", asks: "all", sees: true },
  {
    name: "another agent's by number",
    caller: "own",
    about: "foreign",
    sees: false,
    why: /belongs to another agent.*recallScope/,
  },
  { name: "another agent's among all", caller: "own", about: "foreign", asks: "all", sees: false },
  { name: "another agent's under all", caller: "own", about: "foreign", reach: "all", sees: true },
  {
    name: "another agent's among all under all",
    caller: "own",
    about: "foreign",
    reach: "all",
    asks: "all",
    sees: true,
  },
  {
    name: "another of its agent under conversation",
    caller: "own",
    about: "sibling",
    reach: "conversation",
    sees: false,
    why: /recallScope is set to "conversation"/,
  },
  {
    name: "all under conversation",
    caller: "own",
    about: "sibling",
    reach: "conversation",
    asks: "all",
    sees: false,
    why: /allConversations is not allowed/,
  },
  {
    name: "its parent's with a grant",
    caller: "child",
    about: "own",
    asks: "own",
    grant: toTarget,
    sees: true,
  },
  {
    name: "its parent's by number with a grant",
    caller: "child",
    about: "own",
    grant: toTarget,
    sees: true,
  },
  {
    name: "its parent's without a grant",
    caller: "child",
    about: "own",
    sees: false,
    why: /has no grant/,
  },
  {
    name: "its parent's without a grant under all",
    caller: "child",
    about: "own",
    reach: "all",
    asks: "all",
    sees: false,
  },
  {
    name: "its parent's with an expired grant",
    caller: "child",
    about: "own",
    grant: (cell) => {
      toTarget(cell);
      cell.world.host.tick(120_000);
    },
    sees: false,
    why: /has expired/,
  },
  {
    name: "its parent's with a revoked grant",
    caller: "child",
    about: "own",
    grant: (cell) => {
      toTarget(cell);
      revokeGrantsOf(cell.world.lcm.stores, KEYS.child, cell.world.host.now());
    },
    sees: false,
    why: /was revoked/,
  },
  {
    name: "what another sub-agent's grant names",
    caller: "child",
    about: "own",
    grant: ({ world, target }) => void world.grant("agent:main:subagent:other", [target.id]),
    sees: false,
  },
  {
    name: "another conversation than its grant names, under all",
    caller: "child",
    about: "foreign",
    reach: "all",
    grant: ({ world }) => {
      const own = world.lcm.stores.conversations.find(world.host.ref(KEYS.own));
      world.grant(KEYS.child, [own!.id]);
    },
    sees: false,
  },
  {
    name: "its parent's for recall, with a grant",
    caller: "recall",
    about: "own",
    asks: "own",
    grant: ({ world, target }) => void world.grant(KEYS.recall, [target.id]),
    sees: true,
  },
  {
    name: "its parent's for recall, without one",
    caller: "recall",
    about: "own",
    asks: "own",
    sees: false,
    why: /has no memory/,
  },
];

const ASKED = (target: Stored, asks: "one" | "all" | "own") =>
  asks === "one" ? { conversationId: target.id } : asks === "all" ? { allConversations: true } : {};

const CALLS: Readonly<Record<ToolName, (target: Stored) => Record<string, unknown>>> = {
  lcm_grep: () => ({ pattern: "harbor code is \\d+" }),
  lcm_describe: ({ messages }) => ({ id: `msg_${messages[0]}` }),
  lcm_expand: ({ leaf }) => ({ summaryIds: [leaf], includeMessages: true }),
  lcm_expand_query: ({ leaf }) => ({ prompt: "Which code is it?", summaryIds: [leaf] }),
};

async function setUp({ caller, about, reach, grant }: Case): Promise<Cell> {
  const world = new RecallWorld({ recallScope: reach ?? "agent" });
  const said = { own: "nothing", sibling: "nothing", foreign: "nothing", [about]: SECRET };
  const stored = {
    own: await world.store(KEYS.own, said.own),
    sibling: await world.store(KEYS.sibling, said.sibling),
    foreign: await world.store(KEYS.foreign, said.foreign),
  };
  if (caller === "child") await world.store(KEYS.child, "what the sub-agent does");
  const cell = { world, target: stored[about] };
  grant?.(cell);
  return cell;
}

/** Everything that a result carries. */
function told(result: ToolResult | undefined): string {
  return textOf(result) + JSON.stringify(result?.details);
}

const TOOLS = Object.keys(CALLS) as ToolName[];

describe.each(cases)("a session that looks into $name", (one) => {
  test.each(TOOLS)("is answered or refused by %s", async (tool) => {
    const { world, target } = await setUp(one);
    const asked = ASKED(target, one.asks ?? "one");
    const result = await world.call(KEYS[one.caller], tool, { ...CALLS[tool](target), ...asked });
    const isOffered =
      tool === "lcm_expand"
        ? one.grant !== undefined && (one.sees || one.name.startsWith("another conversation"))
        : !(tool === "lcm_expand_query" && one.caller === "recall");
    const why = one.why ?? /./s;
    expect({
      isOffered: result !== undefined,
      tells: told(result).includes("7391"),
      saysWhy: why.test(one.why ? (errorOf(result) ?? "") : textOf(result)),
    }).toEqual({ isOffered, tells: isOffered && one.sees, saysWhy: isOffered || !one.why });
  });
});

describe("a conversation that was deleted in the host", () => {
  it("is shown by no tool, whatever the setting and the grant", async () => {
    const world = new RecallWorld({ recallScope: "all" });
    await world.store(KEYS.own, "nothing");
    const target = await world.store(KEYS.sibling, SECRET);
    world.grant(KEYS.recall, [target.id]);
    await world.lcm.createEngine().sessionDeleted({ sessionKey: KEYS.sibling });
    for (const key of [KEYS.own, KEYS.recall]) {
      for (const tool of TOOLS) {
        for (const asks of ["own", "one", "all"] as const) {
          const params = { ...CALLS[tool](target), ...ASKED(target, asks) };
          const result = await world.call(key, tool, params);
          expect(told(result)).not.toContain("7391");
        }
      }
    }
  });
});

describe("an item that may not be seen", () => {
  it.each(["conversation", "agent"] as const)(
    "is for lcm_describe as one that does not exist, with recallScope %s",
    async (recallScope) => {
      const world = new RecallWorld({ recallScope });
      const own = await world.store(KEYS.own, "nothing");
      await world.store(KEYS.child, "nothing");
      world.grant(KEYS.recall, [own.id]);
      const { leaf, messages } = await world.store(KEYS.foreign, SECRET);
      const pairs = [
        [leaf, "sum_ffffffffffffffff"],
        [`msg_${messages[0]}`, "msg_999"],
      ] as const;
      for (const key of [KEYS.own, KEYS.child, KEYS.recall]) {
        for (const [there, nowhere] of pairs) {
          const tell = (id: string) => world.text(key, "lcm_describe", { id });
          expect((await tell(there)).replaceAll(there, nowhere)).toBe(await tell(nowhere));
        }
      }
    },
  );
});

describe("sessions that the operator keeps out", () => {
  it("have no memory when they are ignored, and read their agent's when they are stateless", async () => {
    const world = new RecallWorld({
      ignoreSessionPatterns: ["agent:main:silent"],
      statelessSessionPatterns: ["agent:main:cron*"],
    });
    await world.store(KEYS.own, SECRET);
    await world.store(KEYS.foreign, `not for main: ${SECRET}`);
    const params = { pattern: "harbor code is \\d+" };
    const ignored = await world.call("agent:main:silent", "lcm_grep", params);
    expect(errorOf(ignored)).toContain("has no memory");
    const stateless = await world.text("agent:main:cron1", "lcm_grep", params);
    expect(stateless).toContain("7391");
    expect(stateless).not.toContain("not for main");
    const incognito = "agent:main:subagent:incognito-1";
    expect(errorOf(await world.call(incognito, "lcm_grep", params))).toContain("has no memory");
  });
});

describe("a hit that leaves the scope", () => {
  it("is dropped, whatever the search answers", async () => {
    const world = new RecallWorld();
    await world.store(KEYS.own, "the harbor is closed");
    const { id } = await world.store(KEYS.foreign, SECRET);
    const run = world.search.run.bind(world.search);
    world.search.run = (request) =>
      run({ ...request, conversations: [...request.conversations, id] });
    const text = await world.text(KEYS.own, "lcm_grep", { pattern: "harbor" });
    expect(text).toContain("closed");
    expect(text).not.toContain("7391");
  });
});

describe("a graph whose edges lead into another conversation", () => {
  it("is cut there: every node is checked, not only the one asked for", async () => {
    const world = new RecallWorld();
    const own = await world.store(KEYS.own, "nothing");
    const foreign = await world.store(KEYS.foreign, SECRET);
    world.grant(KEYS.recall, [own.id]);
    const { db } = world.lcm.stores;
    const stolen = world.leaf(foreign.id, own.messages, "A leaf over another's messages");
    const mixed = world.leaf(own.id, [...own.messages, ...foreign.messages], "A forged leaf");
    db.run(
      "INSERT INTO summary_parents (summary_id, ordinal, parent_summary_id) VALUES (?, 0, ?)",
      own.leaf,
      foreign.leaf,
    );
    const expand = { summaryIds: [own.leaf, mixed], maxDepth: 5, includeMessages: true };
    const results = [
      await world.call(KEYS.recall, "lcm_expand", expand),
      await world.call(KEYS.own, "lcm_grep", { pattern: "nothing" }),
      await world.call(KEYS.own, "lcm_describe", { id: `msg_${own.messages[0]}` }),
      await world.call(KEYS.own, "lcm_describe", { id: own.leaf }),
      await world.call(KEYS.own, "lcm_describe", { id: mixed }),
      await world.call(KEYS.own, "lcm_expand_query", { prompt: "code?", summaryIds: [mixed] }),
    ];
    for (const result of results) {
      const whole = told(result);
      expect(whole).not.toContain("7391");
      expect(whole).not.toContain(foreign.leaf);
      expect(whole).not.toContain(stolen);
      expect(whole).not.toContain(`msg_${foreign.messages[0]}"`);
    }
  });
});
