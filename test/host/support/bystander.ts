// Another plugin, which does nothing: for seeing what its coming and going does to ours.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function stageBystander(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "bystander-plugin-"));
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(path, name), typeof value === "string" ? value : JSON.stringify(value));
  write("package.json", {
    name: "bystander",
    version: "1.0.0",
    type: "module",
    openclaw: { extensions: ["./index.js"], compat: { pluginApi: ">=2026.8.1" } },
  });
  write("openclaw.plugin.json", {
    id: "bystander",
    name: "Bystander",
    description: "Does nothing.",
    activation: { onStartup: true },
    configSchema: { type: "object", additionalProperties: true, properties: {} },
  });
  write("index.js", `export default { id: "bystander", name: "Bystander", register() {} };\n`);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
