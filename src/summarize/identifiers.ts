// The names by which a reader finds things again: paths, files, ids, tickets, links. Pure.

/** From the longest form to the shortest; each text position counts for the first form that matches. */
const IDENTIFIER = new RegExp(
  [
    String.raw`https?:\/\/[^\s"'<>)\]]+`,
    // Paths, with or without a leading slash.
    String.raw`~?(?:\.{0,2}\/)?[\w.@-]+(?:\/[\w.@-]+)+`,
    // Files.
    String.raw`\b[\w-]+\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|c|cc|cpp|h|hpp|cs|sh|sql|json5?|ya?ml|toml|xml|html?|css|md|txt|log|csv|lock|env|db|sqlite)\b`,
    // UUIDs and digests.
    String.raw`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`,
    String.raw`\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b`,
    // Tickets, constants, snake_case, camelCase.
    String.raw`\b[A-Z][A-Z0-9]*-\d+\b`,
    String.raw`\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b`,
    String.raw`\b[a-z]+(?:[A-Z][a-z0-9]+)+\b`,
  ].join("|"),
  "g",
);

/** Longer stretches without a space are data, not names, and would take long to search. */
const MOST_LENGTH = 200;

/** Every identifier of a text with how often it stands there, the most frequent first. */
export function identifiers(text: string): [name: string, count: number][] {
  const counts = new Map<string, number>();
  for (const word of text.split(/\s+/)) {
    if (word.length > MOST_LENGTH) continue;
    for (const [match] of word.matchAll(IDENTIFIER)) {
      const name = match.replace(/[.,:;]+$/, "");
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

/** The last part of a path: a summary that names it has not lost the file. */
export function lastPart(name: string): string {
  return name.split("/").findLast((part) => part !== "") ?? name;
}
