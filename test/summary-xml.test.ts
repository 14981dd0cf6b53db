// How a summary is shown to the model: well-formed whatever it says, with the attributes that the two
// formats promise, at the price that the documentation tells.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { pointer } from "../src/assembler/fold.js";
import { renderSummary } from "../src/assembler/render-summary.js";
import type { Summary } from "../src/store/summary-store.js";
import { timeFormat } from "../src/time-format.js";
import type { MessageId, SummaryId } from "../src/types.js";
import { parseXml, type XmlElement } from "./support/strict-xml.js";

const FORMATS = ["full", "compact"] as const;
type Format = (typeof FORMATS)[number];

const TEXT = `People are logged in for good again: both stores renew five minutes before the end.
Open: legal's answer on cookies.
Expand for details about: test output, review comments`;

const LEAF = {
  id: "sum_5a5b7090aaf8ee4e",
  depth: 0,
  descendantCount: 0,
  earliestAt: "2026-02-17T15:37:00.000Z",
  latestAt: "2026-02-18T01:21:00.000Z",
  content: TEXT,
} as Summary;

const CONDENSED = { ...LEAF, id: "sum_1147c2cc5dd791d0", depth: 2, descendantCount: 45 } as Summary;

const SOURCES = [
  "sum_f8ee4e7a5a7b7090",
  "sum_2930f2aaa92f4839",
  "sum_0c9d1e77b3a4f562",
  "sum_b7e04c1290ddea38",
] as SummaryId[];

function show(
  format: Format,
  summary: Summary,
  sources: readonly SummaryId[] = [],
  zone = "America/Los_Angeles",
): string {
  const { json } = renderSummary(summary, sources, { format, time: timeFormat(zone) });
  const { role, content, ...rest } = JSON.parse(json);
  expect({ role, rest }).toEqual({ role: "user", rest: {} });
  return content;
}

/** The text of a shown summary, without the wrapper's own line ends. */
function textOf(format: Format, root: XmlElement): string {
  const holder = format === "compact" ? root : root.children.find((one) => isNamed(one, "content"));
  const [text, ...more] = (holder as XmlElement).children;
  expect(more).toEqual([]);
  return String(text).replace(/^\n/, "").replace(/\n *$/, "");
}

function isNamed(child: XmlElement | string, name: string): child is XmlElement {
  return typeof child !== "string" && child.name === name;
}

describe("the full format", () => {
  test("shows a leaf with its attributes in order, and no parents", () => {
    const root = parseXml(show("full", LEAF));
    expect(root.name).toBe("summary");
    expect(root.attributes).toEqual([
      ["id", "sum_5a5b7090aaf8ee4e"],
      ["kind", "leaf"],
      ["depth", "0"],
      ["descendant_count", "0"],
      ["earliest_at", "2026-02-17T07:37:00"],
      ["latest_at", "2026-02-17T17:21:00"],
    ]);
    expect(root.children.filter((one) => isNamed(one, "parents"))).toEqual([]);
    expect(textOf("full", root)).toBe(TEXT);
  });

  test("names the sources of a condensed node, in order", () => {
    const root = parseXml(show("full", CONDENSED, SOURCES));
    expect(root.attributes).toEqual([
      ["id", "sum_1147c2cc5dd791d0"],
      ["kind", "condensed"],
      ["depth", "2"],
      ["descendant_count", "45"],
      ["earliest_at", "2026-02-17T07:37:00"],
      ["latest_at", "2026-02-17T17:21:00"],
    ]);
    const parents = root.children.find((one) => isNamed(one, "parents"));
    const refs = parents?.children.filter((one) => typeof one !== "string") ?? [];
    expect(refs).toEqual(
      SOURCES.map((id) => ({ name: "summary_ref", attributes: [["id", id]], children: [] })),
    );
    expect(textOf("full", root)).toBe(TEXT);
  });
});

describe("the compact format", () => {
  test.each<[string, Summary, [string, string][]]>([
    [
      "a leaf, without its zero descendants",
      LEAF,
      [
        ["id", "sum_5a5b7090aaf8ee4e"],
        ["range", "2026-02-17 07:37–17:21 PST"],
        ["depth", "0"],
      ],
    ],
    [
      "a condensed node",
      CONDENSED,
      [
        ["id", "sum_1147c2cc5dd791d0"],
        ["range", "2026-02-17 07:37–17:21 PST"],
        ["depth", "2"],
        ["descendants", "45"],
      ],
    ],
    [
      "a range across days",
      { ...LEAF, latestAt: "2026-02-19T09:30:00.000Z" } as Summary,
      [
        ["id", "sum_5a5b7090aaf8ee4e"],
        ["range", "2026-02-17 07:37 – 2026-02-19 01:30 PST"],
        ["depth", "0"],
      ],
    ],
  ])("shows %s", (_, summary, expected) => {
    const root = parseXml(show("compact", summary, SOURCES));
    expect(root.name).toBe("summary");
    expect(root.attributes).toEqual(expected);
    expect(root.children).toEqual([`\n${TEXT}\n`]);
  });
});

