// A person types a job by hand, key by key, with slips and several cursors: the file holds what was typed, also when the
// server's answers come late, and whatever Enter does with a suggestion.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { changeSettings, foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const NAME = "typed.pai.yaml";
const JOB = `\
protocolVersion: 2
name: digits
type: job
prerequisites:
  - type: dockerimage
    name: pytorch
    uri: "openpai/standard:python_3.6-pytorch_1.2.0-gpu"
  - type: script
    name: install
    callbacks:
      - event: taskStarts
        commands:
          - pip install -r requirements.txt
parameters:
  epochs: 10
taskRoles:
  worker:
    completion:
      minSucceededInstances: -1
    dockerImage: pytorch
    prerequisites:
      - install
    resourcePerInstance:
      gpu: 1
    extraContainerOptions: {shmMB: 512, infiniband: false}
    commands:
      - export TOKEN=<% $secrets.token %>
      - echo "$PAI_JOB_NAME" '{"a": [1]}' $PAI_HOST_IP_worker_0
      - >-
        torchrun
        --nnodes $PAI_TASK_ROLE_TASK_COUNT_worker
        --node_rank=$PAI_TASK_INDEX
        train.py
      - torchrun --node_rank $PAI_TASK_INDEX
`;
/** Its lines that end what is above them, as nobody can know: a person steps out. */
const ENDING = ["  - type: script", "    dockerImage: pytorch", "      - torchrun --node_rank $PAI_TASK_INDEX"];
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
/** As copied from a web page: a tab, and spaces that do not break. */
const PASTED = "      - python\u00a0train.py\n      - echo done\t# the end\n";

let editor, folder, page;
const server = foundServer();

before(async () => {
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  folder = workspace({ [NAME]: "", "late.pai.yaml": "" });
  editor = await startEditor({ home, folder, file: NAME, searchPath: server.searchPath });
  ({ page } = editor);
  await editor.open();
});

after(() => editor?.close());

const scene = scenes(() => page);
const list = () => page.locator(".suggest-widget.visible");

/** The text of a file once it is saved. */
async function saved(name = NAME) {
  await page.keyboard.press("Control+S");
  await page.locator(".tab.active:not(.dirty)").waitFor();
  return fs.readFileSync(path.join(folder, name), "utf8");
}

/** Type a whole job, with a slip in every other line that is taken back; each line comes to stand where it belongs. */
async function typeJob(job, ending = []) {
  await workbench.editor(page).locator(".view-lines").click();
  for (const [number, line] of job.trimEnd().split("\n").entries()) {
    const text = line.trimStart();
    const slip = number % 2 ? "qz" : "";
    const at = Math.min(3, text.length);
    await workbench.type(page, text.slice(0, at) + slip);
    for (const _ of slip) {
      await page.keyboard.press("Backspace");
    }
    await workbench.type(page, text.slice(at), number % 3 ? 20 : 60);
    if (ending.includes(line)) {
      await workbench.stepOut(page, number + 1, line);
    }
    await workbench.columnIn(page, number + 1, line.length + 1);
    await page.keyboard.press("Enter");
    await workbench.columnIn(page, number + 2);
  }
}

scene(
  "Enter ends every line",
  async () => {
    await workbench.statusShows(page, "OpenPAI: ready");
    await typeJob(JOB, ENDING);
    assert.equal((await saved()).trimEnd(), JOB.trimEnd());
  },
  300_000,
);

scene("what is pasted stays as it is, is reported, and one undo takes it away", async () => {
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Delete");
  const before = await saved();
  await page.evaluate((text) => navigator.clipboard.writeText(text), PASTED);
  await page.keyboard.press("Control+V");
  await workbench.textBecomes(page, workbench.editor(page), (text) => text.includes("# the end"), "not pasted");
  assert.equal((await saved()).replace(/\s+$/, ""), (before + PASTED).replace(/\s+$/, ""));
  await page.locator(".squiggly-warning").first().waitFor();
  await page.keyboard.press("Control+Z");
  await workbench.textBecomes(page, workbench.editor(page), (text) => !text.includes("# the end"), "not undone");
  assert.equal((await saved()).trimEnd(), before.trimEnd());
});

scene("Tab takes a suggestion, and the arrow keys and Enter", async () => {
  for (const _ of "four") {
    await page.keyboard.press("Shift+Tab");
  }
  const chosen = list().locator(".monaco-list-row.focused");
  for (const [keys, taken] of [
    [["Tab"], "contributor:"],
    [["ArrowDown", "Enter"], "description:"],
  ]) {
    await workbench.type(page, taken.slice(0, 4), 50);
    await list()
      .locator(".monaco-list-row", { hasText: taken.slice(0, -1) })
      .waitFor();
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

scene("several cursors change several places at once", async () => {
  await workbench.cursorBehind(page, "torchrun");
  const before = await saved();
  await page.keyboard.press("Control+Shift+ArrowLeft");
  await page.keyboard.press("Control+D");
  await workbench.type(page, "horovodrun", 40);
  await page.keyboard.press("Escape");
  assert.equal(await saved(), before.replaceAll("torchrun", "horovodrun"));
  await page.keyboard.press("Control+End");
});

scene("a list goes away when its word is complete", async () => {
  await workbench.type(page, "type: jo", 50);
  await list().locator(".monaco-list-row", { hasText: "job" }).waitFor();
  await workbench.type(page, "b");
  await list().waitFor({ state: "hidden" });
  await page.keyboard.press("Enter");
});

scene("a quote is closed, as in YAML, and typed over", async () => {
  await workbench.type(page, 'description: "a');
  assert.match(await saved(), /^description: "a"$/m);
  await workbench.type(page, '"');
  assert.match(await saved(), /^description: "a"$/m);
  await page.keyboard.press("Enter");
});

scene("with a setting of their own, Enter ends the line also below a selected suggestion", async () => {
  changeSettings(folder, { "editor.acceptSuggestionOnEnter": "off" });
  for (let tried = 0; ; tried++) {
    await workbench.type(page, "contr", 50);
    await list().locator(".monaco-list-row", { hasText: "contributor" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await list().locator(".monaco-list-row.focused").waitFor();
    await page.keyboard.press("Enter");
    const text = await saved();
    if (/^contr\n/m.test(text)) {
      break;
    }
    // Nothing shows when the editor has taken the setting.
    assert.ok(tried < 10, text);
    await page.keyboard.press("Shift+Home");
    await page.keyboard.press("Delete");
  }
});

scene(
  "a job is typed while answers come late",
  async () => {
    changeSettings(folder, {});
    server.answerLate(0.7);
    await workbench.open(page, "late.pai.yaml");
    await workbench.run(page, "OpenPAI: Restart Server");
    await workbench.statusShows(page, "OpenPAI: starting");
    await workbench.statusShows(page, "OpenPAI: ready");
    await typeJob(SHORT);
    assert.equal((await saved("late.pai.yaml")).trimEnd(), SHORT.trimEnd());
  },
  120_000,
);
