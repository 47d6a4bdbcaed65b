// What comes back when the window is loaded again: the graph and the preview beside their job.
import { after, before } from "node:test";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const JOB = "train.pai.yaml";

let editor, page;

before(async () => {
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  editor = await startEditor({ home, folder: workspace(), searchPath: foundServer().searchPath });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

const scene = scenes(() => page);
const node = () =>
  page
    .frameLocator("iframe.webview.ready")
    .frameLocator("#active-frame")
    .locator("svg text", { hasText: "worker" })
    .first();

scene("the graph and the preview are shown again after the window was loaded again", async () => {
  await workbench.open(page, JOB);
  await workbench.statusShows(page, "OpenPAI: ready");
  await workbench.run(page, "OpenPAI: Show Prerequisite Graph");
  await node().waitFor();
  await workbench.clickLine(page.locator(".view-line", { hasText: "protocolVersion" }));
  await workbench.run(page, "OpenPAI: Preview What Runs");
  const preview = page.locator(".tab", { hasText: `What runs (${JOB})` });
  await preview.waitFor();
  const loaded = page.waitForEvent("load");
  await workbench.run(page, "Developer: Reload Window");
  await loaded;
  await page.locator(".monaco-workbench").waitFor();
  await page.locator(".tab", { hasText: `Prerequisites (${JOB})` }).waitFor();
  await preview.waitFor();
  await page.locator(".view-line", { hasText: "python train.py" }).first().waitFor();
  await workbench.close(page, `What runs (${JOB})`);
  await page.locator(".tab", { hasText: `Prerequisites (${JOB})` }).click();
  await node().waitFor();
});
