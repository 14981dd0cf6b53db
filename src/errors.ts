// The one error class of the product. `code` is for programs, `message` is a sentence for people.

export type LcmErrorCode =
  | "NOT_A_DATABASE"
  | "FOREIGN_DATABASE"
  | "CORRUPT"
  | "NEWER_SCHEMA"
  | "WAL_UNAVAILABLE"
  | "UNWRITABLE"
  | "DISK_FULL"
  | "DISK_ERROR"
  | "BUSY"
  | "CLOSED"
  | "BAD_MESSAGE"
  /** The host's policy does not let the plugin use a model as it asked to. */
  | "MODEL_REFUSED"
  | "STORAGE";

/** Longest part of a value that a sentence carries. */
const MOST_SHOWN = 80;

export class LcmError extends Error {
  readonly code: LcmErrorCode;

  constructor(code: LcmErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "LcmError";
    this.code = code;
  }
}

/** True for what another process's lock caused, which passes. */
export function isBusy(error: unknown): boolean {
  return error instanceof LcmError && error.code === "BUSY";
}

/** Wrong input of a tool, as a sentence that says what to send instead. It never leaves the tool. */
export class InputError extends Error {}

/** A value as a sentence can carry it. */
export function shown(value: unknown): string {
  const json = typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const text = json ?? String(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN).toWellFormed()}…` : text;
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Errors that say nothing about whether the store works. */
const NO_FAULT: ReadonlySet<LcmErrorCode> = new Set([
  "BUSY",
  "CLOSED",
  "BAD_MESSAGE",
  "MODEL_REFUSED",
]);

/** True when the store could not do what it is there for. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof LcmError && !NO_FAULT.has(error.code);
}

const SQLITE_CODES: Readonly<Record<number, LcmErrorCode>> = {
  5: "BUSY",
  6: "BUSY",
  8: "UNWRITABLE",
  10: "DISK_ERROR",
  11: "CORRUPT",
  13: "DISK_FULL",
  14: "UNWRITABLE",
  26: "NOT_A_DATABASE",
};

const ADVICE: Readonly<Partial<Record<LcmErrorCode, string>>> = {
  BUSY: "another process holds the database; it is tried again at the next call",
  CORRUPT: "the file is damaged; restore a backup or move it away to start a new one",
  DISK_FULL: "the disk is full; free some space and the next call goes on",
  DISK_ERROR:
    "the file system refused to read or write; check the disk, its quota and limits, and the next call goes on",
  UNWRITABLE: "the file or its directory can not be written; check owner and permissions",
  NOT_A_DATABASE:
    "the file is not a SQLite database; point databasePath (LCM_DATABASE_PATH) elsewhere",
};

/** Turns an error of `node:sqlite` into an `LcmError` that names the file and what to do. */
export function storageError(error: unknown, path: string): LcmError {
  if (error instanceof LcmError) return error;
  const primary = sqlitePrimaryCode(error);
  const code = (primary === undefined ? undefined : SQLITE_CODES[primary]) ?? "STORAGE";
  const advice = ADVICE[code];
  const detail = errorText(error);
  return new LcmError(code, `${path}: ${advice ? `${advice} (${detail})` : detail}`, {
    cause: error,
  });
}

function sqlitePrimaryCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return undefined;
  // Extended result codes keep the primary one in their lowest byte.
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** So many of a list are named in a sentence. */
const MOST_NAMED = 20;

/** A list as a sentence can carry it. */
export function listed(items: readonly string[]): string {
  const more = items.length - MOST_NAMED;
  const named = items.slice(0, MOST_NAMED).join(", ");
  return more > 0 ? `${named} and ${more.toLocaleString("en-US")} more` : named;
}
