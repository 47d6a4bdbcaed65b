// Bundles TypeScript into single CommonJS files.
//
//   node bundle.mjs extension FOLDER    the extension itself, and what draws its graphs
//   node bundle.mjs unit FOLDER         each unit test with what it tests
//   node bundle.mjs host TARGET         the tests that run in VS Code's extension host
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HOME = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const [what, target] = process.argv.slice(2);

const shared = {
  absWorkingDir: HOME,
  bundle: true,
  platform: "node",
  // What VS Code 1.82 runs.
  target: "node18",
  format: "cjs",
  external: ["vscode"],
  logLevel: "warning",
};

/** Beside the code that starts it. */
const worker = { graphviz: "src/graphvizWorker.ts" };

const kinds = {
  extension: () => ({
    entryPoints: { extension: "src/extension.ts", ...worker },
    outdir: target,
    charset: "utf8",
    minify: true,
    legalComments: "eof",
  }),
  unit: () => ({
    entryPoints: { ...worker, ...unitTests() },
    outdir: target,
    sourcemap: "inline",
  }),
  host: () => ({ entryPoints: ["test/host/index.ts"], outfile: target, sourcemap: "inline" }),
};

if (!(what in kinds) || !target) {
  console.error("usage: bundle.mjs extension|unit|host TARGET");
  process.exit(2);
}
await build({ ...shared, ...kinds[what]() });

function unitTests() {
  const names = fs.readdirSync(path.join(HOME, "test/unit"));
  return Object.fromEntries(names.map((name) => [path.parse(name).name, `test/unit/${name}`]));
}
