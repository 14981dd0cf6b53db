// The report in plain lines. Pure.

import { ENGINE_ID } from "../engine-info.js";
import type { HeadCheck, SessionStatus, Status } from "../status.js";
import type { ConversationCounts } from "../store/status-store.js";
import { timeFormat } from "../time-format.js";
import { contextLines, summaryLines } from "./render-context.js";
import type { Report } from "./report.js";
import { formatBytes, plural } from "./words.js";

type ShowTime = (iso: string) => string;

export function renderReport(report: Report): string {
  const time: ShowTime = timeFormat(report.timezone).timestamp;
  const { status } = report;
  return [
    headline(report, time),
    ...failureLines(report, time),
    ...(status?.session ? sessionLines(status.session, time) : []),
    ...(status?.session?.context ? contextLines(status.session.context) : []),
    ...(status ? summaryLines(status.summaries, time) : []),
    databaseLine(report),
    ...(status?.recent ?? []).map((one) => `  ${one.sessionKey}: ${counts(one, time)}`),
    ...report.problems.map((problem) => `Configuration: ${problem}`),
  ].join("\n");
}

function headline(report: Report, time: ShowTime): string {
  if (!report.enabled) {
    return "Lossless memory is turned off: enabled (LCM_ENABLED) is false. OpenClaw's own engine serves the turns.";
  }
  if (report.slot !== ENGINE_ID) {
    return `Lossless memory is not active: the context engine slot holds "${report.slot}". Set plugins.slots.contextEngine to "${ENGINE_ID}"; the next turn uses it.`;
  }
  if (report.state === "broken") {
    return `Lossless memory is not working, messages pass through unchanged: ${report.error}`;
  }
  if (report.state === "absent" || report.state === "waiting") {
    return "Lossless memory is active; no turn has run through it yet.";
  }
  return sessionHeadline(report.status?.session, time) ?? "Lossless memory is active.";
}

/** What a gateway met, also where a look at the database finds nothing wrong. */
function failureLines({ state, lastFailure }: Report, time: ShowTime): string[] {
  if (!lastFailure || state === "broken") return [];
  const { at, error } = lastFailure;
  return [`The store failed at ${time(at)}, and nothing was stored since: ${error}`];
}

function sessionHeadline(session: SessionStatus | undefined, time: ShowTime): string | undefined {
  if (!session) return undefined;
  if (session.class === "ignored") {
    return `Lossless memory does not store ${session.key}: it is private, internal, or named by ignoreSessionPatterns.`;
  }
  if (session.class === "stateless") {
    return `Lossless memory adds nothing for ${session.key}: statelessSessionPatterns names it.`;
  }
  const since = session.conversation?.activeSince;
  return since
    ? `Lossless memory is active for ${session.key} since ${time(since)}.`
    : `Lossless memory is active; no turn of ${session.key} has run through it yet.`;
}

function sessionLines({ conversation, head }: SessionStatus, time: ShowTime): string[] {
  if (!conversation) return [];
  const { lastReceipt } = conversation;
  const receipt = lastReceipt
    ? `Last receipt: ${time(lastReceipt.committedAt)}, ${plural(lastReceipt.messageCount, "message")} up to entry ${lastReceipt.entryId}`
    : "Last receipt: none yet; turns arrive through the transcript";
  return [`Stored: ${counts(conversation, time)}.`, `${receipt}. ${headLine(head)}`];
}

function counts(conversation: ConversationCounts, time: ShowTime): string {
  const { gapsFilled, lastGapAt, legacyTurns, lastLegacyAt } = conversation;
  return [
    plural(conversation.messages, "message"),
    gapsFilled > 0
      ? `${plural(gapsFilled, "gap")} filled${lastGapAt ? ` (last ${time(lastGapAt)})` : ""}`
      : "no gaps",
    legacyTurns > 0
      ? `${plural(legacyTurns, "turn")} served by legacy${lastLegacyAt ? ` (last ${time(lastLegacyAt)})` : ""}`
      : "no fall-back to legacy",
  ].join(", ");
}

function headLine(head: HeadCheck): string {
  switch (head.state) {
    case "equal":
      return "The store equals the transcript.";
    case "behind":
      return `The transcript is ${plural(head.missing, "message")}${head.more ? " or more" : ""} ahead; the next turn fills them in.`;
    case "unknown":
      return `The transcript was not compared: ${head.reason}.`;
  }
}

function databaseLine({ state, status, databasePath }: Report): string {
  if (state === "absent") return `Database: ${databasePath}, made by the first turn.`;
  if (state === "waiting") {
    return `Database: ${databasePath}, of an earlier release; the first turn backs it up and takes it over.`;
  }
  if (!status) return `Database: ${databasePath}`;
  return `Database: ${databasePath}, ${databaseCounts(status)}.`;
}

function databaseCounts({ database }: Status): string {
  const { bytes, messages, conversations, hiddenConversations } = database;
  const hidden = hiddenConversations > 0 ? ` (and ${hiddenConversations} deleted in OpenClaw)` : "";
  return `${formatBytes(bytes)}, ${plural(messages, "message")} in ${plural(conversations, "conversation")}${hidden}`;
}
