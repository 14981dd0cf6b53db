// The plugin as a host registers it, with the environment it is started in.

import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { registerPlugin } from "./support/plugin-host.js";
import { temporaryDirectory } from "./support/workspace.js";

describe("the engine's factory", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("makes an engine that the host selects", async () => {
    const engine = await registerPlugin(temporaryDirectory())();
    onTestFinished(() => engine.dispose?.());
    expect(engine.info).toMatchObject({
      id: "lossless-claw",
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    });
  });

  it("refuses with LCM_ENABLED=false, so that the host falls back to its own engine", async () => {
    const make = registerPlugin(temporaryDirectory());
    vi.stubEnv("LCM_ENABLED", "false");
    await expect(make()).rejects.toThrow("turned off by its configuration");
    vi.stubEnv("LCM_ENABLED", "true");
    const engine = await make();
    await engine.dispose?.();
  });
});
