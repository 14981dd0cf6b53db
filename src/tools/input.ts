// How the parameters of a call are read: leniently where the meaning is clear, else refused in a sentence
// that says what to send instead. Pure.

import { InputError, shown } from "../errors.js";
import type { TimeFormat } from "../time-format.js";

/** The parameters of one call, each read and judged by name. */
export class Params {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(
    raw: unknown,
    private readonly tool: string,
  ) {
    if (raw === undefined || raw === null) this.#values = {};
    else if (typeof raw === "object" && !Array.isArray(raw)) this.#values = { ...raw };
    else
      throw new InputError(`${tool} takes an object of named parameters, but got ${shown(raw)}.`);
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.#wrong(name, value, "text");
    return value.trim() === "" ? undefined : value;
  }

  requiredText(name: string, example: string): string {
    const value = this.text(name);
    if (value !== undefined) return value;
    throw new InputError(`${this.tool} needs ${name}, for example ${example}.`);
  }

  /** A list of texts; one text stands for a list of one. */
  texts(name: string): string[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (typeof value === "string") return value.split(/[,\s]+/).filter((text) => text !== "");
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    throw this.#wrong(name, value, 'a list of ids such as ["sum_0123456789abcdef"]');
  }

  choice<const Choices extends readonly string[]>(
    name: string,
    choices: Choices,
    fallback: Choices[number],
  ): Choices[number] {
    const value = this.#value(name);
    if (value === undefined) return fallback;
    const found = choices.find((one) => one === value);
    if (found !== undefined) return found;
    throw this.#wrong(name, value, choices.map((one) => `"${one}"`).join(" or "));
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#value(name);
    if (value === undefined) return fallback;
    if (value === true || value === "true") return true;
    if (value === false || value === "false") return false;
    throw this.#wrong(name, value, "true or false");
  }

  count(
    name: string,
    bounds: { readonly least: number; readonly most: number },
  ): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    const fits =
      typeof number === "number" &&
      Number.isSafeInteger(number) &&
      number >= bounds.least &&
      number <= bounds.most;
    if (fits) return number;
    const most =
      bounds.most === Number.MAX_SAFE_INTEGER
        ? `of at least ${bounds.least}`
        : `from ${bounds.least} to ${bounds.most}`;
    throw this.#wrong(name, value, `a whole number ${most}`);
  }

  /** A moment as it is stored. A time without a zone is in the operator's. */
  time(name: string, format: TimeFormat): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const moment = typeof value === "string" ? format.instant(value.trim()) : undefined;
    if (moment !== undefined) return moment;
    throw this.#wrong(name, value, 'an ISO time such as "2026-02-19T00:00:00Z" or "2026-02-19"');
  }

  /** Models send null and empty text where they mean nothing. */
  #value(name: string): unknown {
    const value = this.#values[name];
    return value === null || value === "" ? undefined : value;
  }

  #wrong(name: string, value: unknown, expected: string): InputError {
    return new InputError(`${name} is ${shown(value)} but must be ${expected}.`);
  }
}
