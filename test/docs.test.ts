// What the pages say about this project's own files is true: links lead somewhere, commands exist, and
// each guarantee names tests that are there.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = ["README.md", "CHANGELOG.md", ...pagesIn("docs"), ...pagesIn("specs")];

function pagesIn(directory: string): string[] {
  return readdirSync(join(root, directory))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(directory, name));
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

describe.each(pages)("%s", (page) => {
  test("links to files that are there", () => {
    const links = [...read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) => link!);
    const broken = links.filter((link) => !existsSync(join(root, dirname(page), link)));
    expect(broken).toEqual([]);
  });

  test("names scripts that npm knows", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe("docs/guarantees.md", () => {
  /** `*codec, engine; host: turns, idle resets.*`, with remarks in parentheses. */
  const lists = [...read("docs/guarantees.md").matchAll(/\*([a-z][^*]*)\.\*/g)].map(([, list]) =>
    list!.replace(/\([^)]*\)/g, "").split("; host:"),
  );
  const names = (list: string | undefined): string[] =>
    (list ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));

  test("names a test for each guarantee", () => {
    expect(lists).toHaveLength(9);
  });

  test("names tests that are there", () => {
    const units = lists.flatMap(([unit]) => names(unit)).map((name) => `test/${name}.test.ts`);
    expect(units.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("names host tests that are there", () => {
    const missing = lists
      .flatMap(([, host]) => names(host))
      .map((name) => name.replaceAll(" ", "-"))
      .filter(
        (name) =>
          !existsSync(join(root, `test/host/${name}.test.ts`)) &&
          !existsSync(join(root, `test/host/cases/${name}.ts`)),
      );
    expect(missing).toEqual([]);
  });
});
