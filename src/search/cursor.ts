// Where a page of a search ended, as an opaque text. It belongs to one search and says which. Pure.

import { createHash } from "node:crypto";
import type { SearchRequest } from "./types.js";

export interface FullTextPlace {
  readonly kind: "full_text";
  /** What was stored later does not shift the pages of this search. */
  readonly throughMessage: number;
  readonly throughDocument: number;
  /** So many of the ranked hits were shown. */
  readonly offset: number;
  /** Behind the ranked hits: all other matches below these ids; undefined while ranked ones are left. */
  readonly below?: { readonly message: number; readonly document: number } | undefined;
}

export interface RegexPlace {
  readonly kind: "regex";
  /** Only ids below these were not looked at yet. */
  readonly belowMessage: number;
  readonly belowDocument: number;
}

/** Of a search that had no turn: nothing was looked at yet. */
export interface StartPlace {
  readonly kind: "start";
}

export type Place = FullTextPlace | RegexPlace | StartPlace;

export function encodeCursor(request: SearchRequest, place: Place): string {
  return Buffer.from(JSON.stringify({ search: fingerprint(request), place })).toString("base64url");
}

/** Where a search goes on; undefined for what did not come from a page of this very search. */
export function decodeCursor(request: SearchRequest): Place | undefined {
  if (request.cursor === undefined) return { kind: "start" };
  const read = readJson(Buffer.from(request.cursor, "base64url").toString());
  if (!isRecord(read) || read["search"] !== fingerprint(request)) return undefined;
  const place = isRecord(read["place"]) ? read["place"] : {};
  if (place["kind"] === "start") return { kind: "start" };
  if (place["kind"] !== request.mode) return undefined;
  return request.mode === "regex" ? regexPlace(place) : fullTextPlace(place);
}

function regexPlace({ belowMessage, belowDocument }: Written): RegexPlace | undefined {
  if (!isCount(belowMessage) || !isCount(belowDocument)) return undefined;
  return { kind: "regex", belowMessage, belowDocument };
}

function fullTextPlace(written: Written): FullTextPlace | undefined {
  const { throughMessage, throughDocument, offset, below } = written;
  if (!isCount(throughMessage) || !isCount(throughDocument) || !isCount(offset)) return undefined;
  const place = { kind: "full_text", throughMessage, throughDocument, offset } as const;
  if (below === undefined) return place;
  if (!isRecord(below)) return undefined;
  const { message, document } = below;
  return isCount(message) && isCount(document)
    ? { ...place, below: { message, document } }
    : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

export const FOREIGN_CURSOR =
  "This cursor belongs to another search: repeat the search it came from with nothing else changed, or leave the cursor out to begin anew.";

/**
 * The limit may change from page to page. So may the conversations: each page looks at those that the
 * caller may see when it asks for it.
 */
function fingerprint(request: SearchRequest): string {
  const { pattern, mode, scope, since = null, before = null, sort } = request;
  return createHash("sha256")
    .update(JSON.stringify([pattern, mode, scope, since, before, sort]))
    .digest("base64url")
    .slice(0, 12);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

type Written = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Written {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
