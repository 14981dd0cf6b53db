// The one place that compares content: rows of release 0.1.x, which have no entry ids, are matched
// with the transcript once, in order, by role and normalized text. What finds no partner stays as a
// searchable archive.

import { plainText } from "../message-codec.js";
import type { AgentMessage, MessageId } from "../types.js";

export interface OldRow {
  readonly id: MessageId;
  readonly message: AgentMessage;
}

/** How far ahead a partner is looked for. Further away, equal short texts would be chance. */
const LOOKAHEAD = 200;

export class Alignment {
  readonly #load: (afterId: number, limit: number) => OldRow[];
  /** The next old rows in order: at most `LOOKAHEAD`, the first one directly behind `#through`. */
  #window: { id: MessageId; key: string }[] = [];
  #loadedThrough: number;
  #through: number;
  #matched = 0;

  /** `load` gives the old rows behind an id, in order; `through` is the last one compared before. */
  constructor(load: (afterId: number, limit: number) => OldRow[], through: number) {
    this.#load = load;
    this.#through = through;
    this.#loadedThrough = through;
  }

  /** The old row this message is, if one of the next rows in order is. */
  claim(message: AgentMessage): MessageId | undefined {
    this.#fill();
    const key = alignmentKey(message);
    const index = this.#window.findIndex((candidate) => candidate.key === key);
    const found = this.#window[index];
    if (!found) return undefined;
    this.#window = this.#window.slice(index + 1);
    this.#through = found.id;
    this.#matched += 1;
    return found.id;
  }

  /** The last old row that found its partner, to go on from after a restart. */
  get through(): number {
    return this.#through;
  }

  get matched(): number {
    return this.#matched;
  }

  #fill(): void {
    const missing = LOOKAHEAD - this.#window.length;
    if (missing <= 0) return;
    for (const { id, message } of this.#load(this.#loadedThrough, missing)) {
      this.#window.push({ id, key: alignmentKey(message) });
      this.#loadedThrough = id;
    }
  }
}

function alignmentKey(message: AgentMessage): string {
  return `${message.role}\n${plainText(message).replace(/\s+/g, " ").trim()}`;
}
