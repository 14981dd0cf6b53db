// A small facade over one `node:sqlite` connection: cached statements, synchronous transactions,
// private files. It knows how to reach a database, not what is in it (migration.ts does).

import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { isBusy, LcmError, storageError } from "../errors.js";

export type Row = Record<string, unknown>;

/**
 * How long SQLite itself waits for a lock, in milliseconds, also while a file is opened. The wait blocks
 * the event loop, so it is short; callers that can wait longer retry asynchronously (see
 * `retryWhileBusy`).
 */
export const BUSY_TIMEOUT_MS = 25;

/** `full`: on disk when the transaction returns. `relaxed`: consistent, but a power cut may undo it. */
export type Durability = "full" | "relaxed";

export class Database {
  readonly path: string;
  readonly #handle: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;

  constructor(path: string) {
    this.path = path;
    createPrivateFile(path);
    try {
      this.#handle = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    } catch (error) {
      throw storageError(error, path);
    }
    try {
      this.#configure();
    } catch (error) {
      this.#handle.close();
      throw storageError(error, path);
    }
  }

  #configure(): void {
    this.#handle.exec("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;");
    // Without it, REPLACE would delete rows behind the back of the triggers that keep them.
    this.#handle.exec("PRAGMA recursive_triggers = ON");
    const mode = this.#enterWal();
    if (mode !== "wal") {
      throw new LcmError(
        "WAL_UNAVAILABLE",
        `${this.path}: this file system can not hold a shared SQLite database (journal mode stayed "${mode}"); put databasePath (LCM_DATABASE_PATH) on a local disk.`,
      );
    }
  }

  /** Entering WAL needs the file alone for a moment, and SQLite does not wait for that by itself. */
  #enterWal(): string {
    const end = performance.now() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        const row = this.#handle.prepare("PRAGMA journal_mode = WAL").get();
        return String(row?.["journal_mode"]);
      } catch (error) {
        if (!isBusy(storageError(error, this.path)) || performance.now() > end) throw error;
      }
      sleepSync(5);
    }
  }

  get isOpen(): boolean {
    return this.#handle.isOpen;
  }

  run(sql: string, ...params: SQLInputValue[]): { changes: number; lastId: number } {
    const result = this.#guard(() => this.#statement(sql).run(...params));
    return { changes: Number(result.changes), lastId: Number(result.lastInsertRowid) };
  }

  get<T = Row>(sql: string, ...params: SQLInputValue[]): T | undefined {
    return this.#guard(() => this.#statement(sql).get(...params)) as T | undefined;
  }

  all<T = Row>(sql: string, ...params: SQLInputValue[]): T[] {
    return this.#guard(() => this.#statement(sql).all(...params)) as T[];
  }

  /** Rows one by one, for tables that do not fit into memory. */
  *iterate<T = Row>(sql: string, ...params: SQLInputValue[]): Generator<T, void> {
    const rows = this.#guard(() => this.#handle.prepare(sql).iterate(...params));
    try {
      for (;;) {
        const next = this.#guard(() => rows.next());
        if (next.done) return;
        yield next.value as T;
      }
    } finally {
      // Rows that nobody asks for any more would hold the read transaction open.
      rows.return?.();
    }
  }

  /** Runs a script of several statements. */
  exec(sql: string): void {
    this.#guard(() => this.#handle.exec(sql));
  }

  /**
   * Runs `work` in one `BEGIN IMMEDIATE … COMMIT`. Joins a transaction that is already open.
   * `work` must be synchronous: an `await` inside would let another session's writes join in.
   */
  transaction<T>(work: () => T, durability: Durability = "full"): T {
    if (this.#depth > 0) return work();
    if (durability === "relaxed") this.exec("PRAGMA synchronous = NORMAL");
    try {
      return this.#transact(work);
    } finally {
      if (durability === "relaxed") this.#handle.exec("PRAGMA synchronous = FULL");
    }
  }

  #transact<T>(work: () => T): T {
    this.exec("BEGIN IMMEDIATE");
    this.#depth += 1;
    try {
      const result = work();
      if (result instanceof Promise) {
        throw new TypeError("A transaction's work must be synchronous; it returned a promise.");
      }
      this.exec("COMMIT");
      return result;
    } catch (error) {
      // A failed COMMIT or a full disk may already have ended the transaction.
      if (this.#handle.isTransaction) this.#handle.exec("ROLLBACK");
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  close(): void {
    if (!this.#handle.isOpen) return;
    this.#statements.clear();
    this.#handle.close();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#handle.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #guard<T>(work: () => T): T {
    if (!this.#handle.isOpen) {
      throw new LcmError("CLOSED", `${this.path}: the database was closed; open it again first.`);
    }
    try {
      return work();
    } catch (error) {
      throw storageError(error, this.path);
    }
  }
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Creates the database file as 0600 (its WAL inherits the mode) in a 0700 directory of its own. */
function createPrivateFile(path: string): void {
  try {
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Never opens an existing file: closing it again would drop the process's locks on it.
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
    for (const file of [path, `${path}-wal`, `${path}-shm`]) makePrivate(file);
  } catch (error) {
    throw new LcmError(
      "UNWRITABLE",
      `${path}: the database can not be created here (${(error as Error).message}); check the directory's owner and permissions, or set databasePath (LCM_DATABASE_PATH).`,
      { cause: error },
    );
  }
}

function makePrivate(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats && (stats.mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/**
 * Repeats `work` while another process holds the write lock, without blocking the event loop.
 * Gives up with the last `BUSY` error after `deadlineMs`.
 */
export async function retryWhileBusy<T>(work: () => T, deadlineMs: number): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (let pause = 20; ; pause = Math.min(pause * 2, 250)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() + pause > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** As `retryWhileBusy`, for callers that can not await. Holds the thread, so not for a host's process. */
export function holdWhileBusy<T>(work: () => T, deadlineMs: number): T {
  const end = performance.now() + deadlineMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error;
    }
    sleepSync(20);
  }
}
