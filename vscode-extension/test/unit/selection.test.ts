import assert from "node:assert/strict";
import { test } from "node:test";
import type { Launch } from "../../src/server/launch";
import type { Ended, runProgram } from "../../src/server/runProgram";
import { checkedServer, firstUsable, Unusable } from "../../src/server/selection";
import { isAtLeast, versionIn } from "../../src/server/version";

const ENDED: Ended = { status: 0, output: "", errors: "", reason: undefined };

/** Programs by their name, and how they end when they are asked for their version. */
function programs(ends: Readonly<Record<string, Partial<Ended>>>): typeof runProgram {
  return (program) =>
    Promise.resolve({ ...ENDED, ...(ends[program] ?? { status: undefined, reason: "no such file" }) });
}

function launch(program: string): Launch {
  return { program, words: [], origin: "here" };
}

test("the first program that is new enough is used, and the faults of those before it are reported", async () => {
  const run = programs({
    broken: { status: 1, errors: "Traceback\nModuleNotFoundError: No module named 'yaml'\n" },
    silent: { status: 3 },
    other: { output: "GNU bash, version 5\n" },
    old: { output: "pai-lsp 0.0.9\n" },
    good: { output: "pai-lsp 0.1.0\n" },
    never: { output: "pai-lsp 9.0\n" },
  });
  const reported: string[] = [];
  const names = ["missing", "broken", "silent", "other", "old", "good", "never"];
  const server = await firstUsable(names.map(launch), "/", (reason) => reported.push(reason), run);
  assert.deepEqual([server?.launch.program, server?.version], ["good", "0.1.0"]);
  assert.deepEqual(reported, [
    "'missing' (here) is not pai-lsp: no such file",
    "'broken' (here) is not pai-lsp: it printed 'ModuleNotFoundError: No module named 'yaml''",
    "'silent' (here) is not pai-lsp: it exited with status 3 and printed nothing",
    "'other' (here) is not pai-lsp: it printed 'GNU bash, version 5'",
    "'old' (here) is pai-lsp 0.0.9; this extension needs 0.1.0 or later",
  ]);
});

test("without a usable program no server is found", async () => {
  assert.equal(await firstUsable([launch("missing")], "/", () => undefined, programs({})), undefined);
  await assert.rejects(checkedServer(launch("missing"), "/", programs({})), Unusable);
});

const VERSIONS: readonly (readonly [printed: string, version: string | undefined])[] = [
  ["pai-lsp 0.1.0\n", "0.1.0"],
  ["pai-lsp 1.2.0rc1\r\n", "1.2.0rc1"],
  ["pai-lsp 2.0.dev3+g12ab\n", "2.0.dev3+g12ab"],
  ["", undefined],
  ["pai-lsp\n", undefined],
  ["other 0.1.0\n", undefined],
  ["pai-lsp 0.1.0 and more\n", undefined],
];
for (const [printed, version] of VERSIONS) {
  test(`the version in ${JSON.stringify(printed)}`, () => assert.equal(versionIn(printed), version));
}

const ORDER: readonly (readonly [version: string, oldest: string, isEnough: boolean])[] = [
  ["0.1.0", "0.1.0", true],
  ["0.1", "0.1.0", true],
  ["0.10.0", "0.9.9", true],
  ["0.9.9", "0.10.0", false],
  ["1.0.0rc1", "1.0.0", true],
  ["3.9.18", "3.10", false],
  ["3.10.0", "3.10", true],
];
for (const [version, oldest, isEnough] of ORDER) {
  test(`${version} is ${isEnough ? "" : "not "}at least ${oldest}`, () =>
    assert.equal(isAtLeast(version, oldest), isEnough));
}
