// How deep to go for a question: nothing to read, little enough to read at once, a look at the nodes
// themselves, or down to the original messages. Pure.

export interface ExpansionCandidate {
  readonly depth: number;
  /** Of its own text. */
  readonly tokens: number;
  /** Of what it was made from, down to the bottom as far as known. */
  readonly sourceTokens: number;
}

export interface ExpansionQuestion {
  readonly question: string;
  readonly candidates: readonly ExpansionCandidate[];
  /** Messages that no summary covers, and their tokens. */
  readonly messages: { readonly count: number; readonly tokens: number };
  readonly tokenCap: number;
}

export interface ExpansionDecision {
  /** `direct`: so little that it is read at once, without a sub-agent. */
  readonly route: "direct" | "shallow" | "deep";
  /** Layers below the candidates. */
  readonly maxDepth: number;
  readonly includeMessages: boolean;
  readonly reason: string;
}

/** What one model call can simply be given. */
const DIRECT_TOKENS = 600;
/** With this many candidates the cap would be gone before the second of them was read to the bottom. */
const MANY = 8;
const DEEPEST = 10;
/** A question about a long stretch is better served by what many nodes say than by one read whole. */
const BROAD =
  /\b(?:timeline|chronology|overview|history|long[- ]?term|overall|evolve[ds]?)\b|\b(?:over|across|throughout)\b.{0,20}\b(?:time|days?|weeks?|months?|quarters?|years?|sessions?)\b|\b(?:last|past)\b.{0,12}\b(?:weeks?|months?|quarters?|years?)\b/i;
const EXACT =
  /\b(?:exact(?:ly)?|verbatim|word for word|literal(?:ly)?|quote[ds]?|command|error|stack ?trace|path|file ?name|config\w*|value|number|version|url|commit|hash|password|port|id|code)\b|["'`]/i;

export function decideExpansion(input: ExpansionQuestion): ExpansionDecision {
  const { question, candidates, messages, tokenCap } = input;
  const beneath = candidates.reduce(
    (sum, one) => sum + one.tokens + one.sourceTokens,
    messages.tokens,
  );
  const maxDepth = Math.min(DEEPEST, Math.max(0, ...candidates.map(({ depth }) => depth)) + 1);
  if (beneath <= Math.min(DIRECT_TOKENS, tokenCap)) {
    const reason = `all that may answer it has ${beneath} tokens`;
    return { route: "direct", maxDepth, includeMessages: true, reason };
  }
  const isExact = EXACT.test(question);
  if (candidates.length > 0 && !isExact && beneath > tokenCap) {
    if (BROAD.test(question)) return shallow("the question is about a long stretch of time");
    if (candidates.length >= MANY) return shallow(`${candidates.length} summaries may answer it`);
  }
  const reason = isExact ? "the question asks for exact details" : "summaries leave details out";
  return { route: "deep", maxDepth, includeMessages: true, reason };
}

function shallow(reason: string): ExpansionDecision {
  return { route: "shallow", maxDepth: 1, includeMessages: false, reason };
}
