// The host's transcript cursors, looked into. They are base64url JSON; the host validates every field
// on use, so a wrong guess here costs one refused read and nothing else.

type Cursor = Record<string, unknown>;

/** The position a visible cursor stands behind: -1 at the start, undefined when it can not be told. */
export function cursorPosition(cursor: string): number | undefined {
  const position = parse(cursor)?.["lastMessagePosition"];
  return typeof position === "number" ? position : undefined;
}

/**
 * The place of `known`, a visible cursor, in the generation of `fresh`: where to go on reading after
 * the host rotated a transcript that kept its beginning. Undefined when either is not understood.
 */
export function moveVisibleCursor(fresh: string, known: string): string | undefined {
  const target = parse(fresh);
  const source = parse(known);
  if (!target || !source) return undefined;
  const { lastMessagePosition, lastEventSeq } = source;
  return encode({ ...target, lastMessagePosition, lastEventSeq });
}

/** A visible cursor one message further, which stands that many events further in the log. */
export function cursorBehind(cursor: string, events: number): string | undefined {
  const place = parse(cursor);
  const position = place?.["lastMessagePosition"];
  const seq = place?.["lastEventSeq"];
  if (typeof position !== "number" || typeof seq !== "number") return undefined;
  return encode({ ...place, lastMessagePosition: position + 1, lastEventSeq: seq + events });
}

/** A raw cursor one event further. */
export function rawCursorBehind(cursor: string): string | undefined {
  const place = parse(cursor);
  const lastSeq = place?.["lastSeq"];
  return typeof lastSeq === "number" ? encode({ ...place, lastSeq: lastSeq + 1 }) : undefined;
}

/** As `moveVisibleCursor` for a raw cursor, but one event back: the last known event is read again, as proof. */
export function moveRawCursor(fresh: string, known: string): string | undefined {
  const target = parse(fresh);
  const lastSeq = parse(known)?.["lastSeq"];
  if (!target || typeof lastSeq !== "number" || lastSeq < 0) return undefined;
  return encode({ ...target, lastSeq: lastSeq - 1 });
}

function parse(cursor: string): Cursor | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Cursor) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function encode(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor), "utf8").toString("base64url");
}
