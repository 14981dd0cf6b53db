// Token estimates against the counts of o200k_base.
//
// The fixtures are original texts, none of them among the samples that the estimate was fitted on; what
// machines write (digests, base64, tables of numbers) is generated from a fixed seed.

import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../src/tokens.js";

const FIXTURES = join(import.meta.dirname, "fixtures", "tokens");
const fixture = (name: string): string => readFileSync(join(FIXTURES, `${name}.txt`), "utf8");
const fixtureNames = readdirSync(FIXTURES).map((file) => file.replace(/\.txt$/, ""));

const random = mulberry32(20_260_211);
const upTo = (end: number): number => Math.floor(random() * end);
const bytes = (length: number): Buffer => Buffer.from(times(length, () => upTo(256)));
const hex = (length: number): string => bytes(length).toString("hex");
const base64 = (length: number): string => bytes(length).toString("base64");

const generated: Record<string, string> = {
  base64: base64(1_500),
  "base64 in lines": base64(1_500).replaceAll(/.{76}/g, "$&\n"),
  "base64 in JSON": JSON.stringify({ mimeType: "image/png", data: base64(1_500) }),
  "base64url tokens": lines(40, () => bytes(32).toString("base64url")),
  "base64 of prose": Buffer.from(fixture("english")).toString("base64"),
  "hex without a break": hex(1_000),
  "hex digests": lines(30, () => hex(32)),
  "hex digests of files": lines(30, (line) => `${hex(32)}  src/module-${line}/index.ts`),
  "hex dump": lines(40, (line) => hexDumpLine(line * 16, bytes(16))),
  "hex bytes": lines(40, () => [...bytes(12)].map((byte) => `0x${byte.toString(16)}`).join(", ")),
  UUIDs: lines(40, uuid),
  "UUIDs in JSON": JSON.stringify(times(40, uuid)),
  "a long number": times(1_500, () => upTo(10)).join(""),
  "numbers by line": lines(150, () => String(upTo(1e12))),
  "numbers by space": times(250, () => upTo(1e6)).join(" "),
  timestamps: lines(60, () => new Date(1.6e12 + upTo(2e11)).toISOString()),
  "CSV of integers": lines(60, () => times(8, () => upTo(10 ** (1 + upTo(6)))).join(",")),
  "CSV of decimals": lines(60, () => times(6, () => (random() * 1_000).toFixed(3)).join(",")),
  "JSON of an embedding": JSON.stringify(times(120, () => random() * 2 - 1)),
  "spaces in columns": lines(60, () => times(5, () => "value".slice(upTo(5)).padEnd(18)).join("")),
  "deep indentation": lines(80, (line) => `${" ".repeat((line % 12) * 4)}item${line % 7}: true`),
  "tabs and blank lines": lines(90, (line) => `${"\t".repeat(line % 6)}case ${line % 9}:\n`),
  "boxes drawn with lines": lines(40, (line) => (line % 4 === 0 ? boxRule() : boxRow())),
  "minified JSON": JSON.stringify(JSON.parse(fixture("json"))),
  "JSON of code": JSON.stringify({ path: "lease.ts", content: fixture("typescript") }),
  "JSON of Chinese": JSON.stringify({ role: "user", content: fixture("chinese") }),
  // Made here, because editors like to compose what they save.
  "decomposed Korean": fixture("korean").normalize("NFD"),
  "decomposed Japanese": fixture("japanese").normalize("NFD"),
  "decomposed kana": "データベースのバックアップが失敗しました。\n".normalize("NFD").repeat(20),
  "decomposed Vietnamese": fixture("vietnamese").normalize("NFD"),
  "half-width kana": "ﾃﾞｰﾀﾍﾞｰｽのﾊﾞｯｸｱｯﾌﾟが失敗しました。\n".repeat(20),
  "colored terminal output": lines(40, (line) => `\u001B[32m✓\u001B[39m test ${line} (${line}ms)`),
};

const samples: readonly { name: string; text: string; tokens: number; estimate: number }[] = [
  ...fixtureNames.map((name) => [name, fixture(name)] as const),
  ...Object.entries(generated),
].map(([name, text]) => ({
  name,
  text,
  tokens: countTokens(text),
  estimate: estimateTokens(text),
}));

describe("estimateTokens on text of every sort", () => {
  it.each(samples)("is close to the count for $name", ({ text, tokens, estimate }) => {
    expect(Buffer.byteLength(text)).toBeGreaterThanOrEqual(1_024);
    expect(estimate / tokens).toBeGreaterThan(0.9);
    expect(estimate / tokens).toBeLessThan(1.25);
  });

  it("is close to the count over all samples", () => {
    const tokens = samples.reduce((sum, sample) => sum + sample.tokens, 0);
    const estimate = samples.reduce((sum, sample) => sum + sample.estimate, 0);
    expect(estimate / tokens).toBeGreaterThan(0.97);
    expect(estimate / tokens).toBeLessThan(1.15);
  });
});

