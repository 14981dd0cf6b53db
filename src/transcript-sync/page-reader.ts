// Reads pages of the visible transcript: gives an entry larger than a page the room it needs, and goes
// past one that the host hands out to nobody.

import type { SessionRef, TranscriptSource, VisiblePage } from "../types.js";
import { cursorBehind, cursorPosition } from "./cursor.js";
import { MAX_PAGE_BYTES } from "./sync-types.js";

type EntriesPage = Extract<VisiblePage, { kind: "page" }>;

export interface PageSize {
  readonly maxItems: number;
  readonly maxBytes: number;
}

/** The host notes changes of model and the like between two messages, rarely more than a few. */
const MOST_EVENTS_BETWEEN = 64;

export class PageReader {
  /** What could not be read on the way to the last page, in words. */
  #unreadable: string[] = [];

  constructor(
    private readonly source: TranscriptSource,
    private readonly session: SessionRef,
    private readonly size: PageSize,
  ) {}

  get unreadable(): readonly string[] {
    return this.#unreadable;
  }

  /** The page behind a cursor. It is empty only at the transcript's end. */
  async read(from: string | undefined): Promise<VisiblePage> {
    this.#unreadable = [];
    let cursor = from;
    let { maxBytes } = this.size;
    for (;;) {
      const page = await this.#ask(cursor, maxBytes);
      const required = page.kind === "page" ? roomFor(page, maxBytes) : undefined;
      if (page.kind !== "page" || required === undefined) return page;
      if (required <= MAX_PAGE_BYTES) {
        maxBytes = required;
        continue;
      }
      const reason = `an entry of ${required} bytes after position ${cursorPosition(page.cursor) ?? "?"} is beyond what the host hands out`;
      this.#unreadable.push(reason);
      cursor = await this.#findBehind(page.cursor);
      if (cursor === undefined) return { kind: "unavailable", reason };
    }
  }

  /** The cursor behind the entry that follows; only the host can tell where in its log that stands. */
  async #findBehind(cursor: string): Promise<string | undefined> {
    for (let events = 1; events <= MOST_EVENTS_BETWEEN; events += 1) {
      const behind = cursorBehind(cursor, events);
      if (behind === undefined) return undefined;
      const answer = await this.#ask(behind, this.size.maxBytes);
      if (answer.kind === "page") return behind;
      if (answer.kind !== "reset") return undefined;
    }
    return undefined;
  }

  #ask(cursor: string | undefined, maxBytes: number): Promise<VisiblePage> {
    const from = cursor === undefined ? {} : { cursor };
    return this.source.visible(this.session, { ...from, maxItems: this.size.maxItems, maxBytes });
  }
}

/** How many bytes the page's first entry needs, when it is larger than the room it was given. */
function roomFor({ entries, requiredBytes }: EntriesPage, maxBytes: number): number | undefined {
  const lacks = entries.length === 0 && requiredBytes !== undefined && requiredBytes > maxBytes;
  return lacks ? requiredBytes : undefined;
}
