// The extension alone, without any pai-lsp on the machine: it makes a server of its own, and says what it misses.
// Then the same editor opens an untrusted folder, in which only that server may run.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { editorHome, installExtension, startEditor, temporaryFolder } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { workspace, writeProgram } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const PYTHON = process.env.E2E_PYTHON;
const home = editorHome();

before(() => installExtension(home, process.env.E2E_VSIX));

test("a private server", async (context) => {
  const programs = temporaryFolder("path");
  const pipSettings = path.join(programs, "pip.conf");
  process.env.PIP_CONFIG_FILE = pipSettings;
  const editor = await startEditor({
    home,
    folder: workspace(),
    file: "train.pai.yaml",
    searchPath: programs,
  });
  context.after(() => editor.close());
  const { page } = editor;
  const step = scenes(() => page, context);
  const toast = page.locator(".notification-toast", { hasText: "OpenPAI" });
  const retry = () => toast.getByRole("button", { name: "Retry" }).click();
  await editor.open();

  await step("without Python it says so", async () => {
    await toast
      .filter({
        hasText: "needs Python 3.10 or later, and no Python was found",
      })
      .waitFor();
    await workbench.statusShows(page, "OpenPAI: failed");
    await workbench.picture(page, "no-python");
  });

  await step("with a Python that is too old it says which", async () => {
    writeProgram(path.join(programs, "python3"), "echo 3.8.10; echo /usr/bin/python3.8");
    await retry();
    await toast.filter({ hasText: `'${path.join(programs, "python3")}' is 3.8.10` }).waitFor();
  });

  await step(
    "with Python it makes its server, once, from the packages that it carries",
    async () => {
      fs.rmSync(path.join(programs, "python3"));
      fs.symlinkSync(PYTHON, path.join(programs, "python3"));
      // Port 9 of this machine answers nobody: nothing is downloaded.
      fs.writeFileSync(pipSettings, "[global]\nproxy = http://127.0.0.1:9\nretries = 0\ntimeout = 1\n");
      await retry();
      await toast.filter({ hasText: "installing the server" }).waitFor();
      await workbench.picture(page, "setup");
      await workbench.statusShows(page, "OpenPAI: ready", 120_000);
      await page.locator(".squiggly-error").first().waitFor();
      await workbench.run(page, "OpenPAI: Restart Server");
      await workbench.statusShows(page, "OpenPAI: starting");
      await workbench.statusShows(page, "OpenPAI: ready", 10_000);
    },
    150_000,
  );
});

test("an untrusted folder", async (context) => {
  const asked = [];
  const marketplace = http.createServer((request, response) => {
    asked.push(request.url);
    response.end("[]");
  });
  await new Promise((resolve) => marketplace.listen(0, "127.0.0.1", resolve));
  context.after(() => marketplace.close());
  const address = `http://127.0.0.1:${marketplace.address().port}`;
  const traces = temporaryFolder("traces");
  const evil = path.join(traces, "evil");
  writeProgram(evil, `echo "$@" >>'${traces}/was-run'`);
  const source = { url: address, token_command: [evil, "token"] };
  const folder = workspace({
    ".vscode/settings.json": JSON.stringify({
      "openpai.server.command": evil,
      "openpai.server.python": evil,
      "openpai.marketplace.sources": [source],
      "python.defaultInterpreterPath": evil,
    }),
    ".pai-lsp.yaml": `marketplace:\n  sources:\n    - ${JSON.stringify(source)}\n  allowed_hosts: ["127.0.0.1"]\n`,
    ".venv/bin/pai-lsp": "",
  });
  for (const program of ["pai-lsp", "python"]) {
    writeProgram(path.join(folder, ".venv/bin", program), `echo ${program} "$@" >>'${traces}/was-run'`);
  }
  const text = fs.readFileSync(path.join(folder, "train.pai.yaml"), "utf8");
  const using = text.replace("[minst]", `[minst, "marketplace://script/tools", "${address}/one.yaml"]`);
  fs.writeFileSync(path.join(folder, "train.pai.yaml"), using);

  const editor = await startEditor({
    home,
    folder,
    file: "train.pai.yaml",
    searchPath: "/usr/bin:/bin",
    asksTrust: true,
  });
  context.after(() => editor.close());
  const { page } = editor;
  const step = scenes(() => page, context);
  await editor.open();

  await step("its job is checked by the extension's own server", async () => {
    await page.getByRole("button", { name: "No, I don't trust" }).click();
    await workbench.statusShows(page, "OpenPAI: ready");
    await workbench.showProblems(page);
    await workbench.problems(page).filter({ hasText: "no prerequisite is named 'minst'" }).waitFor();
    await workbench.picture(page, "restricted");
  });

  await step("its marketplace is not asked, even when the user wants it", async () => {
    await workbench.run(page, "OpenPAI: Refresh Marketplace");
    await page.locator(".notification-toast", { hasText: "the marketplace is untrusted" }).waitFor();
    await workbench.dismiss(page);
  });

  await step("nothing of the folder was run, and nothing was asked", async () => {
    const status = await workbench.status(page, "OpenPAI: ready").first().getAttribute("aria-label");
    assert.match(status, /the extension's own environment, restricted mode: no network, marketplace untrusted/);
    assert.deepEqual(fs.readdirSync(traces), ["evil"]);
    assert.deepEqual(asked, []);
  });

  await step("once it is trusted, its own settings hold", async () => {
    writeProgram(evil, `echo "$@" >>'${traces}/was-run'\nexec '${process.env.E2E_PAI_LSP}' "$@"`);
    await workbench.run(page, "Workspaces: Manage Workspace Trust");
    await page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).first().click();
    // The status belongs to the job, which the editor of trust covers.
    await workbench.close(page, "Workspace Trust");
    await workbench.statusShows(page, "from the setting 'openpai.server.command'");
    const run = fs.readFileSync(path.join(traces, "was-run"), "utf8").split("\n");
    assert.ok(run.includes("--version") && run.includes("server"), run.join("; "));
  });
});