describe("estimateTokens on text that is too long to read in full", () => {
  const LENGTH = 4_000_000;
  const prose = block("english", "technical-english", "markdown");
  const data = block("base64", "hex digests", "UUIDs");
  const chinese = block("chinese", "chinese-traditional");

  it.each([
    ["prose", [prose]],
    ["half prose, half data", [prose.repeat(250), data.repeat(250)]],
    ["prose with a tenth of data", [prose.repeat(9), data]],
    ["data in between prose", [prose, data]],
    ["prose, data and Chinese in turn", [prose.repeat(3), data, chinese]],
    [
      "much prose around one block of data",
      [prose.repeat(300), data.repeat(100), prose.repeat(300)],
    ],
    ["a period as long as the distance of samples", [cut(prose, 2_048), cut(data, 2_048)]],
    ["spaces and data", [" ".repeat(2_000), data]],
  ])("is close to the count for %s", (_name, parts) => {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const rounds = Math.ceil(LENGTH / length);
    const text = parts.join("").repeat(rounds);
    const tokens = parts.reduce((sum, part) => sum + countTokens(part), 0) * rounds;
    expect(estimateTokens(text) / tokens).toBeGreaterThan(0.9);
    expect(estimateTokens(text) / tokens).toBeLessThan(1.25);
  });

  it("does not jump where samples begin", () => {
    const text = prose.repeat(Math.ceil(1_048_577 / prose.length));
    const whole = estimateTokens(text.slice(0, 1_048_576));
    expect(estimateTokens(text.slice(0, 1_048_577)) / whole).toBeCloseTo(1, 2);
  });
});

describe("estimateTokens on any text", () => {
  /** Every sequence of UTF-16 codes, lone surrogates among them. */
  const codes = fc
    .array(fc.integer({ min: 0, max: 0xffff }))
    .map((units) => String.fromCharCode(...units));
  const cutSample = fc
    .tuple(fc.constantFrom(...samples.map(({ text }) => text)), fc.nat(1_500), fc.nat(1_500))
    .map(([text, one, other]) => text.slice(Math.min(one, other), Math.max(one, other)));
  const anyText = fc.oneof(codes, fc.string({ unit: "binary" }), fc.string(), cutSample);

  it("is zero for nothing and at least one for anything else", () => {
    expect(estimateTokens("")).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        const estimate = estimateTokens(text);
        expect(Number.isSafeInteger(estimate)).toBe(true);
        expect(estimate).toBeGreaterThanOrEqual(text === "" ? 0 : 1);
        expect(estimate).toBeLessThanOrEqual(Math.ceil(text.length * 3.3));
      }),
      { numRuns: 1_000 },
    );
  });

  it("counts control characters, which no token holds many of", () => {
    const text = "\0".repeat(2_000);
    expect(estimateTokens(text)).toBeGreaterThan(0.9 * countTokens(text));
  });

  it.each(["\0", "\uD83D", "\uDE00", "\uFFFF", "\n", " ", "0", "a", "Z", "ß", "漢", "😀"])(
    "counts a single %j",
    (text) => expect(estimateTokens(text)).toBeGreaterThanOrEqual(1),
  );

  it("adds up over the parts of a text", () => {
    fc.assert(
      fc.property(anyText, anyText, (left, right) => {
        const parts = estimateTokens(left) + estimateTokens(right);
        const difference = Math.abs(estimateTokens(left + right) - parts);
        expect(difference).toBeLessThanOrEqual(3 + 0.05 * parts);
      }),
      { numRuns: 2_000 },
    );
  });
});

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function lines(count: number, line: (index: number) => string): string {
  return times(count, line).join("\n");
}

/** Several samples as one text that ends with a line, so that its repetitions count the same. */
function block(...names: string[]): string {
  return names.map((name) => `${generated[name] ?? fixture(name)}\n`).join("");
}

function cut(text: string, length: number): string {
  return `${text.slice(0, length - 1)}\n`;
}

function uuid(): string {
  return hex(16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function hexDumpLine(offset: number, row: Buffer): string {
  const printable = [...row].map((byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".",
  );
  const groups = row.toString("hex").replaceAll(/.{4}/g, "$& ");
  return `${offset.toString(16).padStart(8, "0")}: ${groups} ${printable.join("")}`;
}

function boxRule(): string {
  return `├${times(4, () => "─".repeat(14)).join("┼")}┤`;
}

function boxRow(): string {
  return `│${times(4, () => ` ${["ready", "failed", "12", "n/a"][upTo(4)]}`.padEnd(14)).join("│")}│`;
}

/** A small random generator; what matters is that it always yields the same. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
