// Reads a regular expression far enough to tell two things about it: which texts every match holds, and
// whether a backtracking matcher may never come to an end. Pure. Given a pattern that `RegExp` accepts;
// where it can not follow one, it claims nothing.

export type Node =
  | { readonly kind: "text"; readonly text: string }
  /** Takes one character of several, or none: classes, wildcards, assertions, references. */
  | { readonly kind: "other" }
  | { readonly kind: "wildcard" }
  | {
      readonly kind: "group";
      readonly options: readonly (readonly Node[])[];
      readonly takes: boolean;
    }
  | { readonly kind: "repeat"; readonly of: Node; readonly least: number; readonly most: number };

export function parseRegex(pattern: string): readonly (readonly Node[])[] {
  const parser = new Parser(pattern);
  return parser.options();
}

class Parser {
  #at = 0;

  constructor(private readonly pattern: string) {}

  options(): Node[][] {
    const options: Node[][] = [[]];
    while (this.#at < this.pattern.length && this.#peek() !== ")") {
      if (this.#peek() === "|") {
        this.#at += 1;
        options.push([]);
      } else {
        const node = this.#repeated(this.#atom());
        options.at(-1)?.push(node);
      }
    }
    return options;
  }

  #peek(): string {
    return this.pattern[this.#at] ?? "";
  }

  #atom(): Node {
    const character = String.fromCodePoint(this.pattern.codePointAt(this.#at) ?? 0);
    this.#at += character.length;
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case "\\":
        return this.#escape();
      case ".":
        return { kind: "wildcard" };
      case "^":
      case "$":
        return { kind: "other" };
      default:
        return { kind: "text", text: character };
    }
  }

  #group(): Node {
    const lead =
      /^\?(?:<[A-Za-z_$][\w$]*>|[ims]*(?:-[ims]+)?:|<?[=!])/.exec(
        this.pattern.slice(this.#at),
      )?.[0] ?? "";
    this.#at += lead.length;
    const options = this.options();
    this.#at += 1;
    // Inside a look-around nothing is taken; inside changed flags, letters are not what they seem.
    const takes = lead === "" || lead === "?:" || lead.endsWith(">");
    return { kind: "group", options, takes };
  }

  #class(): Node {
    for (; this.#at < this.pattern.length && this.#peek() !== "]"; this.#at += 1) {
      if (this.#peek() === "\\") this.#at += 1;
    }
    this.#at += 1;
    return { kind: "wildcard" };
  }

  #escape(): Node {
    const character = this.#peek();
    const whole =
      /^(?:[0-9]+|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|c[A-Za-z]|k<[^>]*>|[pP]\{[^}]*\})/.exec(
        this.pattern.slice(this.#at),
      )?.[0];
    this.#at += (whole ?? character).length;
    if (whole !== undefined || /[bB]/.test(character)) return { kind: "other" };
    if (/[dDwWsS]/.test(character)) return { kind: "wildcard" };
    return /[a-zA-Z]/.test(character) ? { kind: "other" } : { kind: "text", text: character };
  }

  #repeated(of: Node): Node {
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(this.pattern.slice(this.#at));
    if (!found) return of;
    this.#at += found[0].length;
    const [, sign, from, comma, to] = found;
    const endless = Number.POSITIVE_INFINITY;
    if (sign === "*") return { kind: "repeat", of, least: 0, most: endless };
    if (sign === "+") return { kind: "repeat", of, least: 1, most: endless };
    if (sign === "?") return { kind: "repeat", of, least: 0, most: 1 };
    const least = Number(from);
    return { kind: "repeat", of, least, most: comma === "" ? least : to ? Number(to) : endless };
  }
}

/** Texts that stand in every match, as they are. */
export function requiredTexts(options: readonly (readonly Node[])[]): string[] {
  const [only, ...others] = options;
  if (!only || others.length > 0) return [];
  const texts: string[] = [];
  let run = "";
  const end = (): void => {
    if (run !== "") texts.push(run);
    run = "";
  };
  for (const node of only) {
    if (node.kind === "text") {
      run += node.text;
      continue;
    }
    end();
    texts.push(...requiredOf(node));
  }
  end();
  return texts;
}

function requiredOf(node: Node): string[] {
  if (node.kind === "repeat") return node.least > 0 ? requiredTexts([[node.of]]) : [];
  return node.kind === "group" && node.takes ? requiredTexts(node.options) : [];
}

const MOST_WILDCARDS = 3;

/** True when a backtracking matcher may try more ways than it can ever finish. */
export function mayRunAway(options: readonly (readonly Node[])[]): boolean {
  return some(options, isNested) || count(options, isEndless) >= MOST_WILDCARDS;
}

function isNested(node: Node): boolean {
  if (node.kind !== "repeat" || node.most <= 1 || node.of.kind !== "group") return false;
  const inner = node.of.options;
  return some(inner, (child) => isEndless(child) || isChoice(child)) || isChoice(node.of);
}

function isEndless(node: Node): boolean {
  return node.kind === "repeat" && node.most === Number.POSITIVE_INFINITY;
}

function isChoice(node: Node): boolean {
  return node.kind === "group" && node.options.length > 1;
}

function some(options: readonly (readonly Node[])[], test: (node: Node) => boolean): boolean {
  return count(options, test) > 0;
}

function count(options: readonly (readonly Node[])[], test: (node: Node) => boolean): number {
  let found = 0;
  const waiting: Node[] = options.flat();
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (test(node)) found += 1;
    if (node.kind === "group") waiting.push(...node.options.flat());
    if (node.kind === "repeat") waiting.push(node.of);
  }
  return found;
}
