// Commands about folders, clusters, images and failures: what they show with nothing to work on, and with something.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const HOROVOD = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../examples/mpijob/horovod.pai.yaml");
const PROFILE = {
  profileVersion: 1,
  name: "lab",
  platform: "openpai",
  scheduler: "hived",
  hived: {
    skuTypes: { V100: { gpu: 1, cpu: 4, memory: "8192Mi" } },
    cellTypes: { "V100-NODE": { childCellType: "V100", childCellNumber: 4, isNodeLevel: true } },
    physicalCells: [{ cellType: "V100-NODE" }],
    virtualClusters: { default: { virtualCells: [{ cellType: "V100-NODE", cellNumber: 1 }] } },
  },
  user: { name: "ann", virtualClusters: ["default"], storages: [] },
  storages: {},
};

const LARGE = `protocolVersion: 2
name: large
type: job
prerequisites:
  - {type: dockerimage, name: pytorch, uri: "openpai/standard:python_3.6-pytorch_1.2.0-gpu"}
taskRoles:
  worker:
    instances: 6
    dockerImage: pytorch
    resourcePerInstance: {gpu: 1, cpu: 4, memoryMB: 8192}
    commands:
      - torchrun --nnodes 6 --node_rank $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX --master_addr $PAI_HOST_IP_worker_0 train.py
`;

let editor, page, registry, folder;
let hasImage = false;

function job(address) {
  return [
    "protocolVersion: 2",
    "name: images",
    "type: job",
    "prerequisites:",
    "  - name: image",
    "    type: dockerimage",
    `    uri: "${address.replace("http://", "")}/team/image:v1"`,
    `    auth: {username: ann, password: <% $secrets.word %>, registryuri: "${address}"}`,
    "secrets: {word: gum}",
    "taskRoles:",
    "  worker:",
    "    instances: 1",
    "    dockerImage: image",
    "    resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 512}",
    "    commands: [echo hi]",
    "  watcher:",
    "    instances: 1",
    "    dockerImage: image",
    "    resourcePerInstance: {gpu: 1, cpu: 1, memoryMB: 512}",
    "    commands: [echo hi]",
    "",
  ].join("\n");
}

before(async () => {
  registry = http.createServer((request, response) => {
    response.statusCode = hasImage || !request.url.includes("/manifests/") ? 200 : 404;
    response.setHeader("content-type", "application/json");
    response.end("{}");
  });
  await new Promise((resolve) => registry.listen(0, "127.0.0.1", resolve));
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  folder = workspace({
    "images.pai.yaml": job(`http://127.0.0.1:${registry.address().port}`),
    "horovod.pai.yaml": fs.readFileSync(HOROVOD, "utf8"),
    "large.pai.yaml": LARGE,
    "other/compose.yaml": "services: {}\n",
    "jobs/typo.pai.yaml": "protocolVersion: 2\nname: a\ntype: job\ntaskRole: {}\n",
  });
  editor = await startEditor({ home, folder, searchPath: foundServer().searchPath });
  ({ page } = editor);
  await editor.open();
});

after(async () => {
  await editor?.close();
  registry?.close();
});

const scene = scenes(() => page);
const toast = (text) => page.locator(".notification-toast", { hasText: text });
const dialog = () => page.locator(".monaco-dialog-box");
const choices = () => page.locator(".quick-input-list .monaco-list-row");
const box = () => page.locator(".quick-input-widget input");

/** The settings of the folder once they have a value. */
async function setting(name) {
  const file = path.join(folder, ".vscode/settings.json");
  for (let looked = 0; looked < 100; looked++) {
    const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
    if (text.includes(name)) {
      return JSON.parse(text)[name];
    }
    await page.waitForTimeout(100);
  }
  throw new Error(`'${name}' is not in the settings of the folder`);
}

scene("the jobs of a folder are checked without being open", async () => {
  await workbench.open(page, "images.pai.yaml");
  await workbench.statusShows(page, "OpenPAI: ready");
  await workbench.run(page, "OpenPAI: Check All Jobs in This Folder");
  await toast("Checked 6 files: 3 errors").waitFor();
  await workbench.showProblems(page);
  for (const name of ["plain.yaml", "train.pai.yaml", "typo.pai.yaml"]) {
    await workbench.problems(page).filter({ hasText: name }).first().waitFor();
  }
  await workbench.picture(page, "folder");
  await workbench.clickAway(toast("Checked 6 files").getByRole("button", { name: "Clear Problems" }));
  await workbench.problems(page).filter({ hasText: "typo.pai.yaml" }).waitFor({ state: "detached" });
});

scene("a folder without jobs", async () => {
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "other" }).click({ button: "right" });
  await workbench.clickAway(page.locator(".context-view .action-label", { hasText: "Check All Jobs in This Folder" }));
  await toast("There are no jobs in this folder").waitFor();
  await workbench.dismiss(page);
});

