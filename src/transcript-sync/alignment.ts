// The one place that compares content: rows of release 0.1.x, which have no entry ids, are matched
// with the transcript once, in order, by role and normalized text. What finds no partner stays as a
// searchable archive.

import { plainText } from "../message-codec.js";
import type { AgentMessage, MessageId } from "../types.js";

interface Candidate {
  readonly id: MessageId;
  readonly message: AgentMessage;
}

/** How far ahead a partner is looked for. Further away, equal short texts would be chance. */
const LOOKAHEAD = 200;

export class Alignment {
  readonly #candidates: readonly { id: MessageId; key: string }[];
  #next = 0;
  #through: number;
  #matched = 0;

  constructor(candidates: readonly Candidate[], through: number) {
    this.#candidates = candidates.map(({ id, message }) => ({ id, key: alignmentKey(message) }));
    this.#through = through;
  }

  /** The old row this message is, if one of the next rows in order is. */
  claim(message: AgentMessage): MessageId | undefined {
    const key = alignmentKey(message);
    const end = Math.min(this.#candidates.length, this.#next + LOOKAHEAD);
    for (let index = this.#next; index < end; index += 1) {
      const candidate = this.#candidates[index];
      if (candidate?.key !== key) continue;
      this.#next = index + 1;
      this.#through = candidate.id;
      this.#matched += 1;
      return candidate.id;
    }
    return undefined;
  }

  /** The last old row that was compared, to go on from after a restart. */
  get through(): number {
    return this.#through;
  }

  get matched(): number {
    return this.#matched;
  }
}

function alignmentKey(message: AgentMessage): string {
  return `${message.role}\n${plainText(message).replace(/\s+/g, " ").trim()}`;
}
