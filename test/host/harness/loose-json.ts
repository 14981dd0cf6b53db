export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function records(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function str(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Text of a message content: a string, or blocks of which the text ones count. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return records(content)
    .filter((block) => block["type"] === "text")
    .map((block) => str(block["text"]))
    .join("\n");
}

/** Arguments of a recorded call; malformed JSON is kept as the text it was. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Objects merge key by key, everything else (arrays too) is replaced. */
export function deepMerge(base: JsonRecord, patch: JsonRecord): JsonRecord {
  const merged: JsonRecord = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const previous = merged[key];
    merged[key] = isRecord(previous) && isRecord(value) ? deepMerge(previous, value) : value;
  }
  return merged;
}
