// Makes the page: node build.mjs FOLDER STAGE
//
// STAGE has the Python packages that run in the browser. They are compiled by the Python that runs them there, so that
// the browser does not have to.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { loadPyodide } from "pyodide";

const HOME = path.dirname(fileURLToPath(import.meta.url));
const PROJECT = path.join(HOME, "../..");
const PYODIDE = path.join(HOME, "node_modules/pyodide");
/** What the browser loads of Pyodide: its loader, Python, and Python's library. */
const RUNTIME = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"];
/** The files whose loading the page reports. */
const REPORTED = ["pyodide.asm.wasm", "python_stdlib.zip", "checker.zip"];
const EXAMPLES = [
  ["Mistakes the cluster refuses", "examples/typo.pai.yaml"],
  ["A job that dies at start", "examples/dies-at-start.pai.yaml"],
  ["A correct job", "examples/good.pai.yaml"],
  ["The extended protocol", "docs/playground/examples/extended.pai.yaml"],
  ["A half-typed file", "examples/half-typed.pai.yaml"],
];

const [folder, stage] = process.argv.slice(2).map((one) => path.resolve(one));
if (!folder || !stage) {
  console.error("usage: build.mjs FOLDER STAGE");
  process.exit(2);
}
fs.mkdirSync(folder, { recursive: true });

const licenses = ["LICENSE", "docs/playground/THIRD-PARTY-NOTICES.md"].map((name) =>
  fs.readFileSync(path.join(PROJECT, name), "utf8"),
);
licenses.push(...licensesOfLibraries());
fs.writeFileSync(path.join(folder, "checker.zip"), await compiled());
for (const name of RUNTIME) {
  fs.copyFileSync(path.join(PYODIDE, name), path.join(folder, name));
}
for (const name of ["index.html", "style.css"]) {
  fs.copyFileSync(path.join(HOME, name), path.join(folder, name));
}
const sizes = Object.fromEntries(REPORTED.map((name) => [name, fs.statSync(path.join(folder, name)).size]));
const examples = EXAMPLES.map(([name, file]) => [name, fs.readFileSync(path.join(PROJECT, file), "utf8")]);
const { info } = JSON.parse(fs.readFileSync(path.join(PYODIDE, "pyodide-lock.json"), "utf8"));
const values = { EXAMPLES: examples, SIZES: sizes, LOCK_FILE: JSON.stringify({ info, packages: {} }) };
const shared = {
  absWorkingDir: HOME,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  outdir: folder,
  define: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)])),
};
const page = await build({ ...shared, entryPoints: { page: "src/page.ts" }, format: "iife" });
const workers = await build({
  ...shared,
  entryPoints: { checker: "src/checkerWorker.ts", graphviz: "src/graphWorker.ts" },
  format: "esm",
  // Viz.js asks Node.js for these, and no browser.
  external: ["module", "fs"],
});
licenses.push(...licensesOf(page.metafile), ...licensesOf(workers.metafile));
fs.writeFileSync(path.join(folder, "licenses.txt"), licenses.join("\n\n"));

/** The packages of the stage as a .zip of compiled modules and data. */
async function compiled() {
  const python = await loadPyodide({ indexURL: `${PYODIDE}/` });
  python.FS.mkdir("/stage");
  python.FS.mount(python.FS.filesystems.NODEFS, { root: stage }, "/stage");
  python.runPython(`
import compileall, pathlib, py_compile, shutil
stage = pathlib.Path("/stage")
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
assert compileall.compile_dir(stage, legacy=True, quiet=1, stripdir="/stage", invalidation_mode=mode)
for path in stage.rglob("*.py"):
    path.unlink()
shutil.make_archive("/checker", "zip", stage)
`);
  return python.FS.readFile("/checker.zip");
}

/** The licenses of the npm packages that esbuild has put into the page. */
function licensesOf({ inputs }) {
  const packages = Object.keys(inputs).flatMap((name) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(name) ?? []);
  return [...new Set(packages)].sort().flatMap((name) => licenseFiles(path.join(HOME, name)));
}

function licenseFiles(folder) {
  const names = fs.readdirSync(folder).filter((name) => /^LICEN[CS]E/i.test(name));
  return names.map((name) => `${path.basename(folder)}\n\n${fs.readFileSync(path.join(folder, name), "utf8")}`);
}

/** Those of the Python libraries; they are moved out of the stage. */
function licensesOfLibraries() {
  const folders = fs.readdirSync(stage).filter((name) => name.endsWith(".dist-info"));
  return folders.flatMap((name) => {
    const found = licenseFiles(path.join(stage, name, "licenses"));
    fs.rmSync(path.join(stage, name), { recursive: true });
    return found;
  });
}
