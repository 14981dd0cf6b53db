// The policy of a conversation as its last turn left it.

import type { LcmConfig } from "./db/config.js";
import type { Stores } from "./store/index.js";
import type { ConversationId } from "./types.js";
import { calibrationRatio, type ViewPolicy, viewPolicy } from "./view-policy.js";

/** Undefined while no turn has told a budget. Budgets are the model's tokens, the policy's are ours. */
export function currentPolicy(
  stores: Stores,
  config: LcmConfig,
  conversation: ConversationId,
): ViewPolicy | undefined {
  const { budgetBase, model } = stores.conversations.turnFacts(conversation);
  if (budgetBase === null) return undefined;
  return viewPolicy(config, Math.max(1, Math.floor(budgetBase / ratioFor(stores, model))));
}

/** How many of a model's tokens one of our estimated tokens is. */
export function ratioFor({ calibration }: Stores, model: string | null): number {
  return calibrationRatio(model === null ? undefined : calibration.counts(model));
}
