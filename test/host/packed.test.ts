// The packed tarball, installed by the host's own command without a registry, in embedded turns.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "./harness/stage-plugin.js";
import { World } from "./support/world.js";

const KEY = "agent:main:explicit:packed";

describe("the packed plugin", () => {
  let world: World;
  let scratch: string;

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), "lossless-claw-pack-"));
    // The build that every test runs against is there already.
    execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", scratch], {
      cwd: PROJECT_ROOT,
      stdio: "pipe",
    });
    world = await World.create({
      installed: true,
      env: { npm_config_registry: "http://127.0.0.1:9", npm_config_audit: "false" },
    });
  }, 120_000);

  afterAll(async () => {
    await world?.dispose();
    rmSync(scratch, { recursive: true, force: true });
  }, 60_000);

  test("installs offline, takes the slot, and is listed with what it registers", async () => {
    const [tarball] = readdirSync(scratch);
    const spec = `npm-pack:${join(scratch, tarball as string)}`;
    const args = ["plugins", "install", spec, "--force", "--accept-capabilities"];
    const installed = await world.host.cli(args, { timeoutMs: 120_000 });
    expect(installed, installed.stderr).toMatchObject({ code: 0 });
    const { plugins } = (await world.host.readConfig()) as {
      plugins: { slots: Record<string, string> };
    };
    expect(plugins.slots["contextEngine"]).toBe("lossless-claw");
    const inspected = await world.host.cli(["plugins", "inspect", "lossless-claw", "--runtime"]);
    expect(inspected, inspected.stderr).toMatchObject({ code: 0 });
    expect(inspected.stdout).toContain("lcm");
  });

  test("stores embedded turns, one process each, with tool calls", async () => {
    await world.host.localTurn("packed", 'CALL:exec:{"command":"echo local"}');
    await world.host.localTurn("packed", "from a process of its own");
    expect(world.transcript(KEY)).toHaveLength(6);
    await world.expectStored(KEY);
    await world.expectReceiptAtHead(KEY);
    expect(world.memory.receipts(KEY)).toHaveLength(2);
    const report = await world.host.cli(["lcm", "status", "--session", KEY]);
    expect(report.stdout).toContain(`Lossless memory is active for ${KEY} since`);
    expect(report.stdout).toContain("6 messages, no gaps, no fall-back to legacy");
    expect(report.stdout).toContain("The store equals the transcript.");
  });
});
