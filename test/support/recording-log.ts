// A logger that keeps what it was told.

import type { Logger } from "../../src/types.js";

export interface RecordingLog extends Logger {
  readonly warnings: string[];
  readonly errors: string[];
}

export function recordingLog(): RecordingLog {
  const warnings: string[] = [];
  const errors: string[] = [];
  return {
    warnings,
    errors,
    info() {},
    warn: (text) => void warnings.push(text),
    error: (text) => void errors.push(text),
  };
}
