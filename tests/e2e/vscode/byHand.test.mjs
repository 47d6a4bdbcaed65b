// A person writes a job with a setting of their own, by which Enter takes no suggestion: fast, with mistakes, text from
// a web page and several cursors.
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
name: by-hand
type: job
prerequisites:
  - type: dockerimage
    name: pytorch
    uri: "openpai/standard:python_3.6-pytorch_1.2.0-gpu"
taskRoles:
  worker:
    instances: 2
    dockerImage: pytorch
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}
    commands:
      - echo "$PAI_JOB_NAME" '{"a": [1]}'
      - torchrun --node_rank=$PAI_TASK_INDEX train.py
      - >-
        torchrun
        --master_addr=$PAI_HOST_IP_worker_0
        train.py
`;
/** As copied from a web page: a tab, and spaces that do not break. */
const PASTED = "      - python\u00a0train.py\n      - echo done\t# the end\n";

describe("where Enter takes no suggestion", () => {
  let editor, file, page;

  before(async () => {
    const home = editorHome({ "editor.acceptSuggestionOnEnter": "off" });
    installExtension(home, process.env.E2E_VSIX);
    const folder = workspace({ [NAME]: "" });
    file = path.join(folder, NAME);
    editor = await startEditor({ home, folder, file: NAME, searchPath: foundServer().searchPath });
    ({ page } = editor);
    await editor.open();
  });

  after(() => editor?.close());

  const scene = scenes(() => page);
  const saved = async () => {
    await page.keyboard.press("Control+S");
    await page.locator(".tab.active:not(.dirty)").waitFor();
    return fs.readFileSync(file, "utf8");
  };

  scene(
    "a job is typed, with a slip in each line that is taken back",
    async () => {
      await workbench.statusShows(page, "OpenPAI: ready");
      await workbench.editor(page).locator(".view-lines").click();
      for (const [number, line] of JOB.trimEnd().split("\n").entries()) {
        const text = line.trimStart();
        const slip = number % 2 ? "qz" : "";
        const at = Math.min(3, text.length);
        await workbench.type(page, text.slice(0, at) + slip, 20);
        for (const _ of slip) {
          await page.keyboard.press("Backspace");
        }
        await workbench.type(page, text.slice(at), number % 3 ? 20 : 60);
        await workbench.indented(page, number + 1, line);
        await page.keyboard.press("Enter");
        await workbench.columnIn(page, number + 2);
      }
      assert.equal((await saved()).trimEnd(), JOB.trimEnd());
    },
    240_000,
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

  scene("several cursors change several places at once", async () => {
    await workbench.cursorBehind(page, "torchrun");
    const before = await saved();
    await page.keyboard.press("Control+Shift+ArrowLeft");
    await page.keyboard.press("Control+D");
    await workbench.type(page, "horovodrun", 40);
    await page.keyboard.press("Escape");
    assert.equal(await saved(), before.replaceAll("torchrun", "horovodrun"));
  });

  scene("a list goes away when its word is complete", async () => {
    await page.keyboard.press("Control+End");
    await workbench.type(page, "type: jo", 50);
    const list = page.locator(".suggest-widget.visible");
    await list.locator(".monaco-list-row", { hasText: "job" }).waitFor();
    await workbench.type(page, "b");
    await list.waitFor({ state: "hidden" });
    await page.keyboard.press("Enter");
  });

  scene("Enter ends the line also below a selected suggestion", async () => {
    await workbench.type(page, "contr", 50);
    const list = page.locator(".suggest-widget.visible .monaco-list-row");
    await list.filter({ hasText: "contributor" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.locator(".suggest-widget.visible .monaco-list-row.focused").waitFor();
    await page.keyboard.press("Enter");
    assert.match(await saved(), /^contr\n/m);
  });

  scene("a quote is closed, as in YAML, and typed over", async () => {
    await workbench.type(page, 'description: "a');
    assert.match(await saved(), /^description: "a"$/m);
    await workbench.type(page, '"');
    assert.match(await saved(), /^description: "a"$/m);
  });
});
