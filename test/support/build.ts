// Builds the plugin before the tests: searches run on a thread whose file is built.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

export default function build(): void {
  const script = join(import.meta.dirname, "..", "..", "scripts", "build.mjs");
  execFileSync(process.execPath, [script], { stdio: ["ignore", "ignore", "inherit"] });
}
