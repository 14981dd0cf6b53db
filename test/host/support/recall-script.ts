// An agent that recalls as it was taught: it greps, has the question answered beneath the summary that
// it found, and passes the answer on. Its sub-agent greps too, reads the message, and answers in JSON.

import type { RecordedRequest, Reply } from "../harness/model-types.js";

/** What a user says to be told the fact. */
export const RECALL = "RECALL";
export const FACT = "TANGERINE-7741-K";
/** How the user told it. It shares no more words with the question than it has to. */
export const TOLD = `By the way, the vault opens with ${FACT}.`;

const QUESTION = "What was the vault code, word for word?";

/** Undefined for a request that has nothing to do with recalling. */
export function recallReply(request: RecordedRequest): Reply | undefined {
  const excerpts = request.messages.find(({ text }) => text.includes("<excerpts>"))?.text;
  if (request.toolNames.length === 0) return excerpts === undefined ? undefined : cite(excerpts);
  if (request.sessionKey?.includes(":subagent:lcm-recall-") === true) return childReply(request);
  return request.lastUserText.startsWith(RECALL) ? agentReply(request) : undefined;
}

function agentReply(request: RecordedRequest): Reply {
  const found = lastTool(request);
  switch (request.toolResultsSinceUser) {
    case 0:
      return call("lcm_grep", { pattern: QUESTION, mode: "full_text" });
    case 1: {
      // The summary under which the line with the match stands.
      const summaryId = /sum_[0-9a-f]{16}/.exec(found)?.[0];
      return call("lcm_expand_query", {
        prompt: QUESTION,
        query: "vault code",
        ...(summaryId === undefined ? {} : { summaryIds: [summaryId] }),
      });
    }
    default:
      return { text: `RECALLED ${found}` };
  }
}

function childReply(request: RecordedRequest): Reply {
  const found = lastTool(request);
  switch (request.toolResultsSinceUser) {
    case 0:
      return call("lcm_grep", { pattern: "vault", mode: "full_text", scope: "messages" });
    case 1:
      return call("lcm_describe", { id: /msg_\d+/.exec(found)?.[0] ?? "msg_0" });
    default:
      return cite(found, askedFor(request));
  }
}

/** Without an `id` it is that of the excerpt that tells the fact: each begins with its own in brackets. */
function cite(text: string, id = idBefore(text.indexOf(FACT), text)): Reply {
  const answer = text.includes(FACT) ? `It was ${FACT}.` : "I did not find it.";
  return { text: JSON.stringify({ answer, citedIds: id === undefined ? [] : [id] }) };
}

/** The id that the last tool call named. */
function askedFor({ messages }: RecordedRequest): string | undefined {
  const last = messages.flatMap(({ toolCalls }) => toolCalls).at(-1);
  return (last?.arguments as { id?: string } | undefined)?.id;
}

function idBefore(at: number, text: string): string | undefined {
  return text
    .slice(0, Math.max(0, at))
    .match(/(?<=^\[)msg_\d+(?=\])/gm)
    ?.at(-1);
}

function call(name: string, args: Record<string, unknown>): Reply {
  return { toolCalls: [{ name, arguments: args }] };
}

function lastTool({ messages }: RecordedRequest): string {
  return messages.findLast(({ role }) => role === "tool")?.text ?? "";
}
