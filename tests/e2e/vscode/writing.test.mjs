// A person writes a job in VS Code: from the misspelt word to a job without mistakes, and what happens to the server.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { changeSettings, foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const OLDER_SERVER = path.join(path.dirname(fileURLToPath(import.meta.url)), "olderServer.mjs");
/** Commands, and what a server that is older than the extension can not do for them. */
const LACKING = [
  ["OpenPAI: Preview What Runs", "preview what runs"],
  ["OpenPAI: Show Prerequisite Graph", "draw the prerequisite graph"],
  ["OpenPAI: Expand for Submission", "expand a job"],
  ["OpenPAI: Convert Between PAI Job and MPIJob", "convert a file"],
  ["OpenPAI: Insert from Marketplace...", "list the marketplace"],
  ["OpenPAI: Refresh Marketplace", "refresh the marketplace"],
  ["OpenPAI: New Job from Template...", "offer templates"],
  ["OpenPAI: Explain Finding", "explain a finding"],
  ["OpenPAI: Check All Jobs in This Folder", "check folders"],
  ["OpenPAI: Choose Cluster...", "list clusters"],
  ["OpenPAI: Check Images", "check images"],
  ["OpenPAI: Explain Failure from Clipboard", "explain a failure"],
];

const TYPO = "no prerequisite is named 'minst'; did you mean 'mnist'?";

let editor, folder, page, server;

