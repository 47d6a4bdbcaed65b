// What a job will run, seen before it runs: preview, graph and expansion; and a new job from a template. At last the window
// is loaded again.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const EXAMPLES = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../examples");
const JOB = "marketplace-job.pai.yaml";

let editor, page;

before(async () => {
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  const folder = workspace();
  fs.cpSync(path.join(EXAMPLES, "marketplace"), path.join(folder, "marketplace"), { recursive: true });
  fs.copyFileSync(path.join(EXAMPLES, JOB), path.join(folder, JOB));
  fs.copyFileSync(path.join(EXAMPLES, "mpijob/train.yaml"), path.join(folder, "mpijob.yaml"));
  editor = await startEditor({ home, folder, searchPath: foundServer().searchPath });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

const scene = scenes(() => page);
const drawnGraph = () => page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
const group = (number) => page.locator(`.editor-group-container >> nth=${number}`);

scene("a code lens opens the preview of its task role beside the job", async () => {
  await workbench.open(page, JOB);
  await workbench.statusShows(page, "OpenPAI: ready");
  await page.keyboard.press("Control+B");
  const lens = group(0).locator(".codelens-decoration a", { hasText: "preview" }).first();
  await workbench.clickWhenStill(page, lens, page.locator(".tab", { hasText: `What worker runs (${JOB})` }));
  const shown = group(1).locator(".monaco-editor");
  const runs = await workbench.textBecomes(page, shown, (text) => text.includes("python train.py"), "no commands");
  assert.ok(runs.indexOf("apt-get install -y wget") < runs.indexOf("tar -xzf /dataset/mnist/mnist.tar.gz"), runs);
  assert.ok(runs.indexOf("tar -xzf") < runs.indexOf("python train.py --data /dataset/mnist"), runs);
  await workbench.picture(page, "preview");
  const [first, last] = ["before the commands", "sleep 30m"].map((text) =>
    shown.locator(".view-line", { hasText: text }),
  );
  await workbench.picture(page, "what-runs", first, last.locator("> span"));
});

scene("a line of the preview leads to its command", async () => {
  const line = group(1).locator(".view-line", { hasText: "python train.py" });
  await workbench.clickLine(line);
  await page.keyboard.press("F12");
  await group(1)
    .locator(".tab.active", { hasText: /^marketplace-job/ })
    .waitFor();
  const shown = group(1).locator(".monaco-editor");
  await workbench.textBecomes(page, shown, (text) => text.includes("- python train.py"), "not the command");
  await group(1).locator(".tab.active").hover();
  await group(1).locator(".tab.active .codicon-close").click();
  await line.waitFor();
});

scene("the preview follows an edit, and cannot be edited itself", async () => {
  await group(0).locator(".view-lines").click();
  await workbench.cursorBehind(page, "python train.py");
  await workbench.type(page, " --epochs 3");
  const shown = group(1).locator(".monaco-editor");
  await workbench.textBecomes(page, shown, (text) => text.includes("python train.py --epochs 3"), "an old text");
  await workbench.clickLine(shown.locator(".view-line", { hasText: "python train.py" }));
  await workbench.type(page, "x");
  await page.locator(".monaco-editor-overlaymessage", { hasText: "Cannot edit in read-only editor" }).waitFor();
  await workbench.close(page, "What worker runs");
});

scene("the command shows what the whole job runs", async () => {
  await workbench.run(page, "OpenPAI: Preview What Runs");
  await page.locator(".tab", { hasText: `What runs (${JOB})` }).waitFor();
  await workbench.textBecomes(page, group(1).locator(".monaco-editor"), (text) => text.includes("python train.py"), "");
  await workbench.close(page, "What runs");
});

scene("the graph is drawn, without a script or a request", async () => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await workbench.run(page, "OpenPAI: Show Prerequisite Graph");
  await page.locator(".tab", { hasText: `Prerequisites (${JOB})` }).waitFor();
  const drawn = drawnGraph();
  await drawn.locator("svg text", { hasText: "install_wget" }).first().waitFor();
  for (const name of ["worker", "mnist", "debug_hook"]) {
    assert.ok((await drawn.locator("svg text", { hasText: name }).count()) > 0, name);
  }
  assert.equal(await drawn.locator("script").count(), 0);
  // The panel may have the whole window.
  await page.locator(".tab", { hasText: `Prerequisites (${JOB})` }).click();
  await workbench.run(page, "View: Toggle Maximize Editor Group");
  await group(0).locator(".view-lines").waitFor({ state: "hidden" });
  await workbench.picture(page, "graph", drawn.locator("svg"));
  await workbench.run(page, "View: Toggle Maximize Editor Group");
  const elsewhere = asked.filter((address) => !["127.0.0.1", "localhost"].includes(new URL(address).hostname));
  assert.deepEqual(
    elsewhere.filter((address) => /^https?:/.test(address) && !address.includes(".vscode-cdn.net/")),
    [],
  );
});

scene("a node of the graph leads to its definition", async () => {
  await drawnGraph().locator("a", { hasText: "worker" }).first().click();
  await page.locator(".tab.active", { hasText: JOB }).first().waitFor();
  await page.locator(".statusbar-item", { hasText: "(6 selected)" }).waitFor();
  await workbench.close(page, "Prerequisites");
});

scene("the expanded job is a new file that has nothing left to expand", async () => {
  await workbench.run(page, "OpenPAI: Expand for Submission");
  await page.locator(".tab.active", { hasText: "Untitled-1" }).waitFor();
  const text = await workbench.textBecomes(
    page,
    group(1).locator(".monaco-editor"),
    (one) => one.includes("protocolVersion"),
    "no job",
  );
  const lines = text.split("\n").filter((line) => !/^\s*#/.test(line));
  assert.doesNotMatch(lines.join("\n"), /marketplace:\/\/|reference_prerequisites|template_variables/);
  assert.match(text, /pai_lsp_run\(\)/);
  await workbench.picture(page, "expanded");
});

scene("an MPIJob becomes a job in a new file beside it", async () => {
  await workbench.open(page, "mpijob.yaml");
  await workbench.run(page, "OpenPAI: Convert Between PAI Job and MPIJob");
  await page.locator(".tab.active", { hasText: "Untitled-2" }).waitFor();
  const shown = page.locator(".editor-group-container.active .monaco-editor");
  const text = await workbench.textBecomes(page, shown, (one) => one.includes("protocolVersion"), "no job");
  assert.match(text, /taskRoles/);
});

scene("a job with a mistake is not expanded, and it is said why", async () => {
  await workbench.run(page, "View: Close All Editor Groups");
  const keepNot = page.getByRole("button", { name: "Don't Save" });
  await keepNot.click();
  await workbench.open(page, "train.pai.yaml");
  await page.locator(".squiggly-error").first().waitFor();
  await workbench.run(page, "OpenPAI: Expand for Submission");
  await page
    .locator(".notification-toast", { hasText: "the job cannot be expanded: no prerequisite is named 'minst'" })
    .waitFor();
  await workbench.dismiss(page);
});

scene("the walkthrough leads through four steps, each with its picture", async () => {
  await workbench.run(page, "Welcome: Open Walkthrough...");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Write an OpenPAI job" }).waitFor();
  await page.keyboard.type("OpenPAI");
  await workbench.chosen(page, "Write an OpenPAI job").waitFor();
  await page.keyboard.press("Enter");
  const steps = page.locator(".getting-started-step");
  await steps.nth(3).waitFor();
  assert.equal(await steps.count(), 4);
  for (let number = 0; number < 4; number++) {
    await steps.nth(number).click();
    await page.waitForFunction(() => {
      const picture = document.querySelector(".getting-started-media img");
      return picture?.complete && picture.naturalWidth > 400;
    });
  }
  await workbench.picture(page, "walkthrough");
  await workbench.close(page, "Walkthrough: OpenPAI Jobs");
});

scene("a new job begins with a template", async () => {
  await workbench.run(page, "OpenPAI: New Job from Template...");
  const offered = page.locator(".quick-input-list .monaco-list-row");
  await offered.first().waitFor();
  assert.ok((await offered.count()) > 1);
  await workbench.picture(page, "new-job", page.locator(".quick-input-widget"));
  await page.keyboard.press("Enter");
  await page.locator(".tab.active", { hasText: "Untitled-" }).waitFor();
  await workbench.textBecomes(page, workbench.editor(page), (text) => /protocolVersion: 2/.test(text), "no job");
});

scene("the graph takes the colors of another theme at once", async () => {
  await workbench.open(page, JOB);
  await workbench.run(page, "OpenPAI: Show Prerequisite Graph");
  const drawn = drawnGraph();
  const role = drawn.locator(".role path");
  const color = () => role.evaluate((shape) => getComputedStyle(shape).stroke);
  await role.waitFor();
  const light = await color();
  await workbench.colors(page, "dark");
  await drawn.locator("body.vscode-dark").waitFor();
  assert.notEqual(await color(), light);
});

scene("the graph and the preview are shown again after the window was loaded again", async () => {
  const graph = page.locator(".tab", { hasText: `Prerequisites (${JOB})` });
  const preview = page.locator(".tab", { hasText: `What runs (${JOB})` });
  const role = drawnGraph().locator("svg text", { hasText: "worker" }).first();
  await workbench.clickLine(page.locator(".view-line", { hasText: "protocolVersion" }));
  await workbench.run(page, "OpenPAI: Preview What Runs");
  await preview.waitFor();
  const loaded = page.waitForEvent("load");
  await workbench.run(page, "Developer: Reload Window");
  await loaded;
  await page.locator(".monaco-workbench").waitFor();
  await graph.waitFor();
  await preview.waitFor();
  await page.locator(".view-line", { hasText: "python train.py" }).first().waitFor();
  await workbench.close(page, `What runs (${JOB})`);
  await graph.click();
  await role.waitFor();
});
