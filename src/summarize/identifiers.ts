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

/**
 * What no identifier holds: space, quotes, brackets of tags, and scripts that put no space between a
 * name and the words around it.
 */
const BETWEEN =
  /[\s"'`<>\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303F\uFF00-\uFFEF]+/u;

/** Longer stretches are data, not names, and would take long to search. */
const MOST_LENGTH = 200;

/** Every identifier of a text with how often it stands there, the most frequent first. */
export function identifiers(text: string): [name: string, count: number][] {
  return countEach(names(text));
}

/** The same with the number of paragraphs that name it: a listing is one mention of what it lists. */
export function mentions(text: string): [name: string, count: number][] {
  return countEach(text.split(/\n\s*\n/).flatMap((paragraph) => [...new Set(names(paragraph))]));
}

function countEach(all: readonly string[]): [name: string, count: number][] {
  const counts = new Map<string, number>();
  for (const name of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

function names(text: string): string[] {
  return (
    text
      .split(BETWEEN)
      .filter((word) => word.length <= MOST_LENGTH)
      .flatMap((word) => word.match(IDENTIFIER) ?? [])
      .map((match) => match.replace(/[.,:;]+$/, ""))
      // Dates, fractions and `../..` look like paths and name nothing.
      .filter((name) => /[a-z]/i.test(name))
  );
}

/** The last part of a path: a summary that names it has not lost the file. */
export function lastPart(name: string): string {
  return name.split("/").findLast((part) => part !== "") ?? name;
}

/** Ids and tools of this memory: they lead to what was said, and are not what it was about. */
export function isOwnName(name: string): boolean {
  return /^(?:(?:sum|file)_[0-9a-f]{16}|msg_\d+|lcm_\w+)$/.test(name);
}
