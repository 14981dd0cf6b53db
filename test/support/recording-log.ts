// A logger that keeps what it was told.

import type { Logger } from "../../src/types.js";

export interface RecordingLog extends Logger {
  readonly infos: string[];
  readonly warnings: string[];
  readonly errors: string[];
}

export function recordingLog(): RecordingLog {
  const infos: string[] = [];
  const warnings: string[] = [];
  const errors: string[] = [];
  return {
    infos,
    warnings,
    errors,
    info: (text) => void infos.push(text),
    warn: (text) => void warnings.push(text),
    error: (text) => void errors.push(text),
  };
}
