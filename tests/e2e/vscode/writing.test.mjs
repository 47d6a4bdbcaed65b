// A person writes a job in VS Code: from the misspelt word to a job without mistakes, and what happens to the server.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { editorHome, installExtension, startEditor, temporaryFolder } from "./codeServer.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const TYPO = "no prerequisite is named 'minst'; did you mean 'mnist'?";

let editor, page, server, folder;

before(async () => {
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  server = foundServer();
  folder = workspace();
  editor = await startEditor({ home, folder, file: "train.pai.yaml", searchPath: server.searchPath });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

/** Every test leaves a picture of its end when it fails. */
function seen(name, body) {
  test(name, { timeout: 60_000 }, async () => {
    try {
      await body();
    } catch (error) {
      await workbench.picture(page, `failed-${name.replace(/\W+/g, "-")}`);
      throw error;
    }
  });
}

seen("the server on PATH is found and becomes ready", async () => {
  await workbench.statusSays(page, "OpenPAI: ready");
  assert.equal(server.started().length, 1);
});

seen("a misspelt name is underlined and stands in the Problems view", async () => {
  await page.locator(".squiggly-error").first().waitFor();
  await workbench.showProblems(page);
  await workbench.problems(page).filter({ hasText: TYPO }).waitFor();
  const entries = await workbench.problems(page).filter({ hasText: "minst" }).allInnerTexts();
  assert.deepEqual(
    entries.map((entry) => entry.split("\n")),
    [[TYPO, "pai-lsp", "unknown-prerequisite", "[Ln 26, Col 21]"]],
  );
  await workbench.picture(page, "problems");
});

seen("a quick fix repairs it", async () => {
  await workbench.cursorBehind(page, "[minst");
  await page.keyboard.press("Control+.");
  const fix = page.locator(".action-widget .monaco-list-row", { hasText: "mnist" }).first();
  await fix.waitFor();
  await workbench.picture(page, "quick-fix");
  await page.keyboard.press("Enter");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  const text = await workbench.textOf(workbench.editor(page));
  assert.match(text, /prerequisites: \[mnist\]/);
  await workbench.problems(page).filter({ hasText: "minst" }).waitFor({ state: "detached" });
});

seen("a job in a plain YAML file is checked, and other YAML is left alone", async () => {
  await workbench.open(page, "plain.yaml");
  await workbench.problems(page).filter({ hasText: "'pyhton'" }).first().waitFor();
  await workbench.open(page, "compose.yaml");
  // The file is seen by the server before the one that is opened after it.
  await workbench.open(page, "plain.yaml");
  await workbench.problems(page).filter({ hasText: "'pyhton'" }).first().waitFor();
  assert.equal(await workbench.problems(page).filter({ hasText: "compose.yaml" }).count(), 0);
});

seen("a finding is explained", async () => {
  await workbench.cursorBehind(page, "pyhton");
  await workbench.run(page, "OpenPAI: Explain Finding");
  const preview = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  await preview.getByRole("heading", { name: "unknown-docker-image" }).first().waitFor();
  await workbench.picture(page, "explain");
  await workbench.close(page, "Preview unknown-docker-image.md");
});

seen("a server that is killed comes back", async () => {
  await workbench.open(page, "plain.yaml");
  await page.locator(".squiggly-error").first().waitFor();
  process.kill(server.started().at(-1), "SIGKILL");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  await workbench.statusSays(page, "OpenPAI: ready");
  await page.locator(".squiggly-error").first().waitFor();
  assert.equal(server.started().length, 2);
});

seen("a server that crashes again and again is left alone until it is restarted by hand", async () => {
  for (let starts = 2; starts <= 6; starts++) {
    await workbench.statusSays(page, "OpenPAI: ready");
    assert.equal(server.started().length, starts);
    process.kill(server.started().at(-1), "SIGKILL");
    await page.locator(".statusbar-item", { hasText: "OpenPAI: ready" }).waitFor({ state: "detached" });
  }
  await workbench.statusSays(page, "OpenPAI: failed");
  await page.locator(".notification-toast", { hasText: "the server has ended again and again" }).waitFor();
  await workbench.picture(page, "failed");
  assert.equal(server.started().length, 6);
  await page.locator(".notification-toast").getByRole("button", { name: "Retry" }).click();
  await workbench.statusSays(page, "OpenPAI: ready");
  assert.equal(server.started().length, 7);
});

seen("the status bar offers the log and a restart", async () => {
  await page.locator(".statusbar-item", { hasText: "OpenPAI: ready" }).click();
  const offers = page.locator(".quick-input-list .monaco-list-row");
  await offers.filter({ hasText: "Show Output" }).waitFor();
  await workbench.picture(page, "status");
  await page.locator(".quick-input-widget input").fill("Restart");
  await page.keyboard.press("Enter");
  await page.locator(".statusbar-item", { hasText: "OpenPAI: starting" }).waitFor();
  await workbench.statusSays(page, "OpenPAI: ready");
  assert.equal(server.started().length, 8);
});
