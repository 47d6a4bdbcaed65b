// Runs vscode-extension/test/host inside VS Code's extension host; what they say there comes out here.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { editorHome, startEditor, temporaryFolder } from "./codeServer.mjs";
import { foundServer, workspace } from "./surroundings.mjs";

const PROJECT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../..");

test("the extension in VS Code's own host", { timeout: 120_000 }, async (context) => {
  const tests = path.join(temporaryFolder("host"), "tests.js");
  const bundle = [path.join(PROJECT, "vscode-extension/scripts/bundle.mjs"), "host", tests];
  assert.equal(spawnSync(process.execPath, bundle, { stdio: "inherit" }).status, 0);

  const editor = await startEditor({
    home: editorHome(),
    folder: workspace(),
    searchPath: foundServer().searchPath,
    developed: process.env.E2E_STAGE,
    tests,
  });
  context.after(() => editor.close());
  const { page } = editor;
  const ended = new Promise((resolve) => page.exposeFunction("codeAutomationExit", resolve));
  const said = [];
  await page.exposeFunction("codeAutomationLog", (type, words) => {
    const text = words.map(String).join(" ");
    if (text.includes("TEST ")) {
      said.push(text);
      context.diagnostic(text);
    }
  });
  await editor.open();
  assert.equal(await ended, 0, said.join("\n"));
  assert.match(said.at(-1), /TEST \d+ cases, 0 failed/);
});
