// Goes through the visible transcript page by page, from where we stand. After a rotation the host
// refuses our cursor; it mostly kept the transcript's beginning, so the walk goes on near our place.

import type { VisiblePage } from "../types.js";
import { cursorPosition, moveVisibleCursor } from "./cursor.js";
import type { PageReader } from "./page-reader.js";

export type EntriesPage = Extract<VisiblePage, { kind: "page" }>;

/** A transcript that is rotated again and again while it is read is left for the next turn. */
const MAX_ROTATIONS = 5;

export interface KnownPlace {
  readonly cursor: string | null;
  /** Where the page before began: what stands there proves that it is our place. */
  readonly earlierCursor: string | null;
  entryAt(position: number): string | null | undefined;
}

export class PageWalk {
  #cursor: string | undefined;
  #rotations = 0;
  #hasJumped = false;
  /** Set while a moved cursor has not yet proved to stand at our own place. */
  #toVerify: { position: number; fallback: string } | undefined;

  constructor(
    private readonly pages: PageReader,
    private readonly known: KnownPlace,
  ) {
    this.#cursor = known.cursor ?? undefined;
  }

  /** Behind the last page that was taken. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** True when the page at hand does not follow the last one that was taken. */
  get hasJumped(): boolean {
    return this.#hasJumped;
  }

  async next(): Promise<Exclude<VisiblePage, { kind: "reset" }>> {
    for (;;) {
      const page = await this.pages.read(this.#cursor);
      if (page.kind === "reset") {
        this.#rotations += 1;
        if (this.#rotations > MAX_ROTATIONS) {
          return { kind: "unavailable", reason: "the transcript keeps rotating" };
        }
        this.#afterRotation(page.cursor);
      } else if (page.kind === "page" && this.#isElsewhere(page)) {
        this.#jump(this.#toVerify?.fallback);
      } else {
        return page;
      }
    }
  }

  take(page: EntriesPage): void {
    this.#cursor = page.cursor;
    this.#toVerify = undefined;
    this.#hasJumped = false;
  }

  #afterRotation(fresh: string): void {
    const { earlierCursor } = this.known;
    const known = this.#rotations > 1 ? null : earlierCursor;
    const moved = known === null ? undefined : moveVisibleCursor(fresh, known);
    const position = known === null ? undefined : cursorPosition(known);
    if (moved === undefined || position === undefined) return this.#jump(fresh);
    this.#jump(moved);
    this.#toVerify = { position: position + 1, fallback: fresh };
  }

  #jump(cursor: string | undefined): void {
    this.#cursor = cursor;
    this.#toVerify = undefined;
    this.#hasJumped = true;
  }

  /** True when a moved cursor landed on another entry than the one we know there. */
  #isElsewhere(page: EntriesPage): boolean {
    if (!this.#toVerify) return false;
    const { position } = this.#toVerify;
    const first = page.entries[0];
    return !first || first.seq - 1 !== position || first.entryId !== this.known.entryAt(position);
  }
}

/** The position behind the last entry of a transcript whose last page this is. */
export function endOf(page: EntriesPage): number | undefined {
  const last = page.entries.at(-1);
  if (last) return last.seq;
  const position = cursorPosition(page.cursor);
  return position === undefined ? undefined : position + 1;
}
