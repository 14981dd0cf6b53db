// Reads one configuration value: text from the environment or a JSON value from the plugin config,
// judged against the key's schema. Pure; it knows neither layers nor precedence.
import { isAbsolute, join, resolve } from "node:path";
import { inspect } from "node:util";
import { Value } from "@sinclair/typebox/value";
import type { KeySchema } from "./keys.js";

export interface Directories {
  /** Base of the default paths and of relative ones. */
  readonly stateDir: string;
  /** What `~` stands for. */
  readonly homeDir: string;
}

export type Reading = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const BAD: Reading = { ok: false };

/** Reads a value that is set; `isUnset` tells those that are not. */
export function readValue(schema: KeySchema, raw: unknown, directories: Directories): Reading {
  const value = typeof raw === "string" ? fromText(schema, raw.trim()) : raw;
  if (!Value.Check(schema, value)) return BAD;
  if (schema.kind === "timezone" && !isTimeZone(String(value))) return BAD;
  if (schema.kind === "path") return absolutePath(String(value), directories);
  if (schema.kind === "list") return { ok: true, value: tidyList(value as string[]) };
  return { ok: true, value };
}

/** Nothing, or text with nothing in it. `LCM_X= openclaw …` must mean the same as no `LCM_X`. */
export function isUnset(raw: unknown): boolean {
  return raw === undefined || raw === null || (typeof raw === "string" && raw.trim() === "");
}

export function defaultValue(schema: KeySchema, { stateDir }: Directories): unknown {
  if (schema.stateFile !== undefined) return resolve(stateDir, schema.stateFile);
  return Array.isArray(schema.default) ? [...schema.default] : schema.default;
}

/** What a key accepts, as the end of "must be …". */
export function describeAllowed(schema: KeySchema): string {
  switch (schema.kind) {
    case "boolean":
      return "true or false";
    case "number":
      return describeNumber(schema);
    case "choice":
      return (schema.choices ?? []).join(" or ");
    case "path":
      return "a path; a leading ~/ stands for your home directory";
    case "timezone":
      return "an IANA time zone such as Europe/Berlin";
    case "list":
      return "a list of session key patterns";
    case "text":
      return "text";
  }
}

/** A value as it may appear in a message: on one line and short, whatever was configured. */
export function show(value: unknown): string {
  const text = inspect(value, {
    depth: 1,
    breakLength: Infinity,
    compact: true,
    maxArrayLength: 5,
    maxStringLength: 60,
  });
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

function describeNumber(schema: KeySchema): string {
  const noun = schema["type"] === "integer" ? "a whole number" : "a number";
  const bounds: string[] = [];
  if (schema["minimum"] !== undefined) bounds.push(`at least ${schema["minimum"]}`);
  if (schema["exclusiveMinimum"] !== undefined) bounds.push(`above ${schema["exclusiveMinimum"]}`);
  if (schema["maximum"] !== undefined) bounds.push(`at most ${schema["maximum"]}`);
  return `${noun}, ${bounds.join(" and ")}`;
}

/** The value that text stands for, or undefined, which no schema accepts. */
function fromText(schema: KeySchema, text: string): unknown {
  switch (schema.kind) {
    case "boolean":
      return booleanFromText(text.toLowerCase());
    case "number":
      return numberFromText(text);
    case "list":
      return text.split(",");
    default:
      return text;
  }
}

function booleanFromText(text: string): boolean | undefined {
  if (["true", "1", "yes"].includes(text)) return true;
  if (["false", "0", "no"].includes(text)) return false;
  return undefined;
}

/** Plain decimals only: in `20k`, `1e3` and `0x10` a slip is likelier than an intention. */
function numberFromText(text: string): number | undefined {
  return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function isTimeZone(name: string): boolean {
  // Intl also takes bare offsets, which know nothing of daylight saving.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * Relative paths start at the state directory, not at the working directory: the gateway and
 * `openclaw lcm`, started in different places, must reach the same database.
 */
function absolutePath(path: string, { stateDir, homeDir }: Directories): Reading {
  if (path.includes("\0")) return BAD;
  const home = /^~(?:[/\\]|$)/.test(path);
  if (path.startsWith("~") && !home) return BAD;
  if (home) return { ok: true, value: resolve(join(homeDir, path.slice(1))) };
  return { ok: true, value: isAbsolute(path) ? resolve(path) : resolve(stateDir, path) };
}

function tidyList(items: readonly string[]): string[] {
  return [...new Set(items.map((item) => item.trim()).filter((item) => item !== ""))];
}
