// Text of a wanted length that looks like talk about software, the same for the same seed.

const WORDS =
  "the build passes after the cache was cleared and we keep the retry limit at five because the upstream service drops idle sockets so the worker reads from the queue in batches while the report shows fewer errors than last week and nobody has touched the schema since".split(
    " ",
  );

/** About `tokens` tokens. */
export function prose(tokens: number, seed = 1): string {
  const words: string[] = [];
  let state = seed * 2_654_435_761;
  for (let index = 0; index < tokens; index += 1) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + index) >>> 0;
    const word = WORDS[state % WORDS.length] as string;
    words.push(index % 14 === 13 ? `${word}.` : word);
  }
  return words.join(" ");
}
