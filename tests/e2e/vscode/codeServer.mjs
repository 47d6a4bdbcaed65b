// VS Code as a server from npm, with a browser in front of it: started for a test, and ended with everything it began.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const HOME = required("E2E_CODE_SERVER", "the folder in which code-server is installed");
const CHROMIUM = required("E2E_CHROMIUM", "the path of Chromium");
const INSTALLED = required("E2E_EXTENSIONS", "the folder for installed extensions");
export const SCREENSHOTS = required("E2E_SCREENSHOTS", "the folder for screenshots");
const ENTRY = path.join(HOME, "node_modules/code-server/out/node/entry.js");
const { chromium } = createRequire(`${HOME}/`)("playwright-core");

/** What keeps an editor calm enough to be tested. */
const CALM_SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "git.enabled": false,
  "remote.autoForwardPorts": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "window.autoDetectColorScheme": true,
  "editor.minimap.enabled": false,
  "editor.stickyScroll.enabled": false,
  "editor.cursorBlinking": "solid",
  "workbench.reduceMotion": "on",
  "editor.hover.delay": 100,
  // The rows of a terminal are text in the page, not a picture.
  "terminal.integrated.gpuAcceleration": "off",
  "telemetry.telemetryLevel": "off",
  "security.workspace.trust.startupPrompt": "always",
  "security.workspace.trust.banner": "never",
};

function required(name, meaning) {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} (${meaning}) is not set; run the tests by 'make e2e'`);
  }
  return value;
}

/** A new empty folder that is removed when the process ends. */
export function temporaryFolder(name) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `pai-lsp-${name}-`));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** Where an editor keeps its things: settings, extensions and what extensions store. */
export function editorHome(settings = {}) {
  const home = temporaryFolder("editor");
  const user = path.join(home, "user");
  // code-server keeps a person's settings in the folder of the machine.
  fs.mkdirSync(path.join(user, "User"), { recursive: true });
  fs.writeFileSync(path.join(user, "User/settings.json"), JSON.stringify({ ...CALM_SETTINGS, ...settings }, null, 2));
  return { home, user, extensions: path.join(home, "extensions") };
}

/** Install a .vsix as a person does. The editors of one run share what is installed: it takes seconds of CPU time. */
export function installExtension(home, vsix) {
  home.extensions = INSTALLED;
  if (fs.existsSync(path.join(INSTALLED, "extensions.json"))) {
    return;
  }
  const words = [ENTRY, ...folders(home), "--install-extension", vsix];
  const ended = spawnSync(process.execPath, words, {
    env: environment(home),
    encoding: "utf8",
    timeout: 60_000,
  });
  if (ended.status !== 0) {
    throw new Error(`the extension can not be installed: ${ended.stdout}${ended.stderr}`);
  }
}

/**
 * Start the editor and open a folder, maybe with a file, in a browser.
 *
 * searchPath is the PATH that extensions see. With asksTrust the editor asks whether the folder is to be trusted.
 * developed and tests are the paths of an extension and of tests to run in the extension host.
 */
export async function startEditor({ home, folder, file, searchPath, asksTrust = false, developed, tests }) {
  const port = await freePort();
  const words = [
    ENTRY,
    ...["--auth", "none", "--bind-addr", `127.0.0.1:${port}`],
    ...["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"],
    ...(asksTrust ? [] : ["--disable-workspace-trust"]),
    ...folders(home),
  ];
  const log = fs.openSync(path.join(home.home, "code-server.log"), "a");
  const server = spawn(process.execPath, words, {
    // VSCODE_CLI: take this environment as it is, and not that of a login shell.
    env: {
      ...environment(home),
      VSCODE_CLI: "1",
      ...(searchPath ? { PATH: searchPath } : {}),
    },
    stdio: ["ignore", log, log],
    detached: true,
  });
  // Ends the extension hosts and what they have started, too.
  const stopServer = () => {
    try {
      process.kill(-server.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  process.on("exit", stopServer);
  try {
    await answering(`http://127.0.0.1:${port}/healthz`, server);
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-gpu"],
    });
    const context = await browser.newContext({
      viewport: { width: 1200, height: 720 },
    });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on("console", (message) => {
      fs.appendFileSync(path.join(home.home, "browser.log"), `${message.type()} ${message.text()}\n`);
    });
    const uri = (name) => ({
      scheme: "vscode-remote",
      authority: `127.0.0.1:${port}`,
      path: name,
    });
    if (developed) {
      await developing(page, {
        extensions: [uri(developed)],
        extensionTestsPath: uri(tests),
      });
    }
    const payload = file ? [["openFile", `vscode-remote://127.0.0.1:${port}${path.join(folder, file)}`]] : [];
    const address = new URL(`http://127.0.0.1:${port}/`);
    address.searchParams.set("folder", folder);
    address.searchParams.set("payload", JSON.stringify(payload));
    const open = async () => {
      await page.goto(address.href);
      await page.locator(".monaco-workbench").waitFor();
    };
    const close = async () => {
      await browser.close();
      stopServer();
    };
    return {
      page,
      open,
      close,
      home,
      log: () => fs.readFileSync(path.join(home.home, "code-server.log"), "utf8"),
    };
  } catch (error) {
    stopServer();
    throw error;
  }
}

/**
 * Let the editor run an extension from its folder, with its tests.
 *
 * The newest editors do not take this from the address, so that it is put into the page before its scripts run.
 */
async function developing(page, options) {
  await page.addInitScript((developmentOptions) => {
    document.addEventListener("readystatechange", () => {
      const element =
        document.readyState === "interactive" && document.getElementById("vscode-workbench-web-configuration");
      if (element) {
        const settings = JSON.parse(element.getAttribute("data-settings"));
        settings.developmentOptions = {
          ...settings.developmentOptions,
          ...developmentOptions,
        };
        element.setAttribute("data-settings", JSON.stringify(settings));
      }
    });
  }, options);
}

function folders({ user, extensions }) {
  return ["--user-data-dir", user, "--extensions-dir", extensions];
}

function environment({ home }) {
  const own = {
    XDG_CONFIG_HOME: "config",
    XDG_DATA_HOME: "data",
    XDG_CACHE_HOME: "cache",
    XDG_STATE_HOME: "state",
  };
  const paths = Object.entries(own).map(([name, folder]) => [name, path.join(home, folder)]);
  return { ...process.env, ...Object.fromEntries(paths) };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const listener = net.createServer();
    listener.on("error", reject);
    listener.listen(0, "127.0.0.1", () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}

async function answering(address, server) {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    if (server.exitCode !== null) {
      throw new Error(`code-server has ended with status ${server.exitCode}`);
    }
    const answer = await fetch(address).catch(() => undefined);
    if (answer?.ok) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("code-server does not answer");
}
