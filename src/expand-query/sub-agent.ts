// A sub-agent of the host that answers one question and is gone again: it has a time limit in all, and
// its session, its grant and every timer are ended whatever happens.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../errors.js";
import { whenAborted } from "../model-call.js";
import { RECALL_SESSION_MARK } from "../session-policy.js";
import type { RecallTiming } from "../recall-dependencies.js";
import type { Logger, SubagentHost, SubagentTask } from "../types.js";

export const RECALL_TIMING: RecallTiming = { limitMs: 120_000, cleanUpMs: 10_000 };

export const CHILD_TOOLS = ["lcm_grep", "lcm_describe", "lcm_expand"] as const;

export type SubagentOutcome =
  | { readonly kind: "answered"; readonly reply: string }
  /** The host does not start one: it can not here, or its policy does not allow it. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string }
  /** Over the limit, or stopped by the caller. */
  | { readonly kind: "ended" };

export interface SubagentRun {
  readonly host: SubagentHost;
  readonly task: SubagentTask;
  /** Ends the run: the limit of time, or the caller. */
  readonly signal: AbortSignal;
  /** Milliseconds that are left until the limit, at least 1. */
  readonly left: () => number;
  readonly revoke: () => Promise<void>;
  readonly cleanUpMs: number;
  readonly log: Logger;
}

export function recallSessionKey(agentId: string): string {
  return `agent:${agentId}:subagent:${RECALL_SESSION_MARK}${randomUUID()}`;
}

export async function runSubagent(run: SubagentRun): Promise<SubagentOutcome> {
  const { host, task, signal } = run;
  const started = begin(() => host.run(task));
  try {
    const begun = await Promise.race([started, whenAborted(signal)]);
    if (begun === undefined) return { kind: "ended" };
    if ("error" in begun) return { kind: "refused", reason: errorText(begun.error) };
    return await follow(run, begun.value.runId);
  } finally {
    await cleanUp(run, started);
  }
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

/** A promise that never rejects, so that it can be looked at later as well. */
function begin<T>(work: () => Promise<T>): Promise<Settled<T>> {
  return Promise.resolve()
    .then(work)
    .then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
}

const PENDING_PAUSE_MS = 250;

async function follow(run: SubagentRun, runId: string): Promise<SubagentOutcome> {
  const { host, task, signal, left } = run;
  while (!signal.aborted) {
    const ended = await Promise.race([begin(() => host.wait(runId, left())), whenAborted(signal)]);
    if (ended === undefined) break;
    if ("error" in ended) return { kind: "failed", reason: errorText(ended.error) };
    const { status, reply, error } = ended.value;
    if (status === "error") return { kind: "failed", reason: error ?? "it gave no reason" };
    if (status === "timeout") break;
    if (status === "ok") {
      if (isText(reply)) return { kind: "answered", reply };
      return lastReply(run, task.sessionKey);
    }
    await Promise.race([sleep(PENDING_PAUSE_MS, undefined, { ref: false }), whenAborted(signal)]);
  }
  return { kind: "ended" };
}

async function lastReply(
  { host, signal }: SubagentRun,
  sessionKey: string,
): Promise<SubagentOutcome> {
  const last = await Promise.race([begin(() => host.lastReply(sessionKey)), whenAborted(signal)]);
  if (last === undefined) return { kind: "ended" };
  if ("error" in last) return { kind: "failed", reason: errorText(last.error) };
  return isText(last.value)
    ? { kind: "answered", reply: last.value }
    : { kind: "failed", reason: "it ended without a word" };
}

function isText(reply: string | undefined): reply is string {
  return reply !== undefined && reply.trim() !== "";
}

/** The grant first: a sub-agent that is still at work reads nothing more. */
async function cleanUp(run: SubagentRun, started: Promise<Settled<unknown>>): Promise<void> {
  await revokeGrant(run);
  // A start that is still under way makes a session after this one was removed.
  const isStarted = await Promise.race([started, Promise.resolve(undefined)]);
  if (isStarted === undefined) void started.then((late) => removeIfMade(run, late));
  else await removeIfMade(run, isStarted);
}

async function revokeGrant({ task, log, revoke }: SubagentRun): Promise<void> {
  const first = await begin(revoke);
  const last = "error" in first ? await begin(revoke) : first;
  if (!("error" in last)) return;
  log.warn(
    `the grant of ${task.sessionKey} could not be revoked and ends by itself: ${errorText(last.error)}`,
  );
}

async function removeIfMade(run: SubagentRun, started: Settled<unknown>): Promise<void> {
  const isRefused = "error" in started;
  const { host, task, log } = run;
  for (const attempt of isRefused ? ["only"] : ["first", "second"]) {
    const removed = await withTimer(
      run.cleanUpMs,
      begin(() => host.remove(task.sessionKey)),
    );
    if (removed !== undefined && !("error" in removed)) return;
    // What was never made can not be removed, and the host says so.
    if (isRefused || attempt === "first") continue;
    const reason = removed === undefined ? "no answer" : errorText(removed.error);
    log.warn(`the session ${task.sessionKey} could not be removed: ${reason}`);
  }
}

/** Undefined when it takes longer. The timer is gone with the answer. */
async function withTimer<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController();
  try {
    return await Promise.race([
      work,
      sleep(ms, undefined, { signal: timer.signal }).catch(() => undefined),
    ]);
  } finally {
    timer.abort();
  }
}
