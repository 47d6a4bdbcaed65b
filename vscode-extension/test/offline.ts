/** Makes a private environment from what a folder carries, without downloads: offline.js BUNDLE STORAGE PYTHON. */

import { strict as assert } from "node:assert";
import { bundleIn, makePrivateServer, privateServer, pythonFor } from "../src/server/privateEnvironment";
import { runProgram } from "../src/server/runProgram";

async function main([folder = "", storage = "", python = ""]: readonly string[]): Promise<void> {
  const bundle = await bundleIn(folder);
  assert.ok(bundle?.wheelhouse);
  assert.equal(await privateServer(bundle, storage), undefined);
  const made = await makePrivateServer({
    bundle,
    storage,
    python: await pythonFor(bundle, [{ path: python, origin: "the test" }], false),
    mayDownload: false,
    signal: new AbortController().signal,
    onStep: () => undefined,
    onText: (text) => process.stderr.write(text),
  });
  assert.deepEqual(await privateServer(bundle, storage), made);
  const { output } = await runProgram(made.program, [...made.words, "--version"], { milliseconds: 30_000 });
  process.stdout.write(output);
}

void main(process.argv.slice(2));
