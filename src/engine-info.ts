// What the engine declares to the host. Without both transcript semantics the host would serve every
// turn with its legacy engine.

import { VERSION } from "./version.js";

export const ENGINE_ID = "lossless-claw";

export const ENGINE_INFO = {
  id: ENGINE_ID,
  name: "Lossless Context Management",
  version: VERSION,
  ownsCompaction: true,
  turnMaintenanceMode: "background" as const,
  transcriptSemantics: {
    currentTurnFence: "before-current-turn-entry-v1" as const,
    turnAdvancementIdempotency: "atomic-idempotent-v1" as const,
  },
  acceptedHostParams: [
    "sessionKey",
    "sessionTarget",
    "runtimeSettings",
    "runtimeContext",
    "availableTools",
    "prompt",
    "model",
    "abortSignal",
  ],
  hostRequirements: {
    "agent-run": {
      requiredCapabilities: ["bootstrap" as const, "assemble-before-prompt" as const],
      unsupportedMessage:
        "lossless-claw needs a host that bootstraps sessions and lets the engine assemble the prompt.",
    },
  },
};
