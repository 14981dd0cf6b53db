// Bundles the plugin into `dist/index.js`, and the thread its searches run on beside it: OpenClaw installs
// the package without resolving anything, so everything but the host and Node itself is built in, with
// the licenses it came under. Files are put in place whole: tests may run on those of the build before.
// `--if-possible` (npm's `prepare`) does nothing where the sources or esbuild are missing, as in an
// installed package, and runs on old Nodes too: no syntax newer than Node 18.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(root, "dist");
const ifPossible = process.argv.includes("--if-possible");

const esbuild = await loadEsbuild();
if (esbuild && (existsSync(join(root, "index.ts")) || !ifPossible)) await build(esbuild);

async function loadEsbuild() {
  try {
    return await import("esbuild");
  } catch (error) {
    if (ifPossible && error.code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

async function build({ build: bundle }) {
  const started = performance.now();
  const fresh = mkdtempSync(join(root, ".build-"));
  const { metafile } = await bundle({
    absWorkingDir: root,
    entryPoints: { index: "index.ts", "search-thread": "src/search/thread.ts" },
    outdir: fresh,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    external: ["openclaw", "openclaw/*", "node:*"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  const packages = bundledPackages(metafile);
  writeFileSync(join(fresh, "THIRD_PARTY_LICENSES.txt"), packages.map(licenseSection).join("\n"));
  putInPlace(fresh);
  const size = Math.ceil(statSync(join(dist, "index.js")).size / 1024);
  const took = Math.round(performance.now() - started);
  const names = packages.map((directory) => describePackage(directory).name).join(", ");
  console.log(
    `build: dist/index.js, ${size} kB in ${took} ms, with ${names || "no packages"} built in`,
  );
}

function putInPlace(fresh) {
  const files = readdirSync(fresh);
  mkdirSync(dist, { recursive: true });
  for (const file of files) renameSync(join(fresh, file), join(dist, file));
  for (const file of readdirSync(dist)) {
    if (!files.includes(file)) rmSync(join(dist, file), { recursive: true });
  }
  rmSync(fresh, { recursive: true });
}

/** The directories of the packages whose code is in the bundle. */
function bundledPackages(metafile) {
  const outputs = Object.values(metafile.outputs);
  const inputs = outputs.flatMap((output) => Object.keys(output.inputs));
  const directories = inputs.map((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]);
  return [...new Set(directories.filter((directory) => directory !== undefined))].sort();
}

function describePackage(directory) {
  return JSON.parse(readFileSync(join(root, directory, "package.json"), "utf8"));
}

function licenseSection(directory) {
  const { name, version, license } = describePackage(directory);
  const files = readdirSync(join(root, directory)).filter((file) =>
    /^(licen[cs]e|notice|copying)/i.test(file),
  );
  if (files.length === 0) {
    throw new Error(
      `${relative(root, join(root, directory))} has no license file, so it can not be bundled.`,
    );
  }
  const texts = files.map((file) => readFileSync(join(root, directory, file), "utf8").trim());
  return `${name} ${version} (${license})\n\n${texts.join("\n\n")}\n`;
}
