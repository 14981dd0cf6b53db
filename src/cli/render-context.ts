// The part of the report about the view and its summaries, in plain lines. Pure.

import type { ContextStatus, Debt, Part, SummaryStatus } from "../context-status.js";
import { count, dollars, plural } from "./words.js";

export function contextLines(context: ContextStatus): string[] {
  const { tokens, budget, threshold, isShown, folded } = context;
  const shown = isShown ? "" : " OpenClaw's own messages are shown until it is half of that.";
  return [
    `Context: ${count(tokens)} of ${count(budget)} tokens, compacted beyond ${count(threshold)}.${shown}`,
    `  ${partsOf(context).join(", ")}`,
    ...(folded
      ? [
          `  Folded into a pointer: ${plural(folded.count, "item")}, ${count(folded.tokens)} tokens.`,
        ]
      : []),
    debtLine(context.debt, context.prepared),
  ];
}

function partsOf(context: ContextStatus): string[] {
  const { tail, raw, stubs, references, summaries } = context;
  const named: [string, Part][] = [
    ["fresh tail", tail],
    ["older messages", raw],
    ["stubs", stubs],
    ["references", references],
    ...summaries.map((one): [string, Part] => [`summaries of depth ${one.depth}`, one]),
  ];
  return named
    .filter(([, part]) => part.count > 0)
    .map(([name, part]) => `${name} ${count(part.count)} (${count(part.tokens)} tokens)`);
}

function debtLine(debt: Debt, prepared: number): string {
  const ready = prepared > 0 ? ` Ready to be published: ${plural(prepared, "node")}.` : "";
  if (debt.tokens === 0) return `Nothing waits to be summarized.${ready}`;
  const price = debt.costUsd === null ? "" : `, about ${dollars(debt.costUsd)}`;
  return `Not summarized yet: ${plural(debt.count, "message")}, ${count(debt.tokens)} tokens; all of it would take about ${plural(debt.calls, "call")}${price}.${ready}`;
}

export function summaryLines(
  { today, limits, access }: SummaryStatus,
  time: (iso: string) => string,
): string[] {
  const used = today.inputTokens + today.outputTokens;
  const most = limits.tokens > 0 ? ` of ${count(limits.tokens)}` : "";
  const cost =
    today.costUsd === null
      ? ""
      : `, ${dollars(today.costUsd)}${limits.costUsd > 0 ? ` of ${dollars(limits.costUsd)}` : ""}`;
  const paused = access.allowed
    ? []
    : [
        `Summaries are written without a model until ${time(access.until)}: ${access.reason}. Better ones replace them then.`,
      ];
  return [
    `Summaries today: ${plural(today.calls, "call")}, ${count(used)}${most} tokens${cost}.`,
    ...paused,
  ];
}
