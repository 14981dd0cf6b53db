// One read-only connection. It never writes, makes no file and waits for no lock longer than a search
// may take.

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { storageError } from "../errors.js";

/** What reads SQL; the writing connection does too. */
export interface Reader {
  get<T>(sql: string, ...params: SQLInputValue[]): T | undefined;
  all<T>(sql: string, ...params: SQLInputValue[]): T[];
  iterate<T>(sql: string, ...params: SQLInputValue[]): Generator<T, void>;
}

const BUSY_TIMEOUT_MS = 500;

export class ReadOnlyDatabase implements Reader {
  readonly #path: string;
  readonly #handle: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.#path = path;
    this.#handle = this.#guard(
      () => new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS }),
    );
  }

  get<T>(sql: string, ...params: SQLInputValue[]): T | undefined {
    return this.#guard(() => this.#statement(sql).get(...params)) as T | undefined;
  }

  all<T>(sql: string, ...params: SQLInputValue[]): T[] {
    return this.#guard(() => this.#statement(sql).all(...params)) as T[];
  }

  *iterate<T>(sql: string, ...params: SQLInputValue[]): Generator<T, void> {
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

  /** Lets everything that one search reads be of one moment. */
  snapshot<T>(work: () => T): T {
    this.#guard(() => this.#handle.exec("BEGIN"));
    try {
      return work();
    } finally {
      if (this.#handle.isTransaction) this.#handle.exec("COMMIT");
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.#handle.isOpen) this.#handle.close();
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
    try {
      return work();
    } catch (error) {
      throw storageError(error, this.#path);
    }
  }
}
