// A summary as the model sees it. Pure; rendered once, when the node enters the view.

import type { LcmConfig } from "../db/config.js";
import { userMessageTokens } from "../message-codec.js";
import type { Summary } from "../store/summary-store.js";
import type { Shown } from "../store/view-store.js";
import { type TimeFormat, timeFormat } from "../time-format.js";
import type { SummaryId } from "../types.js";
import { attributes, escapeText } from "./xml.js";

export interface SummaryStyle {
  readonly format: LcmConfig["summaryFormat"];
  readonly time: TimeFormat;
}

export function renderStyle({ summaryFormat, timezone }: LcmConfig): SummaryStyle {
  return { format: summaryFormat, time: timeFormat(timezone) };
}

/** `sources` are the nodes it was built from; a leaf has none. */
export function renderSummary(
  summary: Summary,
  sources: readonly SummaryId[],
  style: SummaryStyle,
): Shown {
  const text =
    style.format === "full" ? full(summary, sources, style.time) : compact(summary, style.time);
  return shownAsUser(text);
}

/** A text of ours that the model gets as a user message. */
export function shownAsUser(text: string): Shown {
  return { json: JSON.stringify({ role: "user", content: text }), tokens: userMessageTokens(text) };
}

function full(summary: Summary, sources: readonly SummaryId[], time: TimeFormat): string {
  const open = attributes({
    id: summary.id,
    kind: summary.depth === 0 ? "leaf" : "condensed",
    depth: summary.depth,
    descendant_count: summary.descendantCount,
    earliest_at: time.local(summary.earliestAt),
    latest_at: time.local(summary.latestAt),
  });
  const refs = sources.map((id) => `    <summary_ref${attributes({ id })} />`);
  return [
    `<summary${open}>`,
    ...(refs.length > 0 ? ["  <parents>", ...refs, "  </parents>"] : []),
    "  <content>",
    escapeText(summary.content),
    "  </content>",
    "</summary>",
  ].join("\n");
}

function compact(summary: Summary, time: TimeFormat): string {
  const open = attributes({
    id: summary.id,
    range: time.range(summary.earliestAt, summary.latestAt),
    depth: summary.depth,
    descendants: summary.descendantCount > 0 ? summary.descendantCount : undefined,
  });
  return `<summary${open}>\n${escapeText(summary.content)}\n</summary>`;
}
