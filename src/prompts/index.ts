// The set of prompts in use: the built-in ones, with the operator's own templates in their place where
// a directory holds them. A template that would lose the source or the footer is refused.

import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../errors.js";
import { fillPrompt } from "./fill.js";
import { BUILT_IN, FOOTER, type PromptDepth, type PromptTexts } from "./templates.js";

export { fillPrompt } from "./fill.js";
export { FOOTER } from "./templates.js";

export interface PromptSet {
  /** Stands for every word of the set; stored with each summary it made. */
  readonly version: string;
  /** What was wrong with the operator's templates, as sentences. */
  readonly problems: readonly string[];
  forDepth(depth: number): PromptTexts;
}

const FILES: Readonly<Record<PromptDepth, string>> = {
  0: "leaf.md",
  1: "condensed-d1.md",
  2: "condensed-d2.md",
  3: "condensed-d3.md",
};
const DEPTHS: readonly PromptDepth[] = [0, 1, 2, 3];
const MOST_BYTES = 64 * 1024;

/** `promptDir` is empty for the built-in prompts alone. */
export function loadPrompts(promptDir: string): PromptSet {
  const fault = promptDir === "" ? undefined : faultOfDirectory(promptDir);
  const problems =
    fault === undefined ? [] : [`promptDir ${promptDir} ${fault}; the built-in prompts are used.`];
  const hasOwn = promptDir !== "" && fault === undefined;
  const texts = DEPTHS.map((depth): PromptTexts => {
    const own = hasOwn ? readTemplate(join(promptDir, FILES[depth]), problems) : undefined;
    return own === undefined ? BUILT_IN[depth] : { ...BUILT_IN[depth], template: own };
  });
  return {
    version: versionOf(texts),
    problems,
    forDepth: (depth) => texts[Math.min(Math.max(0, depth), 3)] as PromptTexts,
  };
}

/** Of prompts filled with a sample, so that no word of ours can change without it. */
function versionOf(texts: readonly PromptTexts[]): string {
  const sample = {
    targetTokens: 1,
    timeRange: "t",
    source: "s",
    previousContext: "p",
    instructions: "i",
  };
  const prompts = texts.flatMap((text) =>
    [false, true].map((isAggressive) => fillPrompt(text, { ...sample, isAggressive })),
  );
  return createHash("sha256").update(JSON.stringify(prompts)).digest("hex").slice(0, 12);
}

function faultOfDirectory(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return "does not exist";
    return found.isDirectory() ? undefined : "is not a directory";
  } catch (error) {
    return `can not be read (${errorText(error)})`;
  }
}

/** Undefined for a file that is not there, and for one that is refused. */
function readTemplate(path: string, problems: string[]): string | undefined {
  try {
    const template = decode(path);
    const fault = template === undefined ? undefined : faultOf(template);
    if (fault === undefined) return template;
    problems.push(`${path} ${fault}; the built-in prompt is used instead.`);
  } catch (error) {
    problems.push(
      `${path} can not be read (${errorText(error)}); the built-in prompt is used instead.`,
    );
  }
  return undefined;
}

function decode(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return undefined;
  // A pipe or a device would be read for ever.
  if (!found.isFile()) throw new Error("it is not a file");
  if (found.size > MOST_BYTES) {
    throw new Error(`it has ${found.size} bytes, at most ${MOST_BYTES} are allowed`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw error instanceof TypeError ? new Error("it is not UTF-8", { cause: error }) : error;
  }
}

function faultOf(template: string): string | undefined {
  if (template.trim() === "") return "is empty";
  if (!template.includes("{{source}}")) return "has no {{source}} slot";
  if (!template.includes(FOOTER)) return `does not ask for the line "${FOOTER}"`;
  return undefined;
}