scene("the job language is offered once for a job in a YAML file, and chosen for good", async () => {
  await workbench.open(page, "plain.yaml");
  await workbench.clickAway(
    toast("is an OpenPAI job in a YAML file").getByRole("button", { name: "Use Job Language..." }),
  );
  await choices().filter({ hasText: "Until the File is Closed" }).waitFor();
  await box().fill("Always for");
  await workbench.chosen(page, "Always for 'plain.yaml'").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".statusbar-item", { hasText: "OpenPAI Job" }).waitFor();
  assert.deepEqual(await setting("files.associations"), { "**/plain.yaml": "openpai-job" });
});

scene("a cluster is chosen from the user's profiles", async () => {
  await workbench.run(page, "OpenPAI: Choose Cluster...");
  await choices().filter({ hasText: "You have no profile of a cluster" }).waitFor();
  await workbench.clickAway(choices().filter({ hasText: "Pull from Cluster..." }));
  await page.locator(".quick-input-widget", { hasText: "The cluster's name in your file clusters.yaml" }).waitFor();
  await page.keyboard.press("Escape");
  const profiles = path.join(editor.home.home, "config/pai-lsp/clusters");
  fs.mkdirSync(profiles, { recursive: true });
  fs.writeFileSync(path.join(profiles, "lab.json"), JSON.stringify(PROFILE));
  await workbench.run(page, "OpenPAI: Choose Cluster...");
  await workbench.chosen(page, "lab").waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await setting("openpai.cluster"), "lab");
  await workbench.open(page, "images.pai.yaml");
  await page.locator(".codelens-decoration", { hasText: "2 of 4 SKUs in default" }).first().waitFor();
  await workbench.open(page, "large.pai.yaml");
  const lens = page.locator(".codelens-decoration", { hasText: "6 of 4 SKUs in default" });
  await lens.first().waitFor();
  await workbench.problems(page).filter({ hasText: "large.pai.yaml" }).first().waitFor();
  await workbench.picture(page, "cluster");
  await workbench.open(page, "images.pai.yaml");
});

scene("images are asked for at their registry", async () => {
  await workbench.run(page, "OpenPAI: Check Images");
  await dialog().filter({ hasText: "Not all images were found" }).waitFor();
  assert.match(await dialog().innerText(), /worker: .*team\/image:v1/);
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await page.locator(".squiggly-error").first().waitFor();
  hasImage = true;
  await workbench.run(page, "OpenPAI: Check Images");
  await toast("The image exists").waitFor();
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  await workbench.dismiss(page);
});

scene("a failure is explained from the clipboard", async () => {
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await workbench.run(page, "OpenPAI: Explain Failure from Clipboard");
  await toast("Copy an exit code, the end of a log or a message of the portal first").waitFor();
  await workbench.dismiss(page);
  await page.evaluate(() => navigator.clipboard.writeText("137"));
  await workbench.run(page, "OpenPAI: Explain Failure from Clipboard");
  await dialog().filter({ hasText: "ContainerSigKillReceived" }).waitFor();
  assert.match(await dialog().innerText(), /memoryMB/);
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  const log = [
    "epoch 1 of 10, loss 2.31",
    "Traceback (most recent call last):",
    '  File "train.py", line 8, in <module>',
    "    import torchvision",
    "ModuleNotFoundError: No module named 'torchvision'",
  ];
  await page.evaluate((text) => navigator.clipboard.writeText(text), log.join("\n"));
  await workbench.run(page, "OpenPAI: Explain Failure from Clipboard");
  await dialog().filter({ hasText: "line 5" }).waitFor();
  await workbench.picture(page, "why", dialog());
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

scene("a job becomes an MPIJob in a new file beside it", async () => {
  await workbench.run(page, "OpenPAI: Convert Between PAI Job and MPIJob");
  await toast("This file cannot be converted: no task role runs mpirun").waitFor();
  await workbench.dismiss(page);
  await workbench.open(page, "horovod.pai.yaml");
  await workbench.run(page, "OpenPAI: Convert Between PAI Job and MPIJob");
  await page.locator(".tab.active", { hasText: "Untitled-1" }).waitFor();
  const shown = page.locator(".editor-group-container.active .monaco-editor").first();
  await workbench.textBecomes(page, shown, (text) => text.includes("kind: MPIJob"), "no MPIJob");
});

scene("a task is run, and a job submitted, after a choice", async () => {
  await workbench.open(page, "images.pai.yaml");
  await workbench.run(page, "OpenPAI: Run a Task on This Machine...");
  await choices().filter({ hasText: "watcher" }).waitFor();
  assert.equal(await choices().count(), 2);
  await page.keyboard.press("Escape");
  await workbench.run(page, "OpenPAI: Submit to Cluster...");
  await page.locator(".quick-input-widget", { hasText: "The cluster's name in your file clusters.yaml" }).waitFor();
  assert.equal(await box().inputValue(), "lab");
  await box().fill("no name");
  await page.locator(".quick-input-widget", { hasText: "Use letters, digits" }).waitFor();
  await page.keyboard.press("Escape");
});
