// Session key patterns, as in `ignoreSessionPatterns`. Keys are parts joined by `:`, for example
// `agent:main:explicit:t1`. Not globs of file names: `?`, brackets and braces stand for themselves.

/** `*` matches within one part, `**` across parts; all else matches itself. The whole key must match. */
export function sessionPatternToRegExp(pattern: string): RegExp {
  const source = pattern.replace(/\*+|[^*]+/g, (run) => {
    if (run === "*") return "[^:]*";
    return run.startsWith("*") ? ".*" : escapeRegExp(run);
  });
  return new RegExp(`^${source}$`, "su");
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.|?+()[\]{}/]/g, "\\$&");
}
