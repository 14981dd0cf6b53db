// How a model's own token counts compare with our estimates.

import type { Database } from "../db/connection.js";

/** What is known already counts for this much of the next sum: old counts fade. */
const FADING = 0.98;

export class CalibrationStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  record(model: string, counts: { estimated: number; actual: number }, now: string): void {
    this.#db.run(
      `INSERT INTO token_calibration (model, estimated, actual, updated_at) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT DO UPDATE SET estimated = estimated * ${FADING} + ?2,
         actual = actual * ${FADING} + ?3, updated_at = ?4`,
      model,
      counts.estimated,
      counts.actual,
      now,
    );
  }

  counts(model: string): { estimated: number; actual: number } | undefined {
    return this.#db.get<{ estimated: number; actual: number }>(
      "SELECT estimated, actual FROM token_calibration WHERE model = ?",
      model,
    );
  }
}
