// A conversation in the real host that is long enough to be summarized, and what must be true of it.

import { expect } from "vitest";
import { prose } from "../../support/prose.js";
import type { ModelMessage, RecordedRequest } from "../harness/model-types.js";
import { stripHostText } from "../harness/user-text.js";
import { waitUntil } from "../harness/wait-until.js";
import { FACT, RECALL, TOLD } from "./recall-script.js";
import { SummaryScript } from "./summary-script.js";
import { World } from "./world.js";

const KEY = "agent:main:long";
const WINDOW = 32_000;
/** The turn in which the user tells the fact that is asked for much later. */
const TOLD_AT = 3;

interface PlayedTurn {
  /** The view's version before the turn and at its first call: it was assembled in between. */
  readonly before: number;
  readonly asked: number;
  /** What the model was given as history at the turn's first call. */
  readonly history: readonly string[];
}

export class LongConversation {
  readonly key = KEY;
  readonly played: PlayedTurn[] = [];
  #asked = 0;

  private constructor(
    readonly world: World,
    readonly model: SummaryScript,
  ) {
    model.onTurn = () => (this.#asked = this.version());
  }

  /** `bystander` is the path of another plugin to load. */
  static async start({ bystander }: { bystander?: string } = {}): Promise<LongConversation> {
    const world = await World.create({ contextWindow: WINDOW, allowPlugins: ["bystander"] });
    if (bystander !== undefined) await addPlugin(world, bystander);
    const model = new SummaryScript(WINDOW);
    world.model.setScript(model.script);
    await world.host.startGateway();
    return new LongConversation(world, model);
  }

  dispose(): Promise<void> {
    return this.world.dispose();
  }

  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await this.turn();
  }

