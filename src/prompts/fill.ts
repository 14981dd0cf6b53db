// Fills a prompt's slots. Untrusted text can not leave its place: it can neither close a tag of the
// template nor name a slot. Pure.

import type { PromptTexts } from "./templates.js";

export interface PromptInput {
  readonly isAggressive: boolean;
  readonly targetTokens: number;
  readonly timeRange: string;
  readonly source: string;
  /** What the model will have seen before; only leaves and the level above them are told. */
  readonly previousContext?: string | undefined;
  readonly instructions?: string | undefined;
}

const TAGS = ["previous_context", "operator_instructions"];

export function fillPrompt({ template, policy }: PromptTexts, input: PromptInput): string {
  const words = input.isAggressive ? policy.aggressive : policy.normal;
  const tags = [...TAGS, ...tagsOf(template)];
  const inert = (text: string): string => neutralize(text, tags);
  const previous = input.previousContext?.trim();
  const instructions = input.instructions?.trim();
  const slots = new Map([
    ["policy", words],
    ["targetTokens", String(input.targetTokens)],
    ["timeRange", attributeText(input.timeRange)],
    ["previous", previous ? previousBlock(inert(previous)) : ""],
    ["unchanged", previous ? "- What has not changed since previous_context." : ""],
    ["instructions", instructions ? instructionsBlock(inert(instructions)) : ""],
    ["source", inert(input.source)],
  ]);
  const whole = `${missing(template, input.isAggressive)}${template}`;
  return fill(withoutEmpty(whole, slots).trimStart(), slots);
}

/** A template of the operator's own may lack slots whose words must be said all the same. */
function missing(template: string, isAggressive: boolean): string {
  return (isAggressive ? ["{{policy}}", "{{instructions}}"] : ["{{instructions}}"])
    .filter((slot) => !template.includes(slot))
    .map((slot) => `${slot}\n\n`)
    .join("");
}

/** An empty slot leaves one gap behind, not two. */
function withoutEmpty(template: string, slots: ReadonlyMap<string, string>): string {
  return [...slots]
    .filter(([, text]) => text === "")
    .reduce(
      (rest, [name]) =>
        rest.replace(
          new RegExp(`(\\n*)\\{\\{${name}\\}\\}(\\n*)`, "g"),
          (_, before: string, after: string) => (before.length > after.length ? before : after),
        ),
      template,
    );
}

/** One pass, so that a slot's name inside a slot's text stays text. */
function fill(template: string, slots: ReadonlyMap<string, string>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (slot, name: string) => slots.get(name) ?? slot);
}

function previousBlock(previous: string): string {
  return `The model has this summary of what came before. Do not repeat what is unchanged; tell what is new, changed or settled:

<previous_context>
${previous}
</previous_context>`;
}

function instructionsBlock(instructions: string): string {
  return `The operator adds:

<operator_instructions>
${instructions}
</operator_instructions>`;
}

function tagsOf(template: string): string[] {
  return [...template.matchAll(/<\/?([\p{L}_][\p{L}\p{N}_-]*)/gu)].map(
    ([, name]) => name as string,
  );
}

function neutralize(text: string, tags: readonly string[]): string {
  const names = [...new Set(tags)].join("|");
  const tag = new RegExp(`<(?=\\s*/?\\s*(?:${names})(?![\\p{L}\\p{N}_]))`, "giu");
  return text.replace(tag, "&lt;");
}

/** A time range stands inside a tag, where it must not end the attribute. */
function attributeText(text: string): string {
  return text.replace(/[<>"&\s]+/g, " ").trim();
}
