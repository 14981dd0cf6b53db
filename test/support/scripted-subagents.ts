// The host's sub-agents for tests: each answers as told, and every call is written down.

import type { SubagentEnd, SubagentHost, SubagentTask } from "../../src/types.js";

export class ScriptedSubagents implements SubagentHost {
  readonly calls: string[] = [];
  readonly tasks: SubagentTask[] = [];
  /** Session keys that exist. */
  readonly sessions = new Set<string>();
  /** What a sub-agent does before it ends; it gets its task. */
  work: (task: SubagentTask) => Promise<SubagentEnd>;
  /** The number of the call that fails, counted from 1. */
  failAt = Number.POSITIVE_INFINITY;
  /** Answers of `wait` that come first. */
  readonly first: SubagentEnd[] = [];
  last: string | undefined;
  /** Lets `run` wait for this. */
  starting: Promise<void> = Promise.resolve();

  constructor(work: (task: SubagentTask) => Promise<SubagentEnd>) {
    this.work = work;
  }

  async run(task: SubagentTask): Promise<{ runId: string }> {
    this.#count("run");
    this.tasks.push(task);
    await this.starting;
    this.sessions.add(task.sessionKey);
    return { runId: `run-${this.tasks.length}` };
  }

  async wait(_runId: string, _timeoutMs: number): Promise<SubagentEnd> {
    this.#count("wait");
    return this.first.shift() ?? this.work(this.tasks.at(-1) as SubagentTask);
  }

  async lastReply(): Promise<string | undefined> {
    this.#count("lastReply");
    return this.last;
  }

  async remove(sessionKey: string): Promise<void> {
    this.#count("remove");
    this.sessions.delete(sessionKey);
  }

  #count(name: string): void {
    this.calls.push(name);
    if (this.calls.length === this.failAt) throw new Error(`${name} is out of order`);
  }
}
