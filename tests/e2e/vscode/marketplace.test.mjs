// A job takes definitions from a folder and from a marketplace server, which is silent, gone, and there again.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const PROJECT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../..");

/** An item as the marketplace server sends it: its protocol is the text of a whole job. */
const ITEM = {
  id: "1",
  name: "cifar",
  author: "ada",
  type: "data",
  source: "marketplace",
  summary: "Small photographs in ten classes",
  status: "approved",
  protocol: [
    "protocolVersion: 2",
    "name: cifar",
    "type: job",
    "prerequisites:",
    "  - {type: data, name: cifar, uri: ['https://example.com/cifar.tgz']}",
    "taskRoles: {}",
    "",
  ].join("\n"),
};

/** A job that is saved with definitions of the marketplace: only what saved jobs use is pinned. */
const PINNED = `protocolVersion: 2
name: pinned
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:22.04"}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: ["marketplace://name/install_wget", "marketplace://name/cifar"]
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}
    commands: [python train.py]
`;

/** A token as OpenPAI's portal gives it; nobody checks its signature here. */
const TOKEN = ["{}", '{"username":"ann"}', "-"].map((part) => Buffer.from(part).toString("base64url")).join(".");

let editor, page, marketplace, port, folder;
let isSilent = true;
const published = [];
const asked = [];
const waiting = new Set();

/** An answer that has begun and does not end: the client waits as long as it ever does. */
function keepWaiting(response) {
  waiting.add(response);
  const blanks = setInterval(() => response.write(" "), 2000);
  response.on("close", () => {
    clearInterval(blanks);
    waiting.delete(response);
  });
  response.write(" ");
}

function takeItem(request, response) {
  assert.equal(request.headers.authorization, `Bearer ${TOKEN}`);
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    published.push(JSON.parse(Buffer.concat(parts).toString()));
    response.writeHead(201).end(JSON.stringify({ id: "2" }));
  });
}

before(async () => {
  marketplace = http.createServer((request, response) => {
    asked.push(request.url);
    response.setHeader("content-type", "application/json");
    if (isSilent) {
      keepWaiting(response);
    } else if (request.method === "POST") {
      takeItem(request, response);
    } else {
      response.end(JSON.stringify(request.url.includes("author=") ? [] : [ITEM]));
    }
  });
  await listen(0);
  port = marketplace.address().port;
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  const sources = [{ directory: "marketplace" }, { url: `http://127.0.0.1:${port}`, token_command: ["echo", TOKEN] }];
  folder = workspace({
    ".pai-lsp.yaml": `marketplace: ${JSON.stringify({ sources })}\n`,
    "pinned.pai.yaml": PINNED,
  });
  fs.cpSync(path.join(PROJECT, "examples/marketplace"), path.join(folder, "marketplace"), { recursive: true });
  editor = await startEditor({
    home,
    folder,
    file: "train.pai.yaml",
    searchPath: foundServer().searchPath,
  });
  ({ page } = editor);
  await editor.open();
});

after(async () => {
  await editor?.close();
  await silence();
});

const scene = scenes(() => page);
const toast = (text) => page.locator(".notification-toast", { hasText: text });

scene("while a marketplace is silent, the job is checked and corrected as usual", async () => {
  await page.locator(".squiggly-error").first().waitFor();
  // Nobody is asked before the user has answered.
  const question = toast(`and send its output to http://127.0.0.1:${port}.`);
  await question.waitFor();
  assert.equal(asked.length, 0);
  await question.getByRole("button", { name: "Trust", exact: true }).click();
  await page.keyboard.press("Control+B");
  const deadline = Date.now() + 10_000;
  while (asked.length === 0) {
    assert.ok(Date.now() < deadline, "the marketplace was not asked");
    await page.waitForTimeout(50);
  }
  await workbench.cursorBehind(page, "[minst");
  for (const _ of "inst") {
    await page.keyboard.press("Backspace");
  }
  await workbench.type(page, "nist");
  await page.keyboard.press("Escape");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  assert.notEqual(waiting.size, 0, "the editor waited for the marketplace");
});

scene("the status shows that a marketplace is gone", async () => {
  await silence();
  await workbench.run(page, "OpenPAI: Refresh Marketplace");
  await workbench.statusShows(page, "OpenPAI: ready, marketplace unreachable");
  await toast("the marketplace is unreachable").waitFor();
  await workbench.picture(page, "unreachable");
  await workbench.dismiss(page);
});

