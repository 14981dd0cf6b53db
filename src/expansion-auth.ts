// Issues, checks and ends grants: the leave of a sub-agent to read beside its own conversation.

import { randomBytes } from "node:crypto";
import type { GrantState } from "./recall-scope.js";
import type { Grant, Read } from "./store/grant-store.js";
import type { Stores } from "./store/index.js";
import { isoAt } from "./time-format.js";
import type { Clock, ConversationId } from "./types.js";

type GrantStores = Pick<Stores, "db" | "grants">;

export interface GrantRequest {
  readonly sessionKey: string;
  readonly conversations: readonly ConversationId[];
  /** Conversations that are the giver's own; the others must be in the grant it holds itself. */
  readonly own: readonly ConversationId[];
  /** The giver's own grant, if it has one. */
  readonly parent: Grant | undefined;
  readonly tokenCap: number;
  readonly ttlMs: number;
}

/** What is read is counted before it is told; another process may hold the lock meanwhile. */
export const COUNTING_BUSY_MS = 2_500;

/** Ended grants stay this long, so that what was read under them can be told. */
const KEPT_MS = 7 * 24 * 3_600_000;

/**
 * Makes a grant that is no wider than what the giver has: conversations a subset, cap and expiry no
 * greater. Undefined when nothing is left to give, or when the giver's own grant holds no longer.
 */
export function issueGrant(
  stores: GrantStores,
  request: GrantRequest,
  now: number,
): Grant | undefined {
  const { sessionKey, own } = request;
  const { grants } = stores;
  const mine = new Set(own);
  return stores.db.transaction(() => {
    grants.deleteExpiredBefore(isoAt(now - KEPT_MS));
    // It may have ended since the giver looked at it.
    const parent = request.parent && grants.holding(request.parent.id, isoAt(now));
    if (request.parent && !parent) return undefined;
    const given = new Set(parent?.conversations);
    const conversations = request.conversations.filter((id) => mine.has(id) || given.has(id));
    const tokenCap = parent
      ? Math.min(request.tokenCap, grants.remaining(parent.id))
      : request.tokenCap;
    if (conversations.length === 0 || tokenCap < 1) return undefined;
    const expiresAt = earlier(isoAt(now + request.ttlMs), parent?.expiresAt);
    const id = `grant_${randomBytes(16).toString("hex")}`;
    const parentId = parent?.id ?? null;
    grants.insert({ id, parentId, sessionKey, conversations, tokenCap, expiresAt }, isoAt(now));
    return grants.get(id);
  });
}

/** The grant of a session that holds now. */
export function validGrant(
  stores: GrantStores,
  sessionKey: string,
  now: number,
): Grant | undefined {
  return heldGrant(stores, sessionKey, now).grant;
}

export interface HeldGrant {
  readonly state: GrantState;
  /** Present exactly where the state is valid. */
  readonly grant: Grant | undefined;
}

export function heldGrant({ grants }: GrantStores, sessionKey: string, now: number): HeldGrant {
  const grant = grants.latestOf(sessionKey);
  const state: GrantState = grant ? stateOf(grant, now) : { kind: "none" };
  return { state, grant: state.kind === "valid" ? grant : undefined };
}

function stateOf(grant: Grant, now: number): GrantState {
  if (grant.revokedAt !== null) return { kind: "revoked" };
  if (grant.expiresAt <= isoAt(now)) return { kind: "expired" };
  return { kind: "valid", conversations: grant.conversations };
}

/** Ends every grant of a session, with those made from them. */
export function revokeGrantsOf({ db, grants }: GrantStores, sessionKey: string, now: number): void {
  const open = grants.ofSession(sessionKey);
  if (open.length === 0) return;
  db.transaction(() => open.forEach((id) => grants.revoke(id, isoAt(now))));
}

function earlier(one: string, other: string | undefined): string {
  return other !== undefined && other < one ? other : one;
}

/** What may be read, in tokens, and the record of what was. */
export interface Allowance {
  remaining(): number;
  /** Counts tokens and notes what they were spent on; false when they are not there any more. */
  take(reads: readonly Read[]): boolean;
}

export function grantAllowance({ db, grants }: GrantStores, grant: string, now: Clock): Allowance {
  return {
    remaining: () => grants.remaining(grant),
    take: (reads) =>
      db.transaction(() => {
        const taken = grants.take(grant, totalTokens(reads), isoAt(now()));
        if (taken) grants.noteReads(grant, reads);
        return taken;
      }),
  };
}

/** Told where an allowance does not give what was to be read. */
export function notGiven(allowance: Allowance): string {
  return `The grant of this sub-agent has ended, or the ${allowance.remaining()} tokens that it holds are too few: answer from what was read so far.`;
}

/** An allowance for one call; nobody asks later what it was spent on. */
export class OwnAllowance implements Allowance {
  #left: number;

  constructor(tokens: number) {
    this.#left = tokens;
  }

  remaining(): number {
    return this.#left;
  }

  take(reads: readonly Read[]): boolean {
    const tokens = totalTokens(reads);
    if (tokens > this.#left) return false;
    this.#left -= tokens;
    return true;
  }
}

function totalTokens(reads: readonly Read[]): number {
  return reads.reduce((sum, { tokens }) => sum + tokens, 0);
}
