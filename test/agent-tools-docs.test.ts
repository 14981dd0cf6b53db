// docs/agent-tools.md says what the schemas say, and the skill names the tools there are.

import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { TOOL_NAMES } from "../src/tools/index.js";
import { KEYS, RecallWorld } from "./support/recall-world.js";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const page = read("docs/agent-tools.md");

interface Row {
  readonly name: string;
  readonly type: string;
  readonly required: string;
  readonly fallback: string;
}

interface Property {
  readonly type: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly items?: Property;
}

/** The parameter table of a tool's section. */
function documented(tool: string): Row[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${tool}\n`)) ?? "";
  return [...section.matchAll(/^\| *`(\w+)` *\|([^|]+)\|([^|]*)\|([^|]*)\|/gm)].map((match) => {
    const [, name = "", type = "", required = "", fallback = ""] = match.map((cell) => cell.trim());
    return { name, type, required, fallback: fallback.replaceAll("`", "") };
  });
}

function offered(tool: string) {
  const world = new RecallWorld();
  world.grant(KEYS.child, [1 as never]);
  const { parameters } = world.tools(KEYS.child).find(({ name }) => name === tool)!;
  const required: readonly string[] = parameters.required ?? [];
  return Object.entries(parameters.properties as unknown as Record<string, Property>).map(
    ([name, property]) => ({
      name,
      type: property.type === "array" ? `${property.items?.type}[]` : property.type,
      isRequired: required.includes(name),
      fallback: property.default === undefined ? "" : String(property.default),
      choices: property.enum ?? [],
    }),
  );
}

describe.each(TOOL_NAMES)("the section about %s", (tool) => {
  it("lists every parameter with its type, and whether it must be given", () => {
    const rows = documented(tool).map(({ name, type, required }) => ({
      name,
      type,
      isRequired: required === "yes",
    }));
    const schema = offered(tool).map(({ name, type, isRequired }) => ({ name, type, isRequired }));
    const byName = (one: { name: string }, other: { name: string }) =>
      one.name.localeCompare(other.name);
    expect(rows.toSorted(byName)).toEqual(schema.toSorted(byName));
  });

  it("gives the defaults and choices of the schema", () => {
    const rows = new Map(documented(tool).map((row) => [row.name, row]));
    for (const { name, fallback, choices } of offered(tool)) {
      const shown = rows.get(name)?.fallback.replace("current", "");
      expect({ name, fallback: shown }).toEqual({ name, fallback });
      for (const choice of choices) expect(page).toContain(`\`${choice}\``);
    }
  });
});

test("every tool tells what it is for and what to use instead", () => {
  const world = new RecallWorld();
  world.grant(KEYS.child, [1 as never]);
  for (const { name, label, description } of world.tools(KEYS.child)) {
    expect(label).toMatch(/^LCM /);
    expect(description.length).toBeGreaterThan(150);
    const others = TOOL_NAMES.filter((other) => other !== name && description.includes(other));
    expect(others).not.toEqual([]);
  }
});

test("the skill and the manifest name the tools there are", () => {
  const skill = read("skills/lossless-claw/SKILL.md");
  expect(skill).toMatch(/^---\nname: lossless-claw\ndescription: .{20,160}\n---\n/);
  for (const name of ["lcm_grep", "lcm_describe", "lcm_expand_query"])
    expect(skill).toContain(name);
  const manifest = JSON.parse(read("openclaw.plugin.json")) as {
    contracts: { tools: string[] };
    toolMetadata: Record<string, { profiles: string[] }>;
  };
  expect(manifest.contracts.tools).toEqual(TOOL_NAMES);
  for (const name of TOOL_NAMES) {
    expect(manifest.toolMetadata[name]?.profiles).toEqual([
      "minimal",
      "coding",
      "messaging",
      "full",
    ]);
  }
});
