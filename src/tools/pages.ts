// Output in pages: the host cuts tool results at 16,000 characters for smaller models. Pure.

/** Room that the text of a page takes, with what stands around it below 15,000 characters. */
export const PAGE_CHARACTERS = 14_000;

export interface Page {
  readonly text: string;
  readonly number: number;
  readonly count: number;
}

/** Page numbers count from 1; undefined when there is no such page. */
export function pageOf(text: string, number: number, size = PAGE_CHARACTERS): Page | undefined {
  const pages = split(text, size);
  const page = pages[number - 1];
  return page === undefined ? undefined : { text: page, number, count: pages.length };
}

/** Cut at line ends where there is one in the last quarter of a page, else between characters. */
function split(text: string, size: number): string[] {
  const pages: string[] = [];
  let from = 0;
  while (text.length - from > size) {
    const to = cutBefore(text, from, from + size);
    pages.push(text.slice(from, to));
    from = to;
  }
  pages.push(text.slice(from));
  return pages;
}

function cutBefore(text: string, from: number, limit: number): number {
  const line = text.lastIndexOf("\n", limit - 1) + 1;
  if (line > from + (limit - from) * 0.75) return line;
  const splitsPair = isLowSurrogate(text.charCodeAt(limit));
  return splitsPair ? limit - 1 : limit;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
