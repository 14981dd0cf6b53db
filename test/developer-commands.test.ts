// What README "Develop" promises of a fresh clone, whichever Node the machine has.

import { describe, expect, it } from "vitest";
import { isNewEnough } from "../scripts/setup.mjs";
import { FreshClone, machineVersion } from "./support/fresh-clone.js";

const isOld = !isNewEnough(machineVersion);
const ONLY_SENTENCE = `These tests need Node 24.16 or newer and this is Node ${machineVersion}: run \`npm test\`, which fetches one.`;
/** What vitest says where it runs: the clones here hold no tests. */
const RUNS = "No test files found";

describe("bare vitest in a fresh clone", () => {
  it("runs where the machine's Node is new enough, and else ends with what to do", () => {
    const { code, output } = new FreshClone().vitest();
    expect(code).toBe(1);
    const found = output.includes(RUNS) ? RUNS : output;
    expect(found).toBe(isOld ? ONLY_SENTENCE : RUNS);
  });

  it("runs on the project's Node once there is one", () => {
    const clone = new FreshClone();
    clone.bringNode();
    expect(clone.vitest().output).toContain(RUNS);
  });
});

describe("setup", () => {
  it("brings a Node where it is needed, installs, and does nothing the second time", () => {
    const clone = new FreshClone();
    expect(clone.setup().code).toBe(0);
    const steps = clone.npmCalls.map((call) => call.split(" ")[0]);
    expect(steps).toEqual(isOld ? ["install", "ci"] : ["ci"]);
    expect(clone.setup()).toEqual({ code: 0, output: "" });
    expect(clone.npmCalls).toHaveLength(steps.length);
  });

  it("installs again when the lockfile has changed", () => {
    const clone = new FreshClone();
    clone.setup();
    const before = clone.npmCalls;
    clone.changeLockfile();
    clone.setup();
    const [call, ...more] = clone.npmCalls.slice(before.length);
    expect(call).toMatch(/^ci\b/);
    expect(more).toEqual([]);
  });
});

describe("bare tsc", () => {
  it("starts on the machine's own Node", () => {
    const { code, output } = new FreshClone().tsc("--version");
    expect(output).toMatch(/^Version \d/);
    expect(code).toBe(0);
  });
});
