// Makes pages, each in its folder in BUILD: node build.mjs STAGE BUILD playground|portal...
//
// The playground is a page of its own; the portal's is in a frame that its plugin, plugin.js, puts into the portal.
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

const PAGES = {
  playground: { html: "index.html", page: "src/page.ts" },
  portal: { html: "editor.html", page: "src/portal.ts", plugin: "src/plugin.ts" },
};

const [stage, target, ...kinds] = process.argv.slice(2);
if (kinds.length === 0 || !kinds.every((kind) => kind in PAGES)) {
  console.error("usage: build.mjs STAGE BUILD playground|portal...");
  process.exit(2);
}

const text = (name) => fs.readFileSync(path.join(PROJECT, name), "utf8");
const notices = ["LICENSE", "docs/playground/THIRD-PARTY-NOTICES.md"].map(text);
notices.push(...licensesOfLibraries());
const checker = await compiled();
const examples = EXAMPLES.map(([name, file]) => [name, text(file)]);
const { info } = JSON.parse(fs.readFileSync(path.join(PYODIDE, "pyodide-lock.json"), "utf8"));
for (const kind of kinds) {
  await made(PAGES[kind], path.resolve(target, kind));
}

async function made({ html, ...scripts }, folder) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "checker.zip"), checker);
  for (const name of RUNTIME) {
    fs.copyFileSync(path.join(PYODIDE, name), path.join(folder, name));
  }
  fs.copyFileSync(path.join(HOME, "style.css"), path.join(folder, "style.css"));
  const part = (name) => fs.readFileSync(path.join(HOME, `${name}.html`), "utf8");
  const page = fs
    .readFileSync(path.join(HOME, html), "utf8")
    .replace(/<!-- (head|workbench) -->/g, (_, name) => part(name));
  fs.writeFileSync(path.join(folder, html), page);
  const sizes = Object.fromEntries(REPORTED.map((name) => [name, fs.statSync(path.join(folder, name)).size]));
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
  const inPage = await build({ ...shared, entryPoints: scripts, format: "iife" });
  const inWorkers = await build({
    ...shared,
    entryPoints: { checker: "src/checkerWorker.ts", graphviz: "src/graphWorker.ts" },
    format: "esm",
    // Viz.js asks Node.js for these, and no browser.
    external: ["module", "fs"],
  });
  const licenses = [...notices, ...licensesOf(inPage.metafile), ...licensesOf(inWorkers.metafile)];
  fs.writeFileSync(path.join(folder, "licenses.txt"), licenses.join("\n\n"));
}

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
