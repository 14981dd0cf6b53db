// Recall in the real OpenClaw: a fact of a long message comes back word for word through a sub-agent,
// which is gone afterwards.

import { afterAll, beforeAll, expect, test } from "vitest";
import { prose } from "../support/prose.js";
import type { RecordedRequest, Script } from "./harness/model-types.js";
import { World } from "./support/world.js";

const KEY = "agent:main:recall";
const FACT = "the harbor code is 7391";

let world: World;

beforeAll(async () => {
  world = await World.create({ contextWindow: 32_000 });
  await world.host.startGateway();
}, 240_000);

afterAll(() => world?.dispose(), 60_000);

const isChild = ({ sessionKey }: RecordedRequest): boolean =>
  sessionKey?.includes(":subagent:lcm-recall-") === true;

const lastTool = ({ messages }: RecordedRequest): string =>
  messages.findLast(({ role }) => role === "tool")?.text ?? "";

/** The child reads the message it was told of; the agent passes on what it is told. */
const script: Script = (request) => {
  const excerpts = request.messages.find(({ text }) => text.includes("<excerpts>"))?.text;
  if (request.toolNames.length === 0 && excerpts !== undefined) {
    const [, id, fact] = /\[(msg_\d+)\][\s\S]*?(the harbor code is \d+)/.exec(excerpts) ?? [];
    return { text: JSON.stringify({ answer: `It says: ${fact}`, citedIds: [id] }) };
  }
  if (isChild(request)) {
    if (request.toolResultsSinceUser === 0) {
      return { toolCalls: [{ name: "lcm_describe", arguments: { id: "msg_1" } }] };
    }
    const fact = /the harbor code is \d+/.exec(lastTool(request))?.[0];
    return { text: JSON.stringify({ answer: `It says: ${fact}`, citedIds: ["msg_1", "msg_77"] }) };
  }
  if (!request.lastUserText.startsWith("ask")) return { text: "noted" };
  if (request.toolResultsSinceUser > 0) return { text: `ANSWER ${lastTool(request)}` };
  const question = { prompt: "What exactly is the harbor code?", summaryIds: ["msg_1"] };
  return { toolCalls: [{ name: "lcm_expand_query", arguments: question }] };
};

test("a question is answered by a sub-agent that reads under a grant and leaves nothing behind", async () => {
  world.model.setScript(script);
  await world.turn(KEY, `${FACT} ${prose(900, 1)}`);
  const reply = await world.turn(KEY, "ask");
  expect(reply).toContain(`ANSWER It says: ${FACT}`);
  expect(reply).toContain("Cited: msg_1. Left out, because it was not read: msg_77.");
  expect(reply).toContain("A sub-agent read the sources");

  const child = world.model.requests.find(isChild);
  const ours = child?.toolNames.filter((name) => name.startsWith("lcm_"));
  expect(ours?.toSorted()).toEqual(["lcm_describe", "lcm_expand", "lcm_grep"]);
  const agent = world.model.requests.find((request) => !isChild(request));
  const offered = agent?.toolNames.filter((name) => name.startsWith("lcm_"));
  expect(offered?.toSorted()).toEqual(["lcm_describe", "lcm_expand_query", "lcm_grep"]);

  const { memory } = world;
  const keys = memory.all<{ key: string }>("SELECT session_key AS key FROM conversations");
  expect(keys).toEqual([{ key: KEY }]);
  const grants = memory.all<{ revoked: number; used: number }>(
    "SELECT revoked_at IS NOT NULL AS revoked, tokens_used > 500 AS used FROM expansion_grants",
  );
  expect(grants).toEqual([{ revoked: 1, used: 1 }]);
  expect(world.transcript(child!.sessionKey!)).toEqual([]);
}, 120_000);

test("where no sub-agents are started the same question is answered by one model call", async () => {
  await world.host.stopGateway();
  const reply = await world.host.localTurn(world.sessionId(KEY), "ask locally");
  await world.host.startGateway();
  expect(JSON.stringify(reply)).toContain(`ANSWER It says: ${FACT}`);
  expect(JSON.stringify(reply)).toContain("Answered from excerpts by one model call");
}, 180_000);

test("a person reads the same at the terminal", async () => {
  const { stdout } = await world.host.cli(["lcm", "describe", "msg_1"]);
  expect(stdout).toContain(FACT);
  const help = await world.host.cli(["lcm", "grep", "--help"]);
  expect(help.stdout).toContain("Examples:");
}, 120_000);
