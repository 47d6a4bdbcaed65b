import assert from "node:assert/strict";
import { test } from "node:test";
import {
  commandLine,
  configuredLaunch,
  folderInterpreters,
  installedLaunches,
  onSearchPath,
  type Surroundings,
  WrongSetting,
} from "../../src/server/launch";

function machine(files: readonly string[], more: Partial<Surroundings> = {}): Surroundings {
  return {
    platform: "linux",
    home: "/home/ada",
    folder: "/work/jobs",
    searchPath: "/usr/local/bin:/usr/bin",
    isProgram: (path) => files.includes(path),
    ...more,
  };
}

const WINDOWS: Partial<Surroundings> = {
  platform: "win32",
  home: "C:\\Users\\ada",
  folder: "C:\\jobs",
  searchPath: "C:\\Windows;C:\\Python\\Scripts",
};

const SETTINGS: readonly (readonly [setting: unknown, program: string | undefined, words: readonly string[]])[] = [
  [null, undefined, []],
  ["", undefined, []],
  [[], undefined, []],
  ["/opt/pai lsp/bin/pai-lsp", "/opt/pai lsp/bin/pai-lsp", []],
  ["pai-lsp", "/usr/bin/pai-lsp", []],
  ["not-installed", "not-installed", []],
  ["~/bin/pai-lsp", "/home/ada/bin/pai-lsp", []],
  ["${workspaceFolder}/.venv/bin/pai-lsp", "/work/jobs/.venv/bin/pai-lsp", []],
  [["uvx", "pai-lsp"], "uvx", ["pai-lsp"]],
  [["pai-lsp", "server"], "/usr/bin/pai-lsp", []],
  [["python3", "-m", "pai_lsp", "server"], "python3", ["-m", "pai_lsp"]],
];

for (const [setting, program, words] of SETTINGS) {
  test(`the setting ${JSON.stringify(setting)} starts ${program ?? "nothing"}`, () => {
    const launch = configuredLaunch(setting, machine(["/usr/bin/pai-lsp"]));
    assert.equal(launch?.program, program);
    assert.deepEqual(launch?.words ?? [], words);
  });
}

for (const setting of [7, { program: "pai-lsp" }, ["pai-lsp", 7]]) {
  test(`the setting ${JSON.stringify(setting)} is refused`, () => {
    assert.throws(() => configuredLaunch(setting, machine([])), WrongSetting);
  });
}

test("the environments' servers come before the one on PATH, in the order of the interpreters", () => {
  const around = machine(["/a/bin/pai-lsp", "/b/bin/pai-lsp", "/usr/bin/pai-lsp"]);
  const interpreters = [
    { path: "/none/bin/python", origin: "none" },
    { path: "/b/bin/python", origin: "b" },
    { path: "/a/bin/python", origin: "a" },
    { path: "/b/bin/python3", origin: "b again" },
    { path: "python", origin: "no path" },
  ];
  assert.deepEqual(
    installedLaunches(interpreters, around).map(({ program, origin }) => [program, origin]),
    [
      ["/b/bin/pai-lsp", "b"],
      ["/a/bin/pai-lsp", "a"],
      ["/usr/bin/pai-lsp", "PATH"],
    ],
  );
});

test("relative folders on PATH would mean the open folder and are passed over", () => {
  const around = machine(["bin/pai-lsp", "./pai-lsp", "/usr/bin/pai-lsp"], { searchPath: "bin:.::/usr/bin" });
  assert.equal(onSearchPath("pai-lsp", around), "/usr/bin/pai-lsp");
});

test("environments in the folder are found", () => {
  assert.deepEqual(
    folderInterpreters(machine(["/work/jobs/venv/bin/python"])).map(({ path }) => path),
    ["/work/jobs/venv/bin/python"],
  );
  assert.deepEqual(folderInterpreters(machine([], { folder: undefined })), []);
});

test("on Windows the programs are .exe files, and a conda interpreter lies above them", () => {
  const around = machine(
    ["C:\\conda\\Scripts\\pai-lsp.exe", "C:\\Python\\Scripts\\pai-lsp.exe", "C:\\jobs\\.venv\\Scripts\\python.exe"],
    WINDOWS,
  );
  assert.deepEqual(
    installedLaunches([{ path: "C:\\conda\\python.exe", origin: "conda" }], around).map(({ program }) => program),
    ["C:\\conda\\Scripts\\pai-lsp.exe", "C:\\Python\\Scripts\\pai-lsp.exe"],
  );
  assert.deepEqual(
    folderInterpreters(around).map(({ path }) => path),
    ["C:\\jobs\\.venv\\Scripts\\python.exe"],
  );
});

test("a command line can be read and copied", () => {
  assert.equal(commandLine({ program: "/a b/pai-lsp", words: ["-v"], origin: "" }), '"/a b/pai-lsp" -v');
});
