// A snippet with marks around what matched. Pure.

import type { Snippet } from "../search/types.js";

/** Signs that neither Markdown nor code uses. */
export const MARKS = { open: "⟦", close: "⟧" } as const;

/** However long a snippet is, one always fits on a page. */
const MOST_SNIPPET = 2_000;

/** The snippet with marks around what matched. */
export function marked({ text, marks }: Snippet): string {
  let result = "";
  let from = 0;
  for (const [start, end] of marks) {
    if (start < from || end <= start || end > text.length) continue;
    result += `${text.slice(from, start)}${MARKS.open}${text.slice(start, end)}${MARKS.close}`;
    from = end;
  }
  const whole = (result + text.slice(from)).replace(/\s+/g, " ");
  return whole.length > MOST_SNIPPET ? `${whole.slice(0, MOST_SNIPPET).toWellFormed()}…` : whole;
}
