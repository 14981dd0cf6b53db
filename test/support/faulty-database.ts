// A database whose n-th call fails, for trying every point at which an operation can break off.

import type { SQLInputValue } from "node:sqlite";
import { Database, type Row } from "../../src/db/connection.js";
import { migrate } from "../../src/db/migration.js";
import { LcmError } from "../../src/errors.js";

/** `once`: the calls after it work again. `from-then-on`: the store stays broken. */
export type FaultKind = "once" | "from-then-on";

export class FaultyDatabase extends Database {
  /** Called behind every committed transaction. */
  onCommit: () => void = () => {};
  #calls = 0;
  #failAt = Number.POSITIVE_INFINITY;
  #kind: FaultKind = "once";

  static open(path: string): FaultyDatabase {
    const db = new FaultyDatabase(path);
    migrate(db, { kind: "new" }, () => {});
    return db;
  }

  /** Lets the n-th call from now on fail, counted from 1. */
  arm(call: number, kind: FaultKind): void {
    this.#calls = 0;
    this.#failAt = call;
    this.#kind = kind;
  }

  /** Lets every call work again. True when the fault was met. */
  disarm(): boolean {
    const met = this.#calls >= this.#failAt;
    this.arm(Number.POSITIVE_INFINITY, "once");
    return met;
  }

  override run(sql: string, ...params: SQLInputValue[]): { changes: number; lastId: number } {
    this.#count(sql);
    return super.run(sql, ...params);
  }

  override get<T = Row>(sql: string, ...params: SQLInputValue[]): T | undefined {
    this.#count(sql);
    return super.get<T>(sql, ...params);
  }

  override all<T = Row>(sql: string, ...params: SQLInputValue[]): T[] {
    this.#count(sql);
    return super.all<T>(sql, ...params);
  }

  override exec(sql: string): void {
    this.#count(sql);
    super.exec(sql);
    if (sql === "COMMIT") this.onCommit();
  }

  #count(sql: string): void {
    this.#calls += 1;
    const fails =
      this.#kind === "once" ? this.#calls === this.#failAt : this.#calls >= this.#failAt;
    if (fails) throw new LcmError("STORAGE", `${this.path}: no luck with ${sql.slice(0, 60)}`);
  }
}
