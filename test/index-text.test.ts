// What goes into the full-text index, and what is left out of it.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dateWords, indexForm } from "../src/search/index-text.js";
import { searchTextOf, searchTextOfBody } from "../src/search/search-text.js";
import { snippetOfMatch, snippetOfWords } from "../src/search/snippet.js";

const words = (text: string): string[] => indexForm(text).split(/\s+/).filter(Boolean);

describe("the search text of a message", () => {
  it("holds texts, tool calls with what they were given, and results", () => {
    const content = [
      { type: "thinking", thinking: "secret", thinkingSignature: "c2VjcmV0" },
      { type: "text", text: "Looking." },
      {
        type: "toolCall",
        id: "c1",
        name: "exec",
        arguments: { command: "ls -la", deep: [1, true] },
      },
      { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
    ];
    expect(searchTextOf({ role: "assistant", content })).toBe(
      "Looking.\nexec\ncommand\nls -la\ndeep\n1\ntrue",
    );
  });

  it("is the text itself where a message is only that", () => {
    expect(searchTextOf({ role: "user", content: "hello" })).toBe("hello");
  });

  it("is the same from the stored body, and empty for what is no message", () => {
    const message = { role: "user", content: [{ type: "text", text: "a" }, "b", 7, null] };
    expect(searchTextOfBody(JSON.stringify(message))).toBe("a\nb");
    expect(searchTextOfBody("[1]")).toBe("");
  });

  it("is none of what our own tools were asked and brought back", () => {
    const content = [
      { type: "text", text: "I look it up." },
      { type: "toolCall", id: "c1", name: "lcm_grep", arguments: { pattern: "vault code" } },
    ];
    expect(searchTextOf({ role: "assistant", content })).toBe("I look it up.");
    const result = [{ type: "text", text: "msg_9: the vault opens with 7741" }];
    expect(searchTextOf({ role: "toolResult", toolName: "lcm_grep", content: result })).toBe("");
  });

  it("leaves out data that was given to a tool", () => {
    const data = `data:image/png;base64,${"A".repeat(100)}`;
    const content = [{ type: "toolCall", name: "show", arguments: { url: data } }];
    expect(searchTextOf({ role: "assistant", content })).toBe("show\nurl");
  });
});

describe("the index form", () => {
  it.each([
    ["getUserName", ["getUserName", "get", "User", "Name"]],
    ["HTTPServer2Go", ["HTTPServer2Go", "HTTP", "Server2", "Go"]],
    ["USA and Berlin", ["USA", "and", "Berlin"]],
    ["snake_case src/db/a.ts", ["snake_case", "src/db/a.ts"]],
    ["数据库", ["数据", "据库"]],
    ["我", ["我"]],
    ["see 東京 now", ["see", "東京", "now"]],
    ["안녕하세요", ["안녕", "녕하", "하세", "세요"]],
    ["ﾃｽﾄ", ["テス", "スト"]],
  ])("of %s", (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it("leaves out base64 and cuts what is too long to be a word, but keeps long paths", () => {
    const data = Buffer.from(Array.from({ length: 90 }, (_, index) => (index * 97) % 256)).toString(
      "base64",
    );
    const path = "/usr/local/share/projects/lossless/source/components/messages/render.ts";
    expect(words(`before ${data} after`)).toEqual(["before", "after"]);
    expect(words("x".repeat(200))).toEqual(["x".repeat(64)]);
    expect(words(path)).toEqual([path]);
  });

  it("keeps the end of a long run without spaces", () => {
    expect(words(`${"甲".repeat(83)}张伟`)).toContain("张伟");
  });

  it("takes megabytes without spaces", () => {
    for (const character of ["x", "A", "字", "aB"]) {
      expect(indexForm(character.repeat(2_000_000)).length).toBeGreaterThan(0);
    }
  });

  it("keeps every ordinary word of any text", () => {
    const word = fc.stringMatching(/^[a-z]{1,20}$/);
    fc.assert(
      fc.property(
        fc.array(fc.oneof(word, fc.string({ unit: "grapheme" }))),
        word,
        (parts, kept) => {
          expect(words([...parts, kept].join(" "))).toContain(kept);
        },
      ),
    );
  });

  it("finds any part of two characters or more of a run without spaces", () => {
    const character = fc.constantFrom(..."数据库在哪里我们的東京タワーひらがな안녕");
    fc.assert(
      fc.property(
        fc.array(character, { minLength: 2, maxLength: 20 }),
        fc.nat(),
        fc.nat(),
        (run, a, b) => {
          const from = a % (run.length - 1);
          const part = run.slice(from, from + 2 + (b % (run.length - from - 1)));
          expect(` ${words(run.join("")).join(" ")} `).toContain(
            ` ${words(part.join("")).join(" ")} `,
          );
        },
      ),
    );
  });
});

describe("the words of a date", () => {
  it("are those of the day in UTC", () => {
    expect(dateWords("2026-02-17T23:59:00.000Z")).toBe("17 february 2026 tuesday");
    expect(dateWords("never")).toBe("");
  });
});

describe("a snippet", () => {
  it("is one line around the place where the words stand together, which are marked", () => {
    const text = `${"filler text. ".repeat(50)}The backup\n\tkey is in the drawer. ${"more. ".repeat(80)}`;
    const snippet = snippetOfWords(text, ["backup", "keys"]);
    expect(snippet.text).toMatch(/^….*The backup key is in the drawer\..*…$/);
    expect(snippet.marks.map(([from, to]) => snippet.text.slice(from, to))).toEqual([
      "backup",
      "key",
    ]);
  });

  it("marks forms of a word, parts of identifiers, and words with accents", () => {
    const marked = (text: string, word: string): string[] => {
      const { text: shown, marks } = snippetOfWords(text, [word]);
      return marks.map(([from, to]) => shown.slice(from, to));
    };
    expect(marked("it was running and runs", "running")).toEqual(["running", "runs"]);
    expect(marked("call getUserName now", "user")).toEqual(["User"]);
    expect(marked("le Café ferme", "cafe")).toEqual(["Café"]);
    expect(marked("我们的数据库", "数据")).toEqual(["数据"]);
  });

  it("has its marks within its text, whatever the text and the match", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 600 }),
        fc.nat(),
        fc.nat(),
        (text, a, b) => {
          const from = a % (text.length + 1);
          const to = from + (b % (text.length - from + 1));
          const snippet = snippetOfMatch(text, from, to);
          expect(snippet.text).not.toMatch(/[\n\r\t]/);
          for (const [start, end] of snippet.marks) {
            expect(0 <= start && start <= end && end <= snippet.text.length).toBe(true);
          }
        },
      ),
    );
  });
});