before(async () => {
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  server = foundServer();
  folder = workspace();
  editor = await startEditor({
    home,
    folder,
    file: "train.pai.yaml",
    searchPath: server.searchPath,
  });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

const misspelt = () => workbench.editor(page).locator(".view-line", { hasText: "[minst]" }).locator("> span");
const scene = scenes(() => page);

scene("the server on PATH is found and becomes ready", async () => {
  await workbench.statusShows(page, "OpenPAI: ready");
  assert.equal(server.started().length, 1);
  // The pictures are about the editor.
  await page.keyboard.press("Control+B");
});

scene("a misspelt name is underlined and stands in the Problems view", async () => {
  await page.locator(".squiggly-error").first().waitFor();
  await workbench.showProblems(page);
  await workbench.problems(page).filter({ hasText: TYPO }).waitFor();
  const entries = await workbench.problems(page).filter({ hasText: "minst" }).allInnerTexts();
  assert.deepEqual(
    entries.map((entry) => entry.split("\n")),
    [[TYPO, "pai-lsp", "unknown-prerequisite", "[Ln 26, Col 21]"]],
  );
  await workbench
    .problems(page)
    .filter({ hasText: TYPO })
    .dblclick({ position: { x: 200, y: 10 } });
  await workbench.editor(page).locator(".view-line", { hasText: "[minst]" }).waitFor();
  await workbench.picture(page, "problems");
});

scene("a quick fix repairs it", async () => {
  await workbench.cursorBehind(page, "[minst");
  await page.keyboard.press("Control+.");
  const fix = page.locator(".action-widget .monaco-list-row", { hasText: "mnist" }).first();
  await fix.waitFor();
  await workbench.picture(page, "quick-fix", page.locator(".action-widget"), misspelt());
  await page.keyboard.press("Enter");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  const text = await workbench.textOf(workbench.editor(page));
  assert.match(text, /prerequisites: \[mnist\]/);
  await workbench.problems(page).filter({ hasText: "minst" }).waitFor({ state: "detached" });
});

scene("completion offers the prerequisites and inserts one", async () => {
  await workbench.cursorBehind(page, "[mnist");
  for (const _ of "mnist") {
    await page.keyboard.press("Backspace");
  }
  await page.keyboard.press("Control+Space");
  const offered = page.locator(".suggest-widget.visible .monaco-list-row", {
    hasText: "mnist",
  });
  await offered.first().waitFor();
  await page.keyboard.press("Enter");
  await workbench.textBecomes(
    page,
    workbench.editor(page),
    (text) => text.includes("prerequisites: [mnist]"),
    "no name was inserted",
  );
});

scene("completion offers the keys that are still free, with their documentation", async () => {
  await workbench.cursorBehind(page, "gpu: 1}");
  await page.keyboard.press("Enter");
  await page.locator(".statusbar-item", { hasText: "Ln 28, Col 5" }).waitFor();
  const offered = page.locator(".suggest-widget.visible .monaco-list-row");
  await page.keyboard.press("Control+Space");
  await offered.filter({ hasText: "completion" }).first().waitFor();
  assert.equal(await offered.filter({ hasText: "instances" }).count(), 0, "it is written already");
  // Once more shows what is to be known of the entry.
  await page.keyboard.press("Control+Space");
  await page.locator(".suggest-details-container .suggest-details").waitFor();
  await workbench.picture(
    page,
    "completion",
    page.locator(".suggest-widget.visible"),
    page.locator(".suggest-details-container .suggest-details"),
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Z");
});

scene("a hover says what a name stands for", async () => {
  await workbench.cursorBehind(page, "[mnist");
  await workbench.run(page, "Show or Focus Hover");
  const hover = page.locator(".monaco-hover:not(.hidden)", {
    hasText: "mnist",
  });
  await hover.waitFor();
  assert.match(await hover.innerText(), /wget -q https:\/\/example\.com\/mnist\.zip/);
  await workbench.picture(page, "hover", hover);
  await page.keyboard.press("Escape");
});

scene("a code lens shows the places that it counts", async () => {
  await page.keyboard.press("Control+Home");
  const peek = page.locator(".peekview-widget", { hasText: "prerequisites: [mnist]" });
  await workbench.clickWhenStill(page, page.locator(".codelens-decoration a", { hasText: "1 reference" }).last(), peek);
  await workbench.picture(page, "references");
  await page.keyboard.press("Escape");
  await peek.waitFor({ state: "detached" });
});

scene("a rename changes every place", async () => {
  await workbench.cursorBehind(page, "[mnist");
  await page.keyboard.press("F2");
  const box = page.locator(".rename-box input");
  await box.waitFor();
  await box.fill("digits");
  await workbench.picture(page, "rename");
  await page.keyboard.press("Enter");
  await workbench.textBecomes(
    page,
    workbench.editor(page),
    (text) => text.includes("prerequisites: [digits]"),
    "the use has its old name",
  );
  await page.keyboard.press("Control+Home");
  const text = await workbench.textBecomes(
    page,
    workbench.editor(page),
    (top) => top.includes("name: digits"),
    "the definition has its old name",
  );
  assert.match(text, /mkdir -p \/dataset\/mnist/, "a path is no name");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
});

scene("a job in a plain YAML file is checked, and other YAML is left alone", async () => {
  await workbench.open(page, "plain.yaml");
  await page.locator(".notification-toast", { hasText: "'plain.yaml' is an OpenPAI job in a YAML file" }).waitFor();
  await workbench.dismiss(page);
  await workbench.problems(page).filter({ hasText: "'pyhton'" }).first().waitFor();
  await workbench.open(page, "compose.yaml");
  // The file is seen by the server before the one that is opened after it.
  await workbench.open(page, "plain.yaml");
  await workbench.problems(page).filter({ hasText: "'pyhton'" }).first().waitFor();
  assert.equal(await workbench.problems(page).filter({ hasText: "compose.yaml" }).count(), 0);
});

scene("a finding is explained", async () => {
  await workbench.cursorBehind(page, "pyhton");
  await workbench.run(page, "OpenPAI: Explain Finding");
  const preview = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  await preview.getByRole("heading", { name: "unknown-docker-image" }).first().waitFor();
  await workbench.picture(page, "explain");
  await workbench.close(page, "Preview unknown-docker-image.md");
});

scene("a server that is killed comes back", async () => {
  await workbench.open(page, "plain.yaml");
  await page.locator(".squiggly-error").first().waitFor();
  process.kill(server.started().at(-1), "SIGKILL");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  await workbench.statusShows(page, "OpenPAI: ready");
  await page.locator(".squiggly-error").first().waitFor();
  assert.equal(server.started().length, 2);
});

scene("a server that crashes again and again is left alone until it is restarted by hand", async () => {
  for (let starts = 2; starts <= 6; starts++) {
    await workbench.statusShows(page, "OpenPAI: ready");
    assert.equal(server.started().length, starts);
    process.kill(server.started().at(-1), "SIGKILL");
    await workbench.status(page, "OpenPAI: ready").first().waitFor({ state: "detached" });
  }
  await workbench.statusShows(page, "OpenPAI: failed");
  await page
    .locator(".notification-toast", {
      hasText: "the server crashed repeatedly",
    })
    .waitFor();
  await workbench.picture(page, "failed");
  assert.equal(server.started().length, 6);
  await page.locator(".notification-toast").getByRole("button", { name: "Retry" }).click();
  await workbench.statusShows(page, "OpenPAI: ready");
  assert.equal(server.started().length, 7);
});

scene("the language status offers the log and a restart", async () => {
  const options = page.locator(".hover-language-status a", { hasText: "Options..." });
  await workbench.clickWhenStill(page, workbench.status(page, "OpenPAI: ready").first(), options);
  await options.click();
  const offers = page.locator(".quick-input-list .monaco-list-row");
  await offers.filter({ hasText: "Show Output" }).waitFor();
  await workbench.picture(page, "status");
  await page.locator(".quick-input-widget input").fill("Restart");
  await page.keyboard.press("Enter");
  await workbench.statusShows(page, "OpenPAI: starting");
  await workbench.statusShows(page, "OpenPAI: ready");
  assert.equal(server.started().length, 8);
});

scene("a server that hangs is replaced, and does not stay behind", async () => {
  const hanging = server.started().at(-1);
  process.kill(hanging, "SIGSTOP");
  await workbench.run(page, "OpenPAI: Restart Server");
  await workbench.statusShows(page, "OpenPAI: starting");
  await workbench.statusShows(page, "OpenPAI: ready");
  assert.throws(() => process.kill(hanging, 0), /ESRCH/);
});

scene(
  "a server that the user has named is started, arguments and all, though it is older than the extension",
  async () => {
    changeSettings(folder, { "openpai.server.command": [process.execPath, OLDER_SERVER] });
    await workbench.statusShows(page, "from the setting 'openpai.server.command'");
    await workbench.problems(page).filter({ hasText: "this server is old" }).first().waitFor();
    await workbench.dismiss(page);
    // More than three messages in 800 ms are listed here, but do not come up.
    await workbench.run(page, "Notifications: Show Notifications");
  },
);

for (const [command, ability] of LACKING) {
  scene(`'${command}' says what an older server can not do`, async () => {
    await workbench.run(page, command);
    const text = `OpenPAI: this server (pai-lsp 0.1.0) cannot ${ability}; install a newer one.`;
    await page.locator(".notifications-center .notification-list-item", { hasText: text }).waitFor();
  });
}