scene("a definition of the folder is found, filled and inserted all the same", async () => {
  await workbench.cursorBehind(page, "[mnist");
  await workbench.run(page, "OpenPAI: Insert from Marketplace...");
  const list = page.locator(".quick-input-list .monaco-list-row");
  await list.filter({ hasText: "the marketplace is unreachable" }).waitFor();
  await page.keyboard.type("Photographs in 1000");
  await workbench.chosen(page, "imagenet").waitFor();
  await workbench.picture(page, "marketplace-offline");
  await page.keyboard.press("Enter");
  const box = page.locator(".quick-input-widget input");
  await page.locator(".quick-input-title", { hasText: "imagenet: dataPath (1 of 1)" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-message", { hasText: "'dataPath' needs a value" }).waitFor();
  await box.fill("/data/imagenet");
  await page.locator(".quick-input-message", { hasText: "needs a value" }).waitFor({ state: "hidden" });
  await workbench.picture(page, "marketplace-variables");
  await page.keyboard.press("Enter");
  const has = (part, what) => workbench.textBecomes(page, workbench.editor(page), (text) => text.includes(part), what);
  await has("prerequisites: [mnist, imagenet]", "the task role does not use it");
  await page.keyboard.press("Control+End");
  await has("dataPath: /data/imagenet", "its variable is not filled");
  await workbench.picture(page, "marketplace-inserted");
});

scene("once it is there again, its definitions are offered", async () => {
  isSilent = false;
  await listen(port);
  await workbench.run(page, "OpenPAI: Refresh Marketplace");
  await toast("the marketplace is ready").waitFor();
  await workbench.dismiss(page);
  await workbench.status(page, "unreachable").waitFor({ state: "detached" });
  await workbench.run(page, "OpenPAI: Insert from Marketplace...");
  await workbench.chosen(page, "cifar").waitFor();
  await page.keyboard.type("photographs");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Photographs in 1000 classes" }).waitFor();
  await workbench.chosen(page, "Small photographs in ten classes").waitFor();
  await workbench.picture(page, "marketplace", page.locator(".quick-input-widget"));
  await page.keyboard.press("Escape");
});

scene("a file is published from a terminal, once it is agreed to", async () => {
  await workbench.open(page, "install_wget.yaml");
  await workbench.run(page, "OpenPAI: Publish to Marketplace...");
  await workbench.inTerminal(page, "Publish it? [y/N]");
  assert.equal(published.length, 0);
  await workbench.picture(page, "publish");
  await page.keyboard.type("y");
  await page.keyboard.press("Enter");
  await workbench.inTerminal(page, "marketplace://prerequisites/itemId/2");
  assert.equal(published[0].author, "ann");
  assert.match(published[0].protocol, /name: install_wget/);
});

scene("a definition of the lock file that has changed is pinned again", async () => {
  const lock = ["marketplace", "lock", "--folder", folder];
  const env = { ...process.env, PAI_LSP_TRUST: "1", XDG_CACHE_HOME: path.join(editor.home.home, "cache") };
  await promisify(execFile)(process.env.E2E_PAI_LSP, lock, { env });
  const file = path.join(folder, "marketplace/install_wget.yaml");
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("install -y", "install -qy"));
  const pinned = () => fs.readFileSync(path.join(folder, ".pai-lsp.lock"), "utf8");
  const before = pinned();
  await workbench.open(page, "pinned.pai.yaml");
  await workbench.run(page, "OpenPAI: Update Locked Definitions...");
  const row = (name) => page.locator(".quick-input-list .monaco-list-row", { hasText: name });
  await row("marketplace://name/install_wget").filter({ hasText: "changed" }).first().waitFor();
  await row("marketplace://name/cifar").filter({ hasText: "up to date" }).first().waitFor();
  await workbench.picture(page, "locked", page.locator(".quick-input-widget"));
  await page.keyboard.press("Enter");
  await workbench.inTerminal(page, ".pai-lsp.lock contains");
  assert.notEqual(pinned(), before);
});

function listen(number) {
  return new Promise((resolve, reject) => {
    marketplace.once("error", reject);
    marketplace.listen(number, "127.0.0.1", resolve);
  });
}

function silence() {
  marketplace.closeAllConnections();
  return new Promise((resolve) => marketplace.close(resolve));
}
