// A job is submitted to a cluster on this machine, followed to its end, and explained; the cluster is asked only while
// somebody looks.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before } from "node:test";
import { editorHome, installExtension, startEditor } from "./codeServer.mjs";
import { scenes } from "./scenes.mjs";
import { foundServer, workspace } from "./surroundings.mjs";
import * as workbench from "./workbench.mjs";

const JOB = `protocolVersion: 2
name: digits
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:22.04"}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {gpu: 1, cpu: 4, memoryMB: 8192}
    commands:
      - echo start
      - python digits.py
`;
const CONFIG = {
  protocolVersion: 2,
  name: "digits",
  type: "job",
  prerequisites: [{ type: "dockerimage", name: "image", uri: "ubuntu:22.04" }],
  taskRoles: {
    worker: {
      instances: 1,
      dockerImage: "image",
      resourcePerInstance: { gpu: 1, cpu: 4, memoryMB: 8192 },
      commands: ["echo start", "python digits.py"],
    },
  },
};
const LOG = "start\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torchx'\n";

let editor, page, cluster, address;
let state; // of the job; undefined before there is one
let asked = 0;
let sent = ""; // the job that was submitted

function job() {
  const code = state === "FAILED" ? 255 : null;
  const task = { taskIndex: 0, taskState: state, containerExitCode: code, attemptId: 0, containerNodeName: "node1" };
  const status = { username: "ann", state, virtualCluster: "default", retries: 0, attemptId: 0, appExitCode: code };
  return { name: "digits", jobStatus: status, taskRoles: { worker: { taskStatuses: [task] } } };
}

function answer(request, response) {
  const place = new URL(request.url, "http://cluster").pathname.replace("/rest-server/api/v2/", "");
  const send = (status, value, headers = {}) => {
    response.writeHead(status, headers).end(typeof value === "string" ? value : JSON.stringify(value));
  };
  if (place.startsWith("/log-manager/")) {
    const start = Number(/bytes=(\d*)/.exec(request.headers.range)?.[1] ?? 0);
    const range = { "content-range": `bytes ${String(start)}-${String(LOG.length - 1)}/${String(LOG.length)}` };
    send(start < LOG.length ? 206 : 416, LOG.slice(start), start < LOG.length ? range : {});
  } else if (request.headers.authorization !== "Bearer t0ken") {
    send(401, { code: "UnauthorizedUserError", message: "Your token is invalid." });
  } else if (place === "tokens/check") {
    send(200, { username: "ann" });
  } else if (place === "jobs" && request.method === "POST") {
    request.setEncoding("utf8").on("data", (part) => (sent += part));
    request.on("end", () => {
      state = "RUNNING";
      send(202, { message: "Update job digits successfully." });
    });
  } else if (place === "jobs") {
    asked++;
    send(
      200,
      state === undefined ? [] : [{ name: "digits", username: "ann", state, retries: 0, virtualCluster: "default" }],
    );
  } else if (state === undefined) {
    send(404, { code: "NoJobError", message: "Job ann~digits is not found." });
  } else if (place === "jobs/ann~digits") {
    send(200, job());
  } else if (place.endsWith("/config")) {
    send(200, CONFIG);
  } else if (place.endsWith("/logs")) {
    send(200, { locations: [{ name: "all", uri: "/log-manager/node1/logs/user-all?token=k" }] });
  } else {
    send(200, { data: [] });
  }
}

before(async () => {
  cluster = http.createServer(answer);
  await new Promise((resolve) => cluster.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${cluster.address().port}`;
  const home = editorHome();
  installExtension(home, process.env.E2E_VSIX);
  const folder = workspace({ "digits.pai.yaml": JOB });
  editor = await startEditor({ home, folder, searchPath: foundServer().searchPath });
  ({ page } = editor);
  await editor.open();
  const own = path.join(home.home, "config/pai-lsp");
  fs.mkdirSync(own, { recursive: true });
  const entry = `lab: {url: '${address}/rest-server', token_command: [echo, t0ken]}\n`;
  fs.writeFileSync(path.join(own, "clusters.yaml"), entry);
});

after(async () => {
  await editor?.close();
  cluster?.close();
});

const scene = scenes(() => page);

const toast = (text) => page.locator(".notification-toast", { hasText: text });
const dialog = () => page.locator(".monaco-dialog-box");
const followed = (text) => page.locator(".statusbar-item", { hasText: text });
const listed = (text) =>
  page.locator(".pane", { hasText: "OpenPAI Jobs" }).locator(".monaco-list-row", { hasText: text });

scene("without jobs", async () => {
  await workbench.open(page, "digits.pai.yaml");
  await workbench.statusShows(page, "OpenPAI: ready");
  await workbench.run(page, "OpenPAI: Why Did It Fail");
  await toast("You have no jobs on this cluster").waitFor();
  await workbench.dismiss(page);
});

scene("a job is submitted from a terminal, once it is agreed to", async () => {
  await workbench.run(page, "OpenPAI: Submit to Cluster...");
  const box = page.locator(".quick-input-widget input");
  await box.fill("lab");
  await page.keyboard.press("Enter");
  await workbench.inTerminal(page, "Submit this job? [y/N]");
  assert.equal(sent, "");
  await workbench.picture(page, "submit");
  await page.keyboard.type("y");
  await page.keyboard.press("Enter");
  await workbench.inTerminal(page, "job-detail.html?username=ann&jobName=digits");
  assert.match(sent, /^name: digits$/m);
  await followed("digits: RUNNING").waitFor();
});

scene(
  "a job is followed to its end",
  async () => {
    await workbench.run(page, "OpenPAI: Show Jobs");
    await listed("digits").filter({ hasText: "RUNNING" }).click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Stop Following" }).waitFor();
    await page.keyboard.press("Escape");
    await followed("digits: RUNNING").waitFor();
    state = "FAILED";
    await followed("digits: FAILED").waitFor();
    await listed("digits").filter({ hasText: "FAILED" }).waitFor();
    await toast("digits: FAILED").waitFor();
    await workbench.picture(page, "jobs");
  },
  120_000,
);

scene("its log is shown in a terminal", async () => {
  await workbench.run(page, "OpenPAI: Show Job Log");
  await workbench.chosen(page, "digits").waitFor();
  await page.keyboard.press("Enter");
  await workbench.inTerminal(page, "ModuleNotFoundError: No module named 'torchx'");
});

scene("why it failed, with the line of its file", async () => {
  await workbench.clickAway(toast("digits: FAILED").getByRole("button", { name: "Why Did It Fail" }));
  await dialog().filter({ hasText: "No module named 'torchx'" }).waitFor();
  await dialog().getByRole("button", { name: "Go to Line" }).click();
  await workbench.columnIn(page, 13, 1);
});

scene("the end of a job is told whoever asks", async () => {
  state = "RUNNING";
  await workbench.run(page, "OpenPAI: Show Jobs");
  await followed("digits: RUNNING").waitFor();
  state = "SUCCEEDED";
  await workbench.run(page, "OpenPAI: Show Jobs");
  await toast("digits: SUCCEEDED").waitFor();
  await followed("digits: SUCCEEDED").waitFor();
  await workbench.dismiss(page);
});

scene("a job that has ended is not asked for while its view is hidden", async () => {
  await page.locator(".pane-header", { hasText: "OpenPAI Jobs" }).click();
  await listed("digits").waitFor({ state: "hidden" });
  await page.waitForTimeout(1000);
  const before = asked;
  await page.waitForTimeout(12_000);
  assert.equal(asked, before);
});
