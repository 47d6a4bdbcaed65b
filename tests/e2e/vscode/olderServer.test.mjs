// The user has named a server that is older than the extension: what it can do works, and the rest says what is missing.
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const SERVER = path.join(path.dirname(fileURLToPath(import.meta.url)), "olderServer.mjs");

let editor, page;

before(async () => {
  const home = editorHome({
    "openpai.server.command": [process.execPath, SERVER],
  });
  installExtension(home, process.env.E2E_VSIX);
  editor = await startEditor({
    home,
    folder: workspace(),
    file: "train.pai.yaml",
    searchPath: "/usr/bin:/bin",
  });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

const scene = scenes(() => page);

scene("the server of the setting is started, arguments and all", async () => {
  await workbench.statusShows(page, "OpenPAI: ready");
  await page.locator(".squiggly-error").first().waitFor();
  // More than three messages in 800 ms are listed here, but do not come up.
  await workbench.run(page, "Notifications: Show Notifications");
});

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

for (const [command, ability] of LACKING) {
  scene(`'${command}' says what the server can not do`, async () => {
    await workbench.run(page, command);
    const text = `OpenPAI: this server (pai-lsp 0.1.0) cannot ${ability}; install a newer one.`;
    await page.locator(".notifications-center .notification-list-item", { hasText: text }).waitFor();
  });
}
