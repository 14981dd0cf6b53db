// Shorter forms of a message, each with an id that leads back to the original. Pure.

import { blocksOf, encodeMessage, plainText } from "../message-codec.js";
import type { Form, Shown } from "../store/view-store.js";
import { estimateTokens } from "../tokens.js";
import type { AgentMessage, MessageId } from "../types.js";

type ShortForm = Exclude<Form, "full">;

/** How much of the original a form quotes from its beginning and its end, in characters. */
const QUOTED: Readonly<Record<ShortForm, { readonly begin: number; readonly end: number }>> = {
  stub: { begin: 120, end: 60 },
  reference: { begin: 360, end: 160 },
};
/** Arguments of a tool call that cost more than this are left out of a reference. */
const MOST_ARGUMENT_TOKENS = 300;

export function messageRef(id: MessageId): string {
  return `msg_${id}`;
}

export function shortForm(
  id: MessageId,
  message: AgentMessage,
  form: ShortForm,
  fullTokens: number,
): Shown {
  const note = describe(id, message, form, fullTokens);
  const shown = withText(message, note, messageRef(id));
  const { body, tokens } = encodeMessage(shown, "");
  return { json: body, tokens };
}

function describe(
  id: MessageId,
  message: AgentMessage,
  form: ShortForm,
  fullTokens: number,
): string {
  const ref = messageRef(id);
  const what =
    message.role === "toolResult" ? `${toolName(message)} result` : `${message.role} message`;
  return `[${ref}: ${what} of ${fullTokens.toLocaleString("en-US")} tokens, shown in short. ${quote(plainText(message), QUOTED[form])}lcm_describe(id: "${ref}") gives the original.]`;
}

function toolName(message: AgentMessage): string {
  const name = message["toolName"];
  return typeof name === "string" ? name : "tool";
}

/** A short text whole, else its first and last characters; on one line. */
function quote(text: string, { begin, end }: { begin: number; end: number }): string {
  if (text.length <= begin + end) {
    const whole = oneLine(text);
    return whole === "" ? "" : `It says: ${whole.toWellFormed()} `;
  }
  // Twice as much is cut out first, so that a long text is not rewritten whole.
  const head = oneLine(text.slice(0, begin * 2)).slice(0, begin);
  const tail = oneLine(text.slice(-end * 2)).slice(-end);
  return `It begins: ${head} … and ends: ${tail} `.toWellFormed();
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The message with `note` in the place of its words. Calls stay, so that their results have one. */
function withText(message: AgentMessage, note: string, ref: string): AgentMessage {
  const { content: _content, details: _details, ...envelope } = message;
  const text = { type: "text", text: note };
  const kept = blocksOf(message)
    .filter(({ type }) => type === "toolCall" || type === "image")
    .map((block) => (block["type"] === "toolCall" ? shortenCall(block, ref) : block));
  const isPlain = typeof message["content"] === "string" && kept.length === 0;
  return { ...envelope, role: message.role, content: isPlain ? note : [text, ...kept] };
}

function shortenCall(call: Record<string, unknown>, ref: string): Record<string, unknown> {
  const tokens = estimateTokens(JSON.stringify(call["arguments"] ?? {}));
  if (tokens <= MOST_ARGUMENT_TOKENS) return call;
  return { ...call, arguments: { omitted: `${tokens} tokens of arguments, see ${ref}` } };
}
