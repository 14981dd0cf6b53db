// What a caller may read: gathers what its grant and the stores say, and lets recall-scope.ts decide.
// Also hands out what reading is counted against.

import { type Allowance, grantAllowance, heldGrant, type HeldGrant } from "./expansion-auth.js";
import { decideScope, type GrantState, type Scope, type ScopeRequest } from "./recall-scope.js";
import { classifySession } from "./session-policy.js";
import type { Grant } from "./store/grant-store.js";
import type { Stores } from "./store/index.js";
import type { ConversationId, SessionRef } from "./types.js";
import { type RecallDependencies } from "./recall-dependencies.js";
import { InputError } from "./errors.js";

export type RecallCaller =
  | {
      readonly kind: "person";
      readonly agentId?: string | undefined;
      readonly sessionKey?: string | undefined;
    }
  | { readonly kind: "session"; readonly session: Pick<SessionRef, "agentId" | "sessionKey"> };

export interface OpenScope extends Extract<Scope, { kind: "open" }> {
  readonly stores: Stores;
  readonly visible: ReadonlySet<ConversationId>;
  /** The grant under which the caller reads what is not its own. */
  readonly grant: Grant | undefined;
}

type ScopeDependencies = Pick<RecallDependencies, "stores" | "config" | "now">;

/** Throws an `InputError` that says why nothing may be read. */
export function openScope(
  deps: ScopeDependencies,
  caller: RecallCaller,
  request: ScopeRequest,
): OpenScope {
  const stores = deps.stores();
  // Looked up once: what the grant opens is always counted against it.
  const held = heldBy(stores, caller, deps.now());
  const scope = decide(deps, stores, { caller, request, grant: held.state });
  if (scope.kind === "refused") throw new InputError(scope.reason);
  return { ...scope, stores, grant: held.grant, visible: new Set(scope.conversations) };
}

export function scopeFor(
  deps: ScopeDependencies,
  stores: Stores,
  caller: RecallCaller,
  request: ScopeRequest,
): Scope {
  const grant = heldBy(stores, caller, deps.now()).state;
  return decide(deps, stores, { caller, request, grant });
}

function heldBy(stores: Stores, caller: RecallCaller, now: number): HeldGrant {
  return caller.kind === "session"
    ? heldGrant(stores, caller.session.sessionKey, now)
    : { state: { kind: "none" }, grant: undefined };
}

interface Asked {
  readonly caller: RecallCaller;
  readonly request: ScopeRequest;
  readonly grant: GrantState;
}

function decide(
  { config }: Pick<ScopeDependencies, "config">,
  stores: Stores,
  { caller, request, grant }: Asked,
): Scope {
  const settings = config();
  const visible = stores.recall.conversations();
  const reach = settings.recallScope;
  if (caller.kind === "person") {
    const { agentId, sessionKey } = caller;
    const person = { kind: "person", agentId, sessionKey } as const;
    return decideScope({ caller: person, request, reach, visible });
  }
  const { agentId, sessionKey } = caller.session;
  return decideScope({
    caller: {
      kind: "session",
      agentId,
      sessionKey,
      class: classifySession(sessionKey, settings),
      grant,
    },
    request,
    reach,
    visible,
  });
}

/** What reading from a conversation is counted against; undefined where nothing limits it. */
export function allowanceFor(
  { stores, grant, own }: OpenScope,
  conversation: ConversationId,
  now: () => number,
): Allowance | undefined {
  if (!grant || conversation === own) return undefined;
  return grantAllowance(stores, grant.id, now);
}
