// Which heartbeat turns leave no messages. Pure.

import { isHeartbeatPrompt, isTranscriptOnly, plainText, runOf } from "./message-codec.js";
import type { AgentMessage } from "./types.js";

export interface HeartbeatPolicy {
  /** No heartbeat turn is kept. */
  readonly skipHeartbeats: boolean;
  /** Heartbeat turns whose whole reply is the acknowledgement are not kept. */
  readonly pruneHeartbeatOk: boolean;
}

const ACKNOWLEDGEMENT = /^\W*HEARTBEAT_OK\W*$/i;

/** `turn` runs from the user row to the last row of the turn. */
export function isSkippedHeartbeat(
  turn: readonly AgentMessage[],
  flagged: boolean,
  policy: HeartbeatPolicy,
): boolean {
  const first = turn[0];
  if (!first || !(flagged || isHeartbeatPrompt(first))) return false;
  return policy.skipHeartbeats || (policy.pruneHeartbeatOk && isBareAcknowledgement(turn));
}

/**
 * How many of the rows, from a heartbeat's prompt on, are its turn. It ends at the next user row, at
 * a row of the host's own, and where another run begins: a sub-agent's result may be announced then.
 */
export function heartbeatLength(rows: readonly (AgentMessage | undefined)[]): number {
  const run = rows.slice(1).find((row) => row && runOf(row) !== undefined);
  const runId = run && runOf(run);
  const end = rows.findIndex((row, index) => index > 0 && (!row || !continues(row, runId)));
  return end < 0 ? rows.length : end;
}

function continues(row: AgentMessage, runId: string | undefined): boolean {
  if (row.role === "user" || isTranscriptOnly(row)) return false;
  const own = runOf(row);
  return own === undefined || own === runId;
}

/** A heartbeat that used a tool did something; it is kept whatever it answered. */
function isBareAcknowledgement(turn: readonly AgentMessage[]): boolean {
  const replies = turn.slice(1);
  const last = replies.at(-1);
  return (
    last !== undefined &&
    replies.every((message) => message.role === "assistant") &&
    ACKNOWLEDGEMENT.test(plainText(last))
  );
}
