// Bundles TypeScript into single CommonJS files.
//
//   node bundle.mjs extension TARGET    the extension itself
//   node bundle.mjs unit FOLDER         each unit test with what it tests
//   node bundle.mjs offline TARGET      a program of the tests that makes a private environment
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

const kinds = {
  extension: () => ({ entryPoints: ["src/extension.ts"], outfile: target, minify: true, legalComments: "eof" }),
  unit: () => ({
    entryPoints: fs.readdirSync(path.join(HOME, "test/unit")).map((name) => `test/unit/${name}`),
    outdir: target,
    sourcemap: "inline",
  }),
  offline: () => ({ entryPoints: ["test/offline.ts"], outfile: target }),
  host: () => ({ entryPoints: ["test/host/index.ts"], outfile: target, sourcemap: "inline" }),
};

if (!(what in kinds) || !target) {
  console.error("usage: bundle.mjs extension|unit|offline|host TARGET");
  process.exit(2);
}
await build({ ...shared, ...kinds[what]() });
