// Which heartbeat turns leave no messages. Pure.

import { isHeartbeatPrompt, plainText } from "./message-codec.js";
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
