// A summary, message or file as readable text and as structured details. Pure.

import { messageRef } from "../assembler/forms.js";
import type { Description } from "../retrieval/describe.js";
import { messageText, speaker } from "../retrieval/message-text.js";
import type { StoredFile } from "../store/recall-store.js";
import type { TimeFormat } from "../time-format.js";

type Found = Exclude<Description, { kind: "missing" | "elsewhere" }>;
type FoundSummary = Extract<Found, { kind: "summary" }>;
type FoundMessage = Extract<Found, { kind: "message" }>;

export function renderDescription(found: Found, time: TimeFormat): string {
  switch (found.kind) {
    case "summary":
      return summaryText(found, time);
    case "message":
      return messageDescription(found, time);
    case "file":
      return fileText(found.file, time);
  }
}

function summaryText({ summary, links }: FoundSummary, time: TimeFormat): string {
  const { sources, messages, derived, supersededBy } = links;
  const isLeaf = summary.depth === 0;
  return lines(
    `${summary.id}: ${isLeaf ? "leaf" : "condensed"} summary, depth ${summary.depth}, of conversation ${summary.conversationId}`,
    `Covers ${time.range(summary.earliestAt, summary.latestAt)}: ${count(summary.messageCount)} messages, ${count(summary.descendantCount)} summaries beneath it.`,
    `Tokens: ${count(summary.tokens)}, made from ${count(summary.sourceTokens)}. Created ${time.timestamp(summary.createdAt)}${writer(summary)}.`,
    supersededBy && `Superseded by ${supersededBy}, which says the same better.`,
    sources.length > 0 && `Built from (its "parents"): ${sources.join(", ")}`,
    derived.length > 0 && `Part of (its "children"): ${derived.join(", ")}`,
    isLeaf && messages.length > 0 && `Source messages: ${messages.map(messageRef).join(", ")}`,
    summary.fileIds.length > 0 && `Files: ${summary.fileIds.join(", ")}`,
    "",
    summary.content,
  );
}

function writer({ level, model }: FoundSummary["summary"]): string {
  if (level === "deterministic") return ", without a model: it quotes its source";
  return model === null ? "" : ` by ${model}`;
}

function messageDescription({ message, coveredBy }: FoundMessage, time: TimeFormat): string {
  return lines(
    `${messageRef(message.id)}: ${speaker(message.message)}, ${time.timestamp(message.createdAt)}, conversation ${message.conversationId}, ${count(message.tokens)} tokens`,
    coveredBy.length > 0 && `Covered by ${coveredBy.join(", ")}`,
    "",
    messageText(message.message),
  );
}

function fileText(file: StoredFile, time: TimeFormat): string {
  return lines(
    `${file.id}: file ${file.fileName ?? "(no name)"}, ${file.mimeType ?? "unknown type"}${file.byteSize === null ? "" : `, ${count(file.byteSize)} bytes`}, conversation ${file.conversationId}`,
    `Stored ${time.timestamp(file.createdAt)} at ${file.storageUri}`,
    "",
    file.explorationSummary ?? "Nothing was noted about its content.",
  );
}

function lines(...parts: (string | false | undefined)[]): string {
  return parts.filter((part) => typeof part === "string").join("\n");
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}

/** The words of the tool page: parents are sources, children the nodes built from it. */
export function descriptionDetails(found: Found): Record<string, unknown> {
  switch (found.kind) {
    case "summary": {
      const { summary, links } = found;
      const { id, previousContext: _context, ...rest } = summary;
      return {
        type: "summary",
        id,
        kind: summary.depth === 0 ? "leaf" : "condensed",
        ...rest,
        parentIds: links.sources,
        childIds: links.derived,
        messageIds: links.messages.map(messageRef),
        supersededBy: links.supersededBy ?? null,
      };
    }
    case "message": {
      const { id, role, conversationId, createdAt, tokens } = found.message;
      const common = { conversationId, createdAt, tokens };
      return { type: "message", id: messageRef(id), role, ...common, coveredBy: found.coveredBy };
    }
    case "file":
      return { type: "file", ...found.file };
  }
}