test("times are shown in the operator's zone", () => {
  expect(show("full", LEAF, [], "Asia/Kolkata")).toContain('earliest_at="2026-02-17T21:07:00"');
  expect(show("compact", LEAF, [], "Asia/Kolkata")).toContain(
    'range="2026-02-17 21:07 – 2026-02-18 06:51 GMT+5:30"',
  );
});

describe("whatever a summary says", () => {
  const nasty = fc.constantFrom(
    "</summary>",
    "</content>",
    '<summary id="sum_0000000000000000" depth="9">',
    "<parents>",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "<?xml?>",
    "&lt;",
    "&amp;amp;",
    "&nope;",
    "&",
    '"',
    "'",
    "\0",
    "\u0008\u000b\u001b",
    "\ud800",
    "\udc00",
    "\ufffe\uffff",
    "😀",
    "\r\n",
    "\t",
  );
  const hostile = fc
    .array(fc.oneof(nasty, fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })), {
      maxLength: 10,
    })
    .map((parts) => parts.join(""));
  // oxlint-disable-next-line no-control-regex -- the characters that XML can not hold
  const NOT_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu;

  test.each(FORMATS)("%s stays one well-formed element around the same words", (format) => {
    fc.assert(
      fc.property(hostile, fc.boolean(), (said, isLeaf) => {
        // Letters at both ends, so that white space of the text is not taken for the wrapper's.
        const content = `a${said}z`;
        const summary = { ...(isLeaf ? LEAF : CONDENSED), content } as Summary;
        const root = parseXml(show(format, summary, isLeaf ? [] : SOURCES));
        expect(textOf(format, root)).toBe(content.replace(NOT_XML, ""));
      }),
      { numRuns: 300 },
    );
  });

  test.each(FORMATS)("%s stays well-formed with attributes that nobody checked", (format) => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (id, earliestAt, latestAt) => {
        const summary = { ...CONDENSED, id: id as SummaryId, earliestAt, latestAt };
        const root = parseXml(show(format, summary, [id as SummaryId]));
        expect(root.attributes[0]).toEqual(["id", id.replace(NOT_XML, "")]);
      }),
      { numRuns: 150 },
    );
  });
});

describe("the documentation", () => {
  const page = readFileSync(new URL("../docs/summaries.md", import.meta.url), "utf8");

  const EIGHT = [
    ...SOURCES,
    "sum_6f21d8e0947bc3a5",
    "sum_e13a7c50f2964b8d",
    "sum_48b6f09ac7d21e35",
    "sum_93c5e7180bfa642d",
  ] as SummaryId[];
  const KINDS: readonly [string, Summary, readonly SummaryId[]][] = [
    ["a leaf", LEAF, []],
    ["a node over 4 summaries", CONDENSED, SOURCES],
    ["a node over 8 summaries", CONDENSED, EIGHT],
  ];

  test("shows summaries as they are", () => {
    const examples = [...page.matchAll(/```xml\n([\s\S]*?)\n```/g)].map(([, example]) => example);
    expect(examples).toEqual([
      show("full", CONDENSED, SOURCES),
      show("compact", CONDENSED, SOURCES),
      foldedExample(),
    ]);
  });

  test("tells what the wrappers cost", () => {
    const cost = (format: Format, summary: Summary, sources: readonly SummaryId[]) =>
      encode(show(format, summary, sources)).length - encode(TEXT).length;
    const rows = KINDS.map(
      ([name, summary, sources]) =>
        `| ${name} | ${cost("full", summary, sources)} | ${cost("compact", summary, sources)} |`,
    );
    expect(page.match(/^\| a .*$/gm)).toEqual(rows);
  });

  function foldedExample(): string {
    const facts = {
      messages: 212,
      summaries: 2,
      summaryIds: SOURCES.slice(0, 2),
      tokens: 41_200,
      first: 1_180 as MessageId,
      last: 1_391 as MessageId,
      earliestAt: LEAF.earliestAt,
      latestAt: LEAF.latestAt,
    };
    return JSON.parse(pointer(facts, timeFormat("America/Los_Angeles")).json).content;
  }
});
