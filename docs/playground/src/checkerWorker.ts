/** Runs the checker on Pyodide: Python, compiled to WebAssembly. */

import type { PyodideAPI } from "pyodide";
import type { Asked, Posted } from "./checker";

/** The bytes of the files that are fetched, by name; the build puts them in. */
declare const SIZES: Record<string, number>;
/** Pyodide's list of packages without its packages: nothing is installed in the browser. */
declare const LOCK_FILE: string;
declare const self: DedicatedWorkerGlobalScope;
interface DedicatedWorkerGlobalScope {
  fetch: typeof fetch;
  postMessage: (posted: Posted) => void;
  addEventListener: (type: "message", listener: (event: MessageEvent<Asked>) => void) => void;
}

const HOME = new URL(".", import.meta.url).href;
const TOTAL = Object.values(SIZES).reduce((sum, size) => sum + size, 0);
const FOLDER = "/checker";

const answering = start();
self.addEventListener("message", ({ data: { number, question } }) => {
  void answering.then((answer) => {
    try {
      self.postMessage({ kind: "answer", number, answer: answer(question) });
    } catch (error) {
      self.postMessage({ kind: "failure", number, reason: lastLine(error) });
    }
  });
});
answering.then(
  () => self.postMessage({ kind: "ready" }),
  (error: unknown) => self.postMessage({ kind: "broken", reason: lastLine(error) }),
);

async function start(): Promise<(question: string) => string> {
  countLoading();
  const packed = fetch(`${HOME}checker.zip`).then((response) => response.arrayBuffer());
  const library = (await import(`${HOME}pyodide.mjs`)) as typeof import("pyodide");
  const python: PyodideAPI = await library.loadPyodide({
    indexURL: HOME,
    lockFileContents: LOCK_FILE,
  });
  python.unpackArchive(await packed, "zip", { extractDir: FOLDER });
  python.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(FOLDER)})`);
  const answers = python.pyimport("browser_answers") as { answer: (question: string) => string };
  return (question) => answers.answer(question);
}

/**
 * Report what is fetched, and serve WebAssembly as such whatever type a static host gives it. Where the host knows its type,
 * the answer itself is passed on: the browser keeps what it has compiled of that.
 */
function countLoading(): void {
  const given = self.fetch.bind(self);
  let loaded = 0;
  const count = async ({ body }: Response) => {
    const reader = body?.getReader();
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      loaded += part.value.byteLength;
      self.postMessage({ kind: "progress", loaded, total: TOTAL });
    }
  };
  self.fetch = async (...request) => {
    const response = await given(...request);
    const name = new URL(response.url).pathname.split("/").pop() ?? "";
    if (!response.ok) {
      throw new Error(`${name} could not be loaded: ${response.status} ${response.statusText}`);
    }
    if (name in SIZES) {
      // What breaks off is reported by who reads the answer.
      count(response.clone()).catch(() => undefined);
    }
    const type = "application/wasm";
    const isServedAsSuch = !name.endsWith(".wasm") || response.headers.get("content-type") === type;
    return isServedAsSuch ? response : new Response(response.body, { headers: { "content-type": type } });
  };
}

/** Python's errors end with what is wrong; the lines before it are places in its code. */
function lastLine(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).trim().split("\n");
  return lines.at(-1) ?? "";
}
