// The host's transcript cursors, looked into. They are base64url JSON; the host validates every field
// on use, so a wrong guess here costs one refused read and nothing else.

interface CursorFields {
  readonly lastMessagePosition?: number;
  readonly lastEventSeq?: number;
  readonly lastSeq?: number;
}

function parse(cursor: string): (CursorFields & Record<string, unknown>) | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as CursorFields & Record<string, unknown>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The position a visible cursor stands behind: -1 at the start, undefined when it can not be told. */
export function cursorPosition(cursor: string): number | undefined {
  return parse(cursor)?.lastMessagePosition;
}

/**
 * The place of `known` in the generation of `fresh`: where to go on reading after the host rotated a
 * transcript that kept its beginning. Undefined when either cursor is not understood.
 */
export function moveCursor(fresh: string, known: string): string | undefined {
  const target = parse(fresh);
  const source = parse(known);
  if (!target || !source) return undefined;
  const moved: Record<string, unknown> = { ...target };
  for (const field of ["lastMessagePosition", "lastEventSeq", "lastSeq"] as const) {
    if (source[field] !== undefined) moved[field] = source[field];
  }
  return Buffer.from(JSON.stringify(moved), "utf8").toString("base64url");
}
