// Matches as text, grouped by the summary that covers them, as many as fit on a page. Pure.

import { messageRef } from "../assembler/forms.js";
import { marked } from "../retrieval/snippet-text.js";
import type { Hit } from "../search/types.js";
import type { Summary } from "../store/summary-store.js";
import type { TimeFormat } from "../time-format.js";
import { PAGE_CHARACTERS } from "./pages.js";

export interface HitList {
  /** In the order of the search; at least one. */
  readonly hits: readonly Hit[];
  /** Those that cover hits and may be seen. */
  readonly summaries: readonly Summary[];
  readonly time: TimeFormat;
}

export interface RenderedHits {
  readonly text: string;
  /** How many of the hits are in it. */
  readonly count: number;
}

const UNCOVERED = "Not covered by a summary:";

export function renderHits({ hits, summaries, time }: HitList): RenderedHits {
  const known = new Map(summaries.map((summary) => [summary.id as string, summary]));
  const groups = new Map<string, string[]>();
  let used = 0;
  let count = 0;
  for (const hit of hits) {
    const heading = headingOf(hit, known, time);
    const line = hitLine(hit, time);
    const cost = line.length + 1 + (groups.has(heading) ? 0 : heading.length + 2);
    if (count > 0 && used + cost > PAGE_CHARACTERS) break;
    groups.set(heading, [...(groups.get(heading) ?? []), line]);
    used += cost;
    count += 1;
  }
  const text = [...groups].map(([heading, lines]) => [heading, ...lines].join("\n")).join("\n\n");
  return { text, count };
}

/** One row of the structured result. */
export function matchRow(hit: Hit): Record<string, unknown> {
  const { type, conversationId, createdAt } = hit;
  const common = { type, snippet: marked(hit.snippet), conversationId, createdAt };
  if (hit.type === "message") {
    return { id: messageRef(hit.id), ...common, role: hit.role, coveredBy: hit.coveredBy };
  }
  const { id, depth, kind, earliestAt, latestAt } = hit;
  return { id, ...common, summaryId: id, depth, kind, earliestAt, latestAt };
}

function headingOf(hit: Hit, known: ReadonlyMap<string, Summary>, time: TimeFormat): string {
  const id = hit.type === "summary" ? hit.id : hit.coveredBy;
  const where = `conversation ${hit.conversationId}`;
  if (id === null) return `${UNCOVERED.slice(0, -1)}, ${where}:`;
  if (hit.type === "summary") return nodeHeading(hit, id, where, time);
  const summary = known.get(id);
  if (!summary) return `${UNCOVERED.slice(0, -1)}, ${where}:`;
  const kind = summary.depth === 0 ? "leaf" : "condensed";
  return nodeHeading({ ...summary, kind }, id, where, time);
}

function nodeHeading(
  {
    kind,
    depth,
    earliestAt,
    latestAt,
  }: { kind: string; depth: number; earliestAt: string; latestAt: string },
  id: string,
  where: string,
  time: TimeFormat,
): string {
  return `${id} (${kind}, depth ${depth}, ${time.range(earliestAt, latestAt)}, ${where}):`;
}

function hitLine(hit: Hit, time: TimeFormat): string {
  const text = marked(hit.snippet);
  return hit.type === "message"
    ? `- ${messageRef(hit.id)} ${hit.role}, ${time.timestamp(hit.createdAt)}: ${text}`
    : `- the summary itself: ${text}`;
}
