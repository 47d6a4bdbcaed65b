// The plugin in a page that keeps the portal's contract, with a rest-server on another port: all on this machine.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { launch, openPage, picture, serious, serve } from "./site.mjs";

const PYTHON = process.env.E2E_PYTHON;
/** Loading Python on a busy machine; everything else is quick. */
const LOADING = 120_000;
const TOKEN = "t0ken";
const JOB = `protocolVersion: 2
name: flowers
type: job
prerequisites:
  - { name: image, type: dockerimage, uri: "ubuntu:22.04" }
  - { name: prepare, type: script, callbacks: [{ event: taskStarts, commands: [echo ready] }] }
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    prerequisites: [prepair]
    commands: ["echo <% $secrets.word %>"]
    resourcePerInstance: { gpu: 1, cpu: 1, memoryMB: 1024 }
secrets: { word: paper-and-glue }
defaults: { virtualCluster: default }
`;

let site, server, addresses, browser;

before(async () => {
  site = await serve(process.env.E2E_PORTAL);
  const script = path.join(import.meta.dirname, "portal_server.py");
  server = spawn(PYTHON, [script, `${site.address}plugin.js`], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise((resolve, reject) => {
    server.stdout.once("data", resolve);
    server.once("exit", () => reject(new Error("the portal did not start")));
  });
  addresses = JSON.parse(line);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.stdin.end();
  site?.close();
});

/** A job that requires definitions of the marketplace, to which a line can be added. */
const REQUIRING = `${JOB.replace("[prepair]", "[prepare, data]").replace("flowers", "photographs")}extras:
  reference_prerequisites:
    - name: data
      require:
        - name: marketplace://name/mnit
`;

/** The plugin in the portal's page at a query, after a `script` in each document; `frame` is what it shows. */
async function open(query, { text, script, ...options } = {}) {
  const own = [site.address, addresses.portal, addresses.rest];
  const { page, wrong } = await openPage(browser, own, { viewport: { width: 1000, height: 700 }, ...options });
  if (script !== undefined) {
    await page.addInitScript(script);
  }
  if (text !== undefined) {
    await page.goto(`${addresses.portal}/`);
    await page.evaluate((job) => sessionStorage.setItem("protocolYAML", job), text);
    wrong.length = 0;
  }
  await page.goto(`${addresses.portal}/plugin.html?index=0${query}`);
  // The plugin asks whether there is a job of this name before it sends one, and the browser reports the answer.
  const faults = () => wrong.filter((one) => !/status of 404/.test(one));
  return { page, faults, frame: page.frameLocator("pai-plugin iframe") };
}

const has = (frame, selector, text) => frame.locator(selector, { hasText: text }).first().waitFor({ timeout: LOADING });
const asked = async () => (await fetch(`${addresses.portal}/requests`)).json();
const sentJobs = async (name) =>
  (await asked()).filter(({ method, body }) => method === "POST" && body.includes(`name: ${name}\n`)).length;
const written = async (frame) => (await frame.locator(".cm-line").allTextContents()).join("\n");

/** Whether the browser asks before the page with the job is left. */
const warnsBeforeItIsLost = (page) =>
  page.frames()[1].evaluate(() => !window.dispatchEvent(new Event("beforeunload", { cancelable: true })));

/** Where a page keeps something, as text: its documents, their addresses and what they store. */
async function kept(page) {
  const places = await Promise.all(
    page
      .frames()
      .map((one) =>
        one.evaluate(() =>
          JSON.stringify([
            document.documentElement.outerHTML,
            location.href,
            document.cookie,
            { ...localStorage },
            { ...sessionStorage },
          ]),
        ),
      ),
  );
  return places.join("\n");
}

describe("the plugin in the portal", () => {
  it("checks the job that another page left, says whether it fits, and submits what it has shown", async () => {
    const { page, frame, faults } = await open("&op=init", { text: JOB });
    await has(frame, "#list", "'prepair'");
    await has(frame, "#fit p", "refuses the job");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("protocolYAML")), null);
    await picture(page.locator("pai-plugin"), "portal-findings");
    const rule = frame.getByRole("button", { name: "unknown-prerequisite" });
    await rule.click();
    await has(frame, "#list .page", "A task role names a prerequisite that the job does not define.");
    await rule.click();
    assert.equal(await warnsBeforeItIsLost(page), false);

    // Typing is checked, completed and described.
    const line = frame.locator(".cm-line", { hasText: "prepair" });
    await line.click();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    for (let letter = 0; letter < "prepair".length; letter++) {
      await page.keyboard.press("Backspace");
    }
    await page.keyboard.type("pre");
    await has(frame, ".cm-tooltip-autocomplete li", "prepare");
    await page.keyboard.press("Tab");
    await frame.locator(".cm-line", { hasText: "[prepare]" }).waitFor();
    await has(frame, "#fit p", "accepts the job");
    // What Submit does anyway is no finding.
    await has(frame, "#summary", "No findings.");
    assert.equal(await warnsBeforeItIsLost(page), true);
    await frame.locator(".cm-line", { hasText: "instances" }).getByText("instances").hover();
    await has(frame, ".cm-description", "The number of tasks of this role");
    await page.mouse.move(0, 0);
    await frame.locator(".cm-line", { hasText: "dockerImage" }).getByText("dockerImage", { exact: true }).click();
    await page.mouse.move(0, 0);
    await page.keyboard.press("Control+Shift+Space");
    await has(frame, ".cm-description", "the tasks run in");
    await page.keyboard.press("ArrowRight");
    await frame.locator(".cm-description").waitFor({ state: "detached" });

    // Everything is shown before it is sent, and nothing is sent before.
    await frame.getByRole("button", { name: "Submit…" }).click();
    await has(frame, "#sending-where", `(${addresses.rest}/rest-server) as 'ann', virtual cluster default`);
    await has(frame, "#sending-fit", "accepts the job");
    assert.deepEqual(await serious(page.frames()[1]), []);
    await picture(page.locator("pai-plugin"), "portal-submit");
    const shown = await frame.locator("#sending-text").textContent();
    assert.match(shown, /paper-and-glue/);
    assert.match(shown, /com\.microsoft\.pai\.runtimeplugin/);
    assert.match(shown, /submitFrom: checked-job/);
    assert.equal((await asked()).filter(({ method }) => method === "POST").length, 0);
    await frame.getByRole("button", { name: "Submit", exact: true }).click();
    await has(frame, "#notice", "The job flowers is submitted.");
    assert.equal(await warnsBeforeItIsLost(page), false);
    const link = await frame.getByRole("link", { name: "Open its page" }).getAttribute("href");
    assert.equal(link, `${addresses.portal}/job-detail.html?username=ann&jobName=flowers`);
    const posts = (await asked()).filter(({ method }) => method === "POST");
    assert.deepEqual(
      posts.map(({ path, headers, body }) => [path, headers.authorization, body]),
      [["/rest-server/api/v2/jobs", `Bearer ${TOKEN}`, shown]],
    );
    assert.ok(!(await kept(page)).includes(TOKEN));
    assert.deepEqual(faults(), []);
    await page.context().close();
  });

  it("edits a job that failed, with the reason and the line", async () => {
    const query = "&op=resubmit&type=job&user=ann&jobname=train";
    const { page, frame, faults } = await open(query);
    await has(frame, "#why summary", "Why did train fail?");
    await has(frame, "#why pre", "ModuleNotFoundError: No module named 'torchx'");
    await has(frame, ".cm-failed", "python train.py");
    await has(frame, "#notice", "write them again");
    await has(frame, "#fit p", "accepts the job");
    assert.doesNotMatch(await written(frame), /secrets/);
    assert.deepEqual(await serious(page.frames()[1]), []);
    await picture(page.locator("pai-plugin"), "portal-why");
    assert.ok(!(await kept(page)).includes(TOKEN));
    assert.deepEqual(faults(), []);
    await page.context().close();
  });

  it("knows the definitions of the marketplace, and its templates", async () => {
    const { page, frame, faults } = await open("&op=init", { text: REQUIRING });
    // A name that is not there, and a value that is missing.
    await has(frame, "#list", "did you mean 'marketplace://name/mnist'?");
    await frame.getByRole("button", { name: "Change to 'marketplace://name/mnist'" }).click();
    await frame.getByRole("button", { name: "Add 'dataPath'" }).click();
    await has(frame, "#summary", "No findings.");
    await frame.locator(".cm-line", { hasText: "name/mnist" }).getByText("mnist").hover();
    await has(frame, ".cm-description", "item of the marketplace");
    await page.mouse.move(0, 0);

    // Completion leaves a place to fill.
    await frame.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("        - cifar");
    const suggestion = frame.locator(".cm-tooltip-autocomplete li", { hasText: "marketplace://name/cifar" });
    await suggestion.waitFor({ timeout: LOADING });
    await picture(page.locator("pai-plugin"), "portal-marketplace");
    await page.keyboard.press("Tab");
    await frame.locator(".cm-line", { hasText: /^ {12}dataPath: $/ }).waitFor();
    await page.keyboard.type("/cifar");
    const end = "- name: marketplace://name/cifar\n          template_variables:\n            dataPath: /cifar";
    assert.ok((await written(frame)).endsWith(`        ${end}`));
    await has(frame, "#fit p", "accepts the job");

    // What runs has both, and so has what is sent.
    await frame.getByRole("tab", { name: "What runs" }).click();
    await has(frame, "#runs", "wget -P /cifar https://example.com/cifar.zip");
    await frame.getByRole("button", { name: "Submit…" }).click();
    await has(frame, "#sending-text", "wget -P /cifar");
    await frame.getByRole("button", { name: "Submit", exact: true }).click();
    await has(frame, "#notice", "The job photographs is submitted.");
    const all = await asked();
    assert.match(all.find(({ method, body }) => method === "POST" && /photographs/.test(body)).body, /wget -P \/cifar/);
    const items = all.filter(({ path }) => path.startsWith("/marketplace/"));
    assert.deepEqual(
      [...new Set(items.map(({ method, path }) => `${method} ${path}`))],
      ["GET /marketplace/api/items"],
    );
    assert.equal(items[0].headers.authorization, `Bearer ${TOKEN}`);
    assert.ok(!(await kept(page)).includes(TOKEN));

    // A template is a whole job, without values of secrets.
    await frame.getByLabel("New job").selectOption({ label: "Fine-tune: of a model (marketplace)" });
    await frame.locator(".cm-line", { hasText: "name: train" }).waitFor();
    assert.doesNotMatch(await written(frame), /paper-and-glue/);
    assert.deepEqual(faults(), []);
    await page.context().close();
  });

  it("keeps a job whose user is logged out, and sends it after the next login", async () => {
    const text = JOB.replace("prepair", "prepare").replace("flowers", "kept");
    const { page, frame } = await open("&op=init", { text });
    await has(frame, "#fit p", "accepts the job");
    await fetch(`${addresses.portal}/token?n3w`);
    const submit = async () => {
      await frame.getByRole("button", { name: "Submit…" }).click();
      await frame.getByRole("button", { name: "Submit", exact: true }).click();
    };
    const logIn = (user) =>
      page.evaluate((name) => {
        document.cookie = `user=${name}`;
        document.cookie = "token=n3w";
      }, user);
    try {
      await submit();
      await has(frame, "#notice", "The job is not submitted: Your login to the portal has expired");
      const link = frame.locator("#notice a");
      assert.deepEqual(
        [await link.getAttribute("href"), await link.getAttribute("target")],
        [addresses.portal, "_blank"],
      );
      assert.equal(await warnsBeforeItIsLost(page), false);
      assert.equal(await written(frame), text);
      assert.deepEqual(await serious(page.frames()[1]), []);

      // Somebody else's login is not this user's.
      await logIn("bob");
      await submit();
      await has(frame, "#notice", "The job is not submitted: Your login to the portal has expired");
      assert.equal(await sentJobs("kept"), 0);
      await logIn("ann");
      await submit();
      await has(frame, "#notice", "The job kept is submitted.");
      assert.equal(await sentJobs("kept"), 1);

      // A page that is opened too late says so, and asks again.
      const late = await open("&op=init", { text });
      await has(late.frame, "#fit p", "It is not known whether the job fits the cluster: Your login to the portal has");
      assert.equal(await late.frame.locator("#fit a").count(), 1);
      assert.equal(await late.frame.getByRole("button", { name: "Submit…" }).isDisabled(), true);
      await picture(late.page.locator("pai-plugin"), "portal-logged-out");
      assert.deepEqual(await serious(late.page.frames()[1]), []);
      await fetch(`${addresses.portal}/token?${TOKEN}`);
      await late.page.route("**/items", (route) => route.fulfill({ status: 500, body: "Database error" }));
      await late.frame.getByRole("button", { name: "Try again" }).click();
      await has(
        late.frame,
        "#definitions",
        "The definitions of the marketplace are not known: the server failed (500)",
      );
      await late.page.unroute("**/items");
      await late.frame.getByRole("button", { name: "Try again" }).click();
      await has(late.frame, "#fit p", "accepts the job");
      await has(late.frame, "#template", "Fine-tune");
      assert.equal(await late.frame.getByRole("button", { name: "Try again" }).isVisible(), false);
      await late.page.context().close();
    } finally {
      await fetch(`${addresses.portal}/token?${TOKEN}`);
    }
    await page.context().close();
  });

  it("asks the cluster only for what the page may ask, and others without the token", async () => {
    const { page, frame } = await open("&op=init", {
      text: JOB,
      script: () => {
        const post = MessagePort.prototype.postMessage;
        MessagePort.prototype.postMessage = function (...message) {
          globalThis.port = this;
          post.apply(this, message);
        };
      },
    });
    await has(frame, "#fit p", "refuses the job");
    const before = (await asked()).length;
    const answers = await page.frames()[1].evaluate(
      (requests) =>
        Promise.all(
          requests.map(
            ([method, url], number) =>
              new Promise((resolve) => {
                globalThis.port.addEventListener("message", ({ data }) => {
                  if (data.number === `test ${number}`) {
                    resolve(data.response.failure ?? data.response.status);
                  }
                });
                const request = { method, url, range: null, body: "" };
                globalThis.port.postMessage({ number: `test ${number}`, request });
              }),
          ),
        ),
      [
        ["GET", `${site.address}editor.html`],
        ["POST", `${addresses.rest}/rest-server/api/v2/users`],
        ["DELETE", `${addresses.rest}/rest-server/api/v2/jobs`],
        ["GET", `${addresses.rest}/rest-server/api/v2/../../other`],
        ["POST", `${addresses.portal}/plugin.html`],
        ["POST", `${addresses.portal}/marketplace/api/items`],
        ["GET", `${addresses.portal}/nothing`],
        // Without the token.
        ["GET", `${addresses.portal}/marketplace/api/items/1`],
      ],
    );
    const [home, rest, portal] = [site.address, addresses.rest, addresses.portal].map((one) => new URL(one).host);
    const refused = (host) => `the page may not ask '${host}' for this`;
    assert.deepEqual(answers, [...[home, rest, rest, rest, portal, portal].map(refused), 404, 401]);
    assert.equal((await asked()).length, before + 1);
    await page.context().close();
  });

  it("speaks Chinese, checks for a guest, and asks nobody else", async () => {
    const { page, frame, faults } = await open("&op=init&guest", { text: JOB, locale: "zh-CN", colorScheme: "dark" });
    await has(frame, "#summary", "个错误");
    await has(frame, "#fit p", "您尚未登录门户");
    assert.equal(await frame.getByRole("button", { name: "提交…" }).isDisabled(), true);
    await frame.getByRole("tab", { name: "依赖图" }).click();
    await has(frame, "#graph svg text", "worker");
    assert.deepEqual(await serious(page.frames()[1]), []);
    await picture(page.locator("pai-plugin"), "portal-chinese-dark");
    assert.deepEqual(faults(), []);
    // A job to start with.
    await frame.getByLabel("新建任务").selectOption({ label: "job: a job with one task role" });
    await frame.locator(".cm-line", { hasText: "name: my-job" }).waitFor();
    await has(frame, "#notice", "Ctrl+Z");
    // The page in the frame may ask its own host only, whatever its scripts try.
    const target = `${addresses.rest}/rest-server/api/v2/info`;
    const reached = page.frames()[1].evaluate((url) => fetch(url).then(String, () => "refused"), target);
    assert.equal(await reached, "refused");
    await page.context().close();
  });
});
