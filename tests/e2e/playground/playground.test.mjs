// The playground in a browser, as a person uses it: served from files, with nothing else to reach.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import http from "node:http";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { TYPES, folder, launch, openPage, picture, serve } from "./site.mjs";

const PAI_LSP = process.env.E2E_PAI_LSP;
/** Loading Python on a busy machine; everything else is quick. */
const LOADING = 120_000;

let site, browser;

before(async () => {
  // As little as any static host knows: WebAssembly has no type of its own here.
  site = await serve(folder, { ...TYPES, ".wasm": undefined });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  site?.close();
});

const findings = (page) => page.locator("#list li");
const codes = (page) => page.locator("#list .more a").allInnerTexts();
const loaded = (page) => page.locator("#loaded").waitFor({ timeout: LOADING });
const shows = (page, selector, text) => page.locator(selector, { hasText: text }).first().waitFor({ timeout: 20_000 });
const line = (page, text) => page.locator(".cm-line", { hasText: text }).first();

/** Replace the text of the editor, as by pasting. */
async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

/** The text of the editor, which is short enough to be drawn whole. */
async function written(page) {
  const lines = await page.locator(".cm-line").allTextContents();
  return lines.join("\n");
}

describe("the playground", () => {
  it("checks, fixes, expands, draws and completes, and shares a job by a link", async () => {
    const { page, wrong } = await openPage(browser, site.address, { viewport: { width: 1280, height: 900 } });
    await page.goto(site.address);
    await shows(page, "#stage", "Loading the checker");
    await findings(page).first().waitFor({ timeout: LOADING });

    // The same findings as those of the command line.
    const example = path.join(import.meta.dirname, "../../../examples/typo.pai.yaml");
    assert.deepEqual(await codes(page), commandLine(example));
    assert.equal(await page.locator("#summary").innerText(), "4 errors, 1 hint.");
    await page.locator(".cm-lintRange-error", { hasText: "minst" }).waitFor();
    await picture(page, "playground-findings");

    // A click leads to the place, and a fix changes it.
    const misspelt = findings(page).filter({ hasText: "'minst'" });
    await misspelt.locator(".place").press("Enter");
    await page.locator(".cm-activeLine", { hasText: "prerequisites: [minst]" }).waitFor();
    await misspelt.getByRole("button", { name: "Change to 'mnist'" }).click();
    await line(page, "prerequisites: [mnist]").waitFor();
    await misspelt.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Apply 3 safe fixes" }).click();
    await shows(page, "#summary", "No findings.");
    await shows(page, "#notice", "3 findings fixed");
    await line(page, "event: taskStarts").waitFor();

    // The newest text wins.
    await write(page, "protocolVersion: 2\nname: a b\ntype: job\n");
    for (const letter of "taskRoles: {}") {
      await page.keyboard.type(letter);
    }
    await shows(page, "#list", "may contain only");
    await write(page, "");
    await shows(page, "#summary", "The file is empty.");
    assert.equal(await findings(page).count(), 0);

    // The extended protocol.
    await page.getByLabel("Example").selectOption({ label: "The extended protocol" });
    await shows(page, "#list", "needs-expansion");
    await page.getByRole("tab", { name: "Findings" }).press("ArrowRight");
    await shows(page, "#runs", "cd /dataset/mnist && unzip -q mnist.zip");
    await page.locator("#runs .row", { hasText: "wget" }).last().click();
    await page.locator(".cm-activeLine", { hasText: "wget -q" }).waitFor();
    await page.getByRole("tab", { name: "Expanded" }).click();
    await shows(page, "#expanded pre", "pai_lsp_run 'taskStarts of tools'");
    await page.getByLabel("--inline").check();
    await shows(page, "#expanded pre", "# taskStarts of 'tools'");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /# taskStarts of 'tools'/);
    await page.getByRole("tab", { name: "Graph" }).click();
    await shows(page, "#graph svg text", "dataset");
    await picture(page, "playground-graph");
    await page.locator("#graph [role=link]", { hasText: "tools" }).press("Enter");
    await page.locator(".cm-activeLine", { hasText: "name: tools" }).waitFor();

    // Completion has places to fill, which Tab visits.
    await page.getByRole("tab", { name: "Findings" }).click();
    await write(page, "");
    await page.keyboard.press("Control+Space");
    await shows(page, ".cm-tooltip-autocomplete li", "a job with one task role");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.locator(".cm-snippetField").first().waitFor();
    await page.keyboard.type("tulips");
    await page.keyboard.press("Tab");
    await page.keyboard.type("tools");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("ubuntu:22.04");
    // A name that stands twice is typed once.
    const completed = await written(page);
    assert.match(completed, /^name: tulips$/m);
    assert.match(completed, /^ +name: tools\n +uri: ubuntu:22.04$/m);
    assert.match(completed, /^ +dockerImage: tools$/m);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText("extras:\n  hivedScheduler:\n    ");
    await page.keyboard.type("jobPrio");
    await shows(page, ".cm-tooltip-autocomplete li", "jobPriorityClass");
    await page.keyboard.press("Tab");
    // The default is selected.
    await line(page, "jobPriorityClass: prod").waitFor();
    await page.keyboard.type("test");
    assert.match(await written(page), /\nextras:\n {2}hivedScheduler:\n {4}jobPriorityClass: test/);

    // A link has the job, and nothing but the page is asked for.
    const job =
      "# für 😀\nprotocolVersion: 2\nname: shared\ntype: job\nsecrets: {key: x}\ntaskRoles: {}\njobType: training";
    await write(page, job);
    await page.getByLabel("Platform").selectOption("LTP");
    await page.getByRole("button", { name: "Copy link" }).click();
    await shows(page, "#notice", "It contains the whole job, its secrets included.");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, page.url());
    const other = await openPage(browser, site.address);
    await other.page.goto(link);
    await loaded(other.page);
    assert.equal(await written(other.page), job);
    assert.equal(await other.page.getByLabel("Platform").inputValue(), "ltp");
    await shows(other.page, "#list", "empty");
    await other.page.goto(link.slice(0, -20));
    await shows(other.page, "#notice", "This link is not complete");

    // A long one says so.
    const lines = Array.from({ length: 300 }, (_, number) => `# ${Math.sin(number)}`);
    await write(other.page, lines.join("\n"));
    await other.page.getByRole("button", { name: "Copy link" }).click();
    await shows(other.page, "#notice", "characters; some chat and mail programs cut links");
    assert.deepEqual([...wrong, ...other.wrong], []);
  });

  it("lets neither the page nor its workers reach anything else", async () => {
    let asked = 0;
    const outside = http.createServer((request, response) => {
      asked += 1;
      response.writeHead(200, { "access-control-allow-origin": "*" }).end("reached");
    });
    await new Promise((resolve) => outside.listen(0, "127.0.0.1", resolve));
    const { page } = await openPage(browser, site.address);
    site.missing.add("checker.zip");
    await page.goto(site.address);
    const address = `http://127.0.0.1:${outside.address().port}/`;
    const answers = await page.evaluate(async (target) => {
      const code = `fetch(${JSON.stringify(target)}).then(() => "reached", () => "refused").then(postMessage)`;
      const worker = new Worker(URL.createObjectURL(new Blob([code])));
      const inWorker = new Promise((resolve) => worker.addEventListener("message", ({ data }) => resolve(data)));
      const inPage = fetch(target).then(
        () => "reached",
        () => "refused",
      );
      return Promise.all([inPage, inWorker]);
    }, address);
    outside.close();
    assert.deepEqual([answers, asked], [["refused", "refused"], 0]);
    // What could not be loaded is reported.
    await page
      .locator("[role=alert]", { hasText: "checker.zip could not be loaded: 404" })
      .waitFor({ timeout: LOADING });
    site.missing.clear();
  });

  it("says why it cannot run", async () => {
    const { page } = await openPage(browser, site.address);
    await page.addInitScript(() => delete globalThis.WebAssembly);
    await page.goto(site.address);
    await shows(page, "[role=alert]", "This browser has no WebAssembly");
    const file = await openPage(browser, site.address);
    await file.page.goto(pathToFileURL(path.join(folder, "index.html")).href);
    await shows(file.page, "[role=alert]", "This page was opened from a file");
  });
});

/** The codes of what the command line finds. */
function commandLine(file) {
  const command = ["check", "--isolated", "--exit-zero", "--format", "json", file];
  return JSON.parse(execFileSync(PAI_LSP, command, { encoding: "utf8" })).diagnostics.map(({ code }) => code);
}
