// A person types a whole job by hand, key by key, and ends each line with Enter: the file holds what was typed, also when
// the server's answers come late.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe } from "node:test";
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
      - torchrun --nnodes $PAI_TASK_ROLE_TASK_COUNT_worker --node_rank=$PAI_TASK_INDEX
      - torchrun --node_rank $PAI_TASK_INDEX train.py
      - >-
        torchrun
        --node_rank=$PAI_TASK_INDEX
        --master_addr=$PAI_HOST_IP_worker_0
        train.py
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

/** What is typed while answers are late; it has places in which most is offered. */
const SHORT = `\
protocolVersion: 2
name: late
type: job
taskRoles:
  worker:
    dockerImage: pytorch
    commands:
      - torchrun --node_rank=$PAI_TASK_INDEX
      - echo $PAI_USER
      - echo <% $parameters.rate %>
`;

for (const [late, job] of [
  [0, JOB],
  [0.7, SHORT],
]) {
  describe(`answers come after ${late} s`, () => {
    let editor, file, page;

    before(async () => {
      const home = editorHome();
      installExtension(home, process.env.E2E_VSIX);
      const folder = workspace({ [NAME]: "" });
      file = path.join(folder, NAME);
      editor = await startEditor({ home, folder, file: NAME, searchPath: foundServer({ late }).searchPath });
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
        let corrected = 0;
        for (const [number, line] of job.trimEnd().split("\n").entries()) {
          await workbench.type(page, line.trimStart(), 50);
          corrected += await workbench.indented(page, number + 1, line);
          await page.keyboard.press("Enter");
          await workbench.columnIn(page, number + 2);
        }
        assert.ok(corrected <= 3, `${corrected} keys to correct the indentation`);
        await page.keyboard.press("Control+S");
        await page.locator(".tab.active:not(.dirty)").waitFor();
        assert.equal(fs.readFileSync(file, "utf8").trimEnd(), job.trimEnd());
      },
      300_000,
    );

    scene("Tab takes a suggestion, and the arrow keys and Enter", async () => {
      for (const _ of "four") {
        await page.keyboard.press("Shift+Tab");
      }
      const widget = page.locator(".suggest-widget.visible");
      const chosen = widget.locator(".monaco-list-row.focused");
      for (const [keys, taken] of [
        [["Tab"], "contributor:"],
        [["ArrowDown", "Enter"], "description:"],
      ]) {
        await workbench.type(page, taken.slice(0, 4), 50);
        await widget.locator(".monaco-list-row", { hasText: taken.slice(0, -1) }).waitFor();
        assert.equal(await chosen.count(), 0, "nothing is selected");
        for (const key of keys) {
          await page.keyboard.press(key);
        }
        await workbench.textBecomes(page, workbench.editor(page), (text) => text.includes(taken), "nothing was taken");
        await page.keyboard.press("Escape");
        await page.keyboard.press("Shift+Home");
        await page.keyboard.press("Delete");
      }
    });
  });
}
