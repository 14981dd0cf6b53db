// What a developer types in a clone where nothing was installed, on the machine's own Node. npm is a
// stand-in that notes what it was asked for, because tests reach no registry.

import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { temporaryDirectory } from "./workspace.js";

const ROOT = join(import.meta.dirname, "..", "..");
const COPIED = [
  "package.json",
  "package-lock.json",
  "scripts",
  "tsconfig.json",
  "vitest.config.ts",
];

const NPM = `#!/bin/sh
echo "$@" >> "$NPM_CALLS"
case "$1" in
  install)
    mkdir -p node_modules/node/bin
    printf '#!/bin/sh\\necho v%s\\n' "\${2#node@}" > node_modules/node/bin/node
    chmod +x node_modules/node/bin/node ;;
  ci) mkdir -p node_modules ;;
esac
`;

/** The PATH of a shell in which no script of the project runs. */
function machinePath(): string[] {
  const path = (process.env["PATH"] ?? "").split(delimiter);
  return path.filter((directory) => !/[/\\]node_modules[/\\]/.test(`${directory}/`));
}

/** Where the machine has none but the project's, that one stands for it. */
export const machineNode: string =
  machinePath()
    .map((directory) => join(directory, "node"))
    .find((file) => existsSync(file)) ?? process.execPath;

export const machineVersion: string = spawnSync(machineNode, ["-p", "process.versions.node"], {
  encoding: "utf8",
}).stdout.trim();

export interface Ended {
  readonly code: number | null;
  /** Everything it said. */
  readonly output: string;
}

export class FreshClone {
  readonly #root = temporaryDirectory();
  readonly #npm = temporaryDirectory();
  readonly #calls = join(this.#npm, "calls");

  constructor() {
    for (const name of COPIED)
      cpSync(join(ROOT, name), join(this.#root, name), { recursive: true });
    writeFileSync(join(this.#npm, "npm"), NPM, { mode: 0o755 });
    writeFileSync(this.#calls, "");
  }

  /** What npm was asked to do, a line each. */
  get npmCalls(): string[] {
    return readFileSync(this.#calls, "utf8").trim().split("\n").filter(Boolean);
  }

  setup(): Ended {
    return this.#run(join(this.#root, "scripts", "setup.mjs"));
  }

  /** As `npx` runs it: the package comes from elsewhere. */
  vitest(): Ended {
    return this.#run(installed("vitest", "vitest.mjs"), "run");
  }

  tsc(...args: string[]): Ended {
    return this.#run(installed("typescript", "bin", "tsc"), ...args);
  }

  /** As after `npm test`, with the Node of these tests. */
  bringNode(): void {
    const bin = join(this.#root, ".node", "node_modules", "node", "bin");
    mkdirSync(bin, { recursive: true });
    symlinkSync(process.execPath, join(bin, "node"));
  }

  changeLockfile(): void {
    appendFileSync(join(this.#root, "package-lock.json"), "\n");
  }

  #run(script: string, ...args: string[]): Ended {
    const PATH = [this.#npm, dirname(machineNode), ...machinePath()].join(delimiter);
    const { status, stdout, stderr } = spawnSync(machineNode, [script, ...args], {
      cwd: this.#root,
      env: { ...process.env, PATH, NPM_CALLS: this.#calls, NO_COLOR: "1" },
      encoding: "utf8",
    });
    return { code: status, output: `${stdout}${stderr}`.trim() };
  }
}

function installed(...path: string[]): string {
  return join(ROOT, "node_modules", ...path);
}
