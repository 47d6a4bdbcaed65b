// A person types a whole job by hand, key by key, and ends each line with Enter: the file holds what was typed.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const NAME = "typed.pai.yaml";
const JOB = `\
protocolVersion: 2
name: digits
type: job
jobRetryCount: 1
prerequisites:
  - type: dockerimage
    name: pytorch
    uri: "openpai/standard:python_3.6-pytorch_1.2.0-gpu"
  - type: script
    name: install
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands:
          - pip install -r requirements.txt
parameters:
  epochs: 10
secrets:
  token: abc
taskRoles:
  worker:
    instances: 2
    completion:
      minFailedInstances: 1
      minSucceededInstances: -1
    dockerImage: pytorch
    prerequisites:
      - install
    resourcePerInstance:
      cpu: 4
      memoryMB: 8192
      gpu: 1
    extraContainerOptions: {shmMB: 512, infiniband: false}
    commands:
      - python train.py
      - echo <% $parameters.epochs %>
      - export TOKEN=<% $secrets.token %>
      - echo $PAI_JOB_NAME "$PAI_HOST_IP_worker_0"
      - python train.py
defaults:
  virtualCluster: default
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: ssh
      parameters:
        jobssh: true
        sshbarrier: true
`;

let editor, file, page;

before(async () => {
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  const folder = workspace({ [NAME]: "" });
  file = path.join(folder, NAME);
  editor = await startEditor({ home, folder, file: NAME, searchPath: foundServer().searchPath });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

const scene = scenes(() => page);

scene("the server is ready", async () => {
  await workbench.statusShows(page, "OpenPAI: ready");
  await workbench.editor(page).locator(".view-lines").click();
});

scene(
  "Enter ends every line",
  async () => {
    let column = await workbench.columnIn(page, 1);
    for (const [number, line] of JOB.trimEnd().split("\n").entries()) {
      const typed = line.trimStart();
      await workbench.indent(page, column - 1, line.length - typed.length);
      await workbench.type(page, typed, 50);
      assert.equal(await workbench.columnIn(page, number + 1, line.length + 1), line.length + 1);
      await page.keyboard.press("Enter");
      column = await workbench.columnIn(page, number + 2);
    }
    await page.keyboard.press("Control+S");
    await page.locator(".tab.active:not(.dirty)").waitFor();
    assert.equal(fs.readFileSync(file, "utf8").trimEnd(), JOB.trimEnd());
  },
  300_000,
);

scene("nothing is wrong with the job", async () => {
  await workbench.showProblems(page);
  await page.locator(".markers-panel", { hasText: "No problems" }).waitFor();
});
