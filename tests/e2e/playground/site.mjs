// The built page behind a web server on this machine, and a browser in front of it.
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

export const folder = required("E2E_PLAYGROUND", "the folder with the built page");
const CHROMIUM = required("E2E_CHROMIUM", "the path of Chromium");
const SCREENSHOTS = required("E2E_SCREENSHOTS", "the folder for screenshots");
const PACKAGES = required("E2E_PLAYGROUND_PACKAGES", "the folder whose node_modules has playwright-core");
const library = createRequire(`${PACKAGES}/`);
const { chromium } = library("playwright-core");
const AXE = fs.readFileSync(library.resolve("axe-core/axe.min.js"), "utf8");

export const TYPES = {
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};

function required(name, meaning) {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} (${meaning}) is not set; run the tests by 'make e2e'`);
  }
  return value;
}

/**
 * Serve a folder with the types of files that a static host knows; the result has its address and `close`. Files that are
 * added to `missing` are not found.
 */
export async function serve(root, types = TYPES) {
  const missing = new Set();
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://127.0.0.1");
    const file = path.join(root, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    if (!file.startsWith(root) || !fs.existsSync(file) || missing.has(path.basename(file))) {
      response.writeHead(404).end();
      return;
    }
    const type = types[path.extname(file)] ?? "application/octet-stream";
    response.writeHead(200, {
      "content-type": type,
      "cache-control": "max-age=60",
    });
    fs.createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}/`;
  return {
    address,
    missing,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function launch() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
}

/**
 * A new page that records what must not happen: messages of the console, errors, and requests that leave the origins of
 * `addresses`, one or more.
 */
export async function openPage(browser, addresses, options = {}) {
  const context = await browser.newContext({
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(String(error)));
  context.on("request", (request) => {
    const url = request.url();
    if (![addresses].flat().some((address) => url.startsWith(address)) && !/^(blob|data):/.test(url)) {
      wrong.push(`a request to ${url}`);
    }
  });
  return { page, wrong };
}

export async function picture(page, name) {
  fs.mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({
    path: path.join(SCREENSHOTS, `${name}.png`),
    animations: "disabled",
  });
}

/** What axe calls serious or critical, a line each, with the first place. */
export async function serious(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.length} places, first ${nodes[0].html.slice(0, 160)}`);
}
