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

export type Place = FullTextPlace | RegexPlace;

export function encodeCursor(request: SearchRequest, place: Place): string {
  return Buffer.from(JSON.stringify({ search: fingerprint(request), place })).toString("base64url");
}

/** Undefined for what did not come from a page of this very search. */
export function decodeCursor(request: SearchRequest): Place | undefined {
  const read = readJson(Buffer.from(request.cursor ?? "", "base64url").toString());
  if (!isRecord(read) || read["search"] !== fingerprint(request)) return undefined;
  const place = read["place"];
  return isRecord(place) && place["kind"] === request.mode
    ? (place as unknown as Place)
    : undefined;
}

export const FOREIGN_CURSOR =
  "This cursor belongs to another search: repeat the search it came from with nothing else changed, or leave the cursor out to begin anew.";

/** The limit may change from page to page. */
function fingerprint(request: SearchRequest): string {
  const { pattern, mode, scope, conversations, since = null, before = null, sort } = request;
  const searched = [...conversations].sort((one, other) => one - other);
  return createHash("sha256")
    .update(JSON.stringify([pattern, mode, scope, searched, since, before, sort]))
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
