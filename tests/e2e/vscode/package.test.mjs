// What is in the .vsix: the same bytes each time, and nothing but what belongs there.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sourceAddress } from "../../../vscode-extension/scripts/sourceAddress.mjs";
import { temporaryFolder } from "./codeServer.mjs";

const PROJECT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../..");

test("another build of the same source is the same, byte for byte", { timeout: 120_000 }, () => {
  const build = path.join(copyOfSource(), "scripts/build_vsix.sh");
  const environment = {
    ...process.env,
    PAI_LSP_PYTHON: process.env.E2E_PYTHON_ENVIRONMENT,
  };
  const built = execFileSync(build, ["--into", temporaryFolder("vsix")], { env: environment, encoding: "utf8" });
  assert.match(path.basename(built.trim()), /^openpai-jobs-[\d.]+\.vsix$/);
  assert.ok(fs.readFileSync(built.trim()).equals(fs.readFileSync(process.env.E2E_VSIX)));
});

test("it holds the extension, its server and nothing else", () => {
  const names = fs
    .readdirSync(process.env.E2E_STAGE, {
      recursive: true,
      withFileTypes: true,
    })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(process.env.E2E_STAGE, path.join(entry.parentPath, entry.name)))
    .map((name) => name.replace(/^media\/pictures\/[\w-]+\.png$/, "media/pictures/*.png"))
    .map((name) => name.replace(/^server\/wheelhouse\/[\w.-]+\.whl$/, "server/wheelhouse/*.whl"))
    .map((name) => name.replace(/-\d[\w.]*-py3-none-any/, "-VERSION-py3-none-any"));
  assert.deepEqual([...new Set(names)].sort(), [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "THIRD-PARTY-NOTICES.md",
    "dist/extension.js",
    "dist/graphviz.js",
    "language-configuration.json",
    "media/graph-dark.svg",
    "media/graph-light.svg",
    "media/icon.png",
    "media/job-dark.svg",
    "media/job-light.svg",
    "media/pictures/*.png",
    "package.json",
    "package.nls.json",
    "package.nls.zh-cn.json",
    "server/pai_lsp-VERSION-py3-none-any.whl",
    "server/requirements.txt",
    "server/wheelhouse/*.whl",
    "syntaxes/openpai-job.tmLanguage.json",
  ]);
  const readme = fs.readFileSync(path.join(process.env.E2E_STAGE, "README.md"), "utf8");
  assert.doesNotMatch(readme, /(?<!!\[[^\]]*)\]\((?!https:|#)/, "relative links lead nowhere in a .vsix");
  assert.doesNotMatch(readme, /!\[|data:/, "pictures of the page would be in its text");
});

test("its page links to the repository that it was built from", () => {
  const address = "https://example.com/team/pai-lsp";
  const folder = copyOfSource(`${address}.git`);
  const stage = temporaryFolder("stage");
  const [wheel] = fs.readdirSync(path.join(process.env.E2E_STAGE, "server")).filter((name) => name.endsWith(".whl"));
  const files = [path.join(process.env.E2E_STAGE, "server", wheel), path.join(process.env.E2E_STAGE, "../rules.json")];
  const words = [stage, ...files, path.join(folder, "requirements/server.txt")];
  execFileSync(process.execPath, [path.join(folder, "vscode-extension/scripts/stage.mjs"), ...words]);
  const { repository, bugs } = JSON.parse(fs.readFileSync(path.join(stage, "package.json"), "utf8"));
  assert.deepEqual(repository, { type: "git", url: `${address}.git` });
  assert.deepEqual(bugs, { url: `${address}/issues` });
});

test("the address of a repository has no user, password or port", () => {
  const address = "https://example.com/team/pai-lsp";
  for (const origin of [
    address,
    `${address}.git`,
    `${address}/`,
    "https://someone:s3cret@example.com/team/pai-lsp.git",
    "https://example.com:8443/team/pai-lsp",
    "git@example.com:team/pai-lsp.git",
    "ssh://git@example.com/team/pai-lsp",
    "ssh://git@example.com:2222/team/pai-lsp.git\n",
  ]) {
    assert.equal(sourceAddress(origin), address, origin);
  }
  for (const origin of [
    "",
    "/srv/pai-lsp",
    "../pai-lsp",
    "file:///srv/pai-lsp.git",
    "C:\\pai-lsp",
    "https://example.com/",
  ]) {
    assert.equal(sourceAddress(origin), undefined, origin);
  }
});

test("tasks show each line that a check prints as a problem", () => {
  const { contributes } = JSON.parse(fs.readFileSync(path.join(process.env.E2E_STAGE, "package.json"), "utf8"));
  const [{ regexp, file, line, column, severity, code, message }] = contributes.problemPatterns;
  const words = ["check", "--format", "concise", "--severity", "hint", "--color", "never", "."];
  const cwd = path.join(PROJECT, "tests/e2e/vscode/workspace");
  const lines = spawnSync(process.env.E2E_PAI_LSP, words, { cwd, encoding: "utf8" }).stdout.trim().split("\n");
  const found = lines.map((one) => new RegExp(regexp).exec(one));
  assert.deepEqual(
    found.map((one) => one && [file, line, column, severity, code].map((group) => one[group])),
    [
      ["plain.yaml", "6", "31", "hint", "unused-prerequisite"],
      ["plain.yaml", "10", "18", "error", "unknown-docker-image"],
      ["train.pai.yaml", "10", "11", "hint", "unused-prerequisite"],
      ["train.pai.yaml", "26", "21", "error", "unknown-prerequisite"],
    ],
  );
  assert.match(found[3][message], /^no prerequisite is named 'minst'/);
  // VS Code knows "info"; ours is called "information".
  assert.equal(new RegExp(regexp).exec("a b.yaml:1:2: information[code] text")[severity], "info");
});

test("the severity of each rule can be chosen in the settings page", () => {
  const { contributes } = JSON.parse(fs.readFileSync(path.join(process.env.E2E_STAGE, "package.json"), "utf8"));
  const settings = Object.assign({}, ...contributes.configuration.map(({ properties }) => properties));
  const rules = Object.values(settings["openpai.rules"].properties);
  assert.ok(rules.length > 50);
  // Without a type, VS Code only offers to edit the JSON.
  assert.deepEqual([...new Set(rules.map(({ type }) => type))], ["string"]);
});

/** The files that are in the repository, as they are now, and its address: what is built beside them does not count. */
function copyOfSource(origin = originOf(PROJECT)) {
  const folder = temporaryFolder("source");
  const names = execFileSync("git", ["ls-files", "-z"], { cwd: PROJECT, encoding: "utf8" }).split("\0");
  for (const name of names.filter((one) => one && fs.existsSync(path.join(PROJECT, one)))) {
    fs.cpSync(path.join(PROJECT, name), path.join(folder, name));
  }
  execFileSync("git", ["init", "--quiet", folder]);
  if (origin) {
    execFileSync("git", ["-C", folder, "remote", "add", "origin", origin]);
  }
  const modules = "vscode-extension/node_modules";
  fs.symlinkSync(path.join(PROJECT, modules), path.join(folder, modules));
  return folder;
}

/** Empty for a folder without an origin. */
function originOf(folder) {
  return spawnSync("git", ["-C", folder, "remote", "get-url", "origin"], { encoding: "utf8" }).stdout.trim();
}