  async turn(): Promise<string> {
    const number = this.played.length + 1;
    const before = this.version();
    const told = number === TOLD_AT ? ` ${TOLD}` : "";
    const reply = await this.world.turn(KEY, `PLANT-${number} ${prose(250, number)}${told}`);
    expect(reply).toContain(`PLANT-${number} is done.`);
    const request = this.world.model.requests.findLast(
      ({ lastUserText, toolResultsSinceUser }) =>
        lastUserText.startsWith(`PLANT-${number} `) && toolResultsSinceUser === 0,
    );
    this.played.push({ before, asked: this.#asked, history: historyOf(request!) });
    return reply;
  }

  version(): number {
    return this.#conversation<{ version: number }>("view_version AS version")?.version ?? 0;
  }

  viewTokens(): number {
    return this.#conversation<{ tokens: number }>("view_tokens AS tokens")?.tokens ?? 0;
  }

  /** Once nothing has changed the view for a second: the host may demand space after a turn. */
  steadyViewTokens(): Promise<number> {
    let last = { tokens: -1, since: 0 };
    return waitUntil("a view at rest", () => {
      const tokens = this.viewTokens();
      if (tokens !== last.tokens) last = { tokens, since: performance.now() };
      return performance.now() - last.since > 1_000 ? tokens : undefined;
    });
  }

  #conversation<T>(columns: string): T | undefined {
    return this.world.memory.all<T>(
      `SELECT ${columns} FROM conversations WHERE session_key = ?`,
      KEY,
    )[0];
  }

  levels(): Record<string, number> {
    const rows = this.world.memory.all<{ level: string; count: number }>(
      "SELECT level, count(*) AS count FROM summaries GROUP BY level",
    );
    return Object.fromEntries(rows.map(({ level, count }) => [level, count]));
  }

  /** Marked nodes that nothing supersedes yet. */
  marked(): number {
    return this.world.memory.all(
      `SELECT 1 FROM summaries s WHERE level = 'deterministic'
       AND NOT EXISTS (SELECT 1 FROM supersessions x WHERE x.summary_id = s.summary_id)`,
    ).length;
  }

  /** Of every conversation that is stored. */
  storedKeys(): string[] {
    return this.world.memory
      .all<{ key: string }>("SELECT session_key AS key FROM conversations")
      .map(({ key }) => key);
  }

  hasSettledAttempts(): boolean {
    return (
      this.world.memory.all("SELECT 1 FROM summary_attempts WHERE ended_at IS NULL").length === 0
    );
  }

  async report(): Promise<string> {
    const { stdout } = await this.world.host.cli(["lcm", "status", "--session", KEY]);
    return stdout;
  }

  /** Plays on until a summary is asked for, which is then answered so. */
  async untilSummaryIs(answer: SummaryScript["onSummary"]): Promise<void> {
    const before = this.model.summaries.length;
    this.model.onSummary = answer;
    while (this.model.summaries.length === before) {
      await this.turn();
      await waitUntil("a summary", () => this.model.summaries.length > before, 1_500).catch(
        () => undefined,
      );
    }
  }

  /** The fact stands in the store alone: no summary tells it, and the model does not see it. */
  expectForgotten(): void {
    const telling = this.world.memory.all(
      "SELECT 1 FROM summaries WHERE instr(content, ?) > 0",
      FACT,
    );
    expect(telling).toEqual([]);
    expect(this.played.at(-1)?.history.join("\n")).not.toContain(FACT);
  }

  /** Asks for the fact, with `play` as the way to a turn, and expects it word for word with its source. */
  async expectRecalled(way: string, play: (text: string) => Promise<string>): Promise<void> {
    const reply = await play(`${RECALL} ${way}`);
    expect(reply).toContain(`It was ${FACT}.`);
    const cited = Number(/Cited: msg_(\d+)/.exec(reply)?.[1]);
    const sources = this.world.memory.all<{ id: number }>(
      "SELECT message_id AS id FROM messages WHERE instr(body, ?) > 0",
      FACT,
    );
    expect(sources.map(({ id }) => id)).toContain(cited);
    expect(reply).toContain(way);
  }

  /** `/compact` as a user types it. Returns what the host says to it. */
  async compactByHand(): Promise<string> {
    const before = this.world.lines(KEY).length;
    await this.world.host.chatSend(KEY, "/compact");
    return waitUntil("the answer to /compact", () =>
      this.world
        .lines(KEY)
        .slice(before)
        .find((line) => line.startsWith("assistant: ")),
    );
  }

  async toggle(plugin: string, enabled: boolean): Promise<void> {
    await this.world.host.patchConfig((config) => {
      const { entries } = config["plugins"] as { entries: Record<string, { enabled: boolean }> };
      entries[plugin] = { ...entries[plugin], enabled };
    });
  }

  /** Waits until the background has made or published something. */
  settled(what: string, holds: () => boolean, timeoutMs = 30_000): Promise<unknown> {
    return waitUntil(what, holds, timeoutMs);
  }

  expectNoOverflow(): void {
    expect(this.model.overflows).toEqual([]);
    expect(this.world.host.log).not.toMatch(/context overflow|Context overflow/);
  }

  /** Every summary in every request is well-formed, complete, and has its footer. */
  expectNavigableSummaries(): void {
    const shown = this.played.flatMap(({ history }) =>
      history.filter((text) => text.includes("<summary id")),
    );
    expect(shown.length).toBeGreaterThan(20);
    for (const text of new Set(shown)) {
      expect(text).toMatch(
        /^<summary id="sum_[0-9a-f]{16}" kind="(leaf|condensed)" depth="\d" descendant_count="\d+" earliest_at="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d" latest_at="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d">\n(  <parents>\n(    <summary_ref id="sum_[0-9a-f]{16}" \/>\n)+  <\/parents>\n)?  <content>\n[^<]*Expand for details about: [^<]*\n  <\/content>\n<\/summary>$/,
      );
    }
  }

  /** Each node says what was planted in the messages it covers, and nothing else. */
  expectPlantedAtEachDepth(least: number): void {
    const nodes = this.world.memory.all<{ id: string; depth: number; content: string }>(
      "SELECT summary_id AS id, depth, content FROM summaries WHERE level <> 'deterministic'",
    );
    expect(Math.max(...nodes.map(({ depth }) => depth))).toBeGreaterThanOrEqual(least);
    for (const { id, content } of nodes) {
      const covered = this.world.memory.all<{ plant: string }>(
        `WITH RECURSIVE below (id) AS (
           SELECT ? UNION SELECT p.parent_summary_id FROM summary_parents p JOIN below ON p.summary_id = below.id)
         SELECT substr(m.body ->> 'content', 1, instr(m.body ->> 'content', ' ') - 1) AS plant
         FROM below JOIN summary_messages s ON s.summary_id = below.id JOIN messages m USING (message_id)
         WHERE m.role = 'user' ORDER BY m.message_id`,
        id,
      );
      const expected = covered.map(({ plant }) => plant).slice(0, 16);
      expect(content.match(/PLANT-\d+/g)?.slice(0, expected.length)).toEqual(expected);
    }
  }

  /** The view's nodes and messages cover the live branch, each message once. */
  expectCoveredOnce(): void {
    const covered = this.world.memory.all<{ id: number }>(
      `WITH RECURSIVE below (id) AS (
         SELECT summary_id FROM context_items WHERE summary_id IS NOT NULL
         UNION ALL SELECT p.parent_summary_id FROM summary_parents p JOIN below ON p.summary_id = below.id)
       SELECT message_id AS id FROM below JOIN summary_messages s ON s.summary_id = below.id
       UNION ALL SELECT message_id FROM context_items WHERE message_id IS NOT NULL ORDER BY 1`,
    );
    const branch = this.world.memory.all<{ id: number }>(
      `SELECT t.message_id AS id FROM segments s JOIN transcript_entries t USING (segment_id)
       JOIN messages m USING (message_id) WHERE s.session_id = ? AND m.in_context = 1 ORDER BY 1`,
      this.world.sessionId(KEY),
    );
    expect(covered).toEqual(branch);
  }

  /** Returns in how many turns the prompt began otherwise than in the one before. */
  expectOnlyPublishesBreakThePrefix(): number {
    let breaks = 0;
    for (const [index, turn] of this.played.slice(1).entries()) {
      const last = this.played[index] as PlayedTurn;
      const isGrown = last.history.every((text, at) => turn.history[at] === text);
      if (isGrown) continue;
      breaks += 1;
      expect(last.before).not.toBe(turn.asked);
    }
    // A turn takes about a sixth of the threshold here, and half of the threshold is the tail's: one
    // publish frees the room of two turns, and on a busy machine the host demands one before that.
    expect(breaks).toBeLessThan((this.played.length * 4) / 5);
    return breaks;
  }
}

/** What stands before the turn's own message. */
function historyOf({ messages }: RecordedRequest): string[] {
  const end = messages.findLastIndex(
    ({ role, text }) => role === "user" && text.includes("PLANT-"),
  );
  return messages.slice(0, end).map(render);
}

function render({ role, text, toolCalls }: ModelMessage): string {
  const calls = toolCalls.map((call) => JSON.stringify(call));
  return role === "user" ? stripHostText(text) : [role, text, ...calls].join(" ");
}

function addPlugin({ host }: World, path: string): Promise<void> {
  return host.patchConfig((config) => {
    const plugins = config["plugins"] as {
      load: { paths: string[] };
      entries: Record<string, { enabled: boolean }>;
    };
    plugins.load.paths.push(path);
    plugins.entries["bystander"] = { enabled: true };
  });
}
