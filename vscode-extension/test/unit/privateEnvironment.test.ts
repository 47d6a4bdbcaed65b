import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import {
  bundleIn,
  makePrivateServer,
  privateServer,
  pythonFor,
  type SetupOptions,
} from "../../src/server/privateEnvironment";
import type { Interpreter, Launch } from "../../src/server/launch";
import { SetupFailure } from "../../src/server/setupFailure";

/** What a Python of these tests does: shell lines for its version, for `-m venv FOLDER`, and for its pip. */
interface Script {
  readonly version?: string;
  readonly venv?: string;
  readonly pip?: string;
}

const isPosix = process.platform !== "win32";

function folder(): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), "pai-lsp-unit-"));
  process.on("exit", () => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A stand-in for Python that notes what it was called with, and makes environments with itself in them. */
function python(place: string, { version = "3.12.1", venv = "", pip = "" }: Script): string {
  const program = path.join(place, "python");
  const lines = [
    "#!/bin/sh",
    `echo "$*" >>'${place}/calls'`,
    'case "$*" in',
    `*"-m venv"*) ${venv || `mkdir -p "$4/bin" && cp '${program}' "$4/bin/python"`} ;;`,
    `*"-m pip"*) ${pip || "true"} ;;`,
    `*) echo ${version}; echo '${program}' ;;`,
    "esac",
  ];
  fs.writeFileSync(program, lines.join("\n"), { mode: 0o755 });
  return program;
}

interface Setup extends Omit<SetupOptions, "python"> {
  readonly interpreters: readonly Interpreter[];
}

async function options(script: Script, more: Partial<Setup> = {}): Promise<Setup> {
  const place = folder();
  fs.writeFileSync(path.join(place, "pai_lsp-0.1.0-py3-none-any.whl"), "a wheel");
  fs.writeFileSync(path.join(place, "requirements.txt"), "a==1 --hash=sha256:0");
  const bundle = await bundleIn(place);
  assert.ok(bundle);
  return {
    bundle,
    storage: path.join(place, "storage"),
    interpreters: [{ path: python(place, script), origin: "the test" }],
    mayDownload: true,
    signal: new AbortController().signal,
    onStep: () => undefined,
    onText: () => undefined,
    ...more,
  };
}

async function made(setup: Setup): Promise<Launch> {
  const python = await pythonFor(setup.bundle, setup.interpreters, setup.mayDownload);
  return makePrivateServer({ ...setup, python });
}

async function failureOf(setup: Setup): Promise<string> {
  try {
    return `it made ${(await made(setup)).program}`;
  } catch (error) {
    return error instanceof SetupFailure ? error.kind : String(error);
  }
}

test("an environment is made once, and again for another wheel", { skip: !isPosix }, async () => {
  const setup = await options({});
  assert.equal(await privateServer(setup.bundle, setup.storage), undefined);
  const server = await made(setup);
  assert.deepEqual(server.words, ["-I", "-m", "pai_lsp"]);
  assert.deepEqual(await privateServer(setup.bundle, setup.storage), server);
  fs.writeFileSync(setup.bundle.wheel, "a newer wheel");
  assert.equal(await privateServer(setup.bundle, setup.storage), undefined);
});

test("an environment whose Python is gone is not used", { skip: !isPosix }, async () => {
  const setup = await options({});
  const server = await made(setup);
  fs.rmSync(server.program);
  assert.equal(await privateServer(setup.bundle, setup.storage), undefined);
});

const FAILURES: readonly (readonly [script: Script, kind: string])[] = [
  [{ version: "3.9.18" }, "old-python"],
  [{ venv: "echo 'ensurepip is not available' >&2; exit 1" }, "no-venv"],
  [{ pip: "echo 'ERROR: [Errno 28] No space left on device' >&2; exit 1" }, "other"],
  [{ pip: "echo 'ConnectTimeoutError' >&2; exit 1" }, "no-network"],
];
for (const [script, kind] of FAILURES) {
  test(`'${kind}' leaves nothing on the disk`, { skip: !isPosix }, async () => {
    const setup = await options(script);
    assert.equal(await failureOf(setup), kind);
    assert.deepEqual(fs.existsSync(setup.storage) ? fs.readdirSync(setup.storage) : [], []);
  });
}

test("a setup that is stopped ends at once and leaves nothing on the disk", { skip: !isPosix }, async () => {
  const stop = new AbortController();
  const onStep = (step: string) => {
    if (step.startsWith("installing")) {
      setTimeout(() => stop.abort(), 20);
    }
  };
  const setup = await options({ pip: "exec sleep 30" }, { signal: stop.signal, onStep });
  assert.equal(await failureOf(setup), "stopped");
  assert.deepEqual(fs.readdirSync(setup.storage), []);
});

test("where nothing may be downloaded, Python is not even looked for", { skip: !isPosix }, async () => {
  const setup = await options({}, { mayDownload: false });
  assert.equal(await failureOf(setup), "not-allowed");
  assert.ok(!fs.existsSync(path.join(path.dirname(setup.storage), "calls")));
});

test(
  "packages that are carried are tried first, and downloaded where they do not fit",
  { skip: !isPosix },
  async () => {
    const setup = await options({ pip: `case "$*" in *--find-links*) exit 1 ;; esac` });
    const bundle = { ...setup.bundle, wheelhouse: "/carried" };
    await made({ ...setup, bundle });
    const calls = fs.readFileSync(path.join(path.dirname(setup.storage), "calls"), "utf8").split("\n");
    const pip = calls
      .filter((call) => call.includes("-m pip"))
      .map((call) => call.replace(/^.*--no-input /, "").replaceAll(path.dirname(setup.storage), ""));
    assert.deepEqual(pip, [
      "--require-hashes --only-binary :all: --no-index --find-links /carried -r /requirements.txt",
      "--require-hashes --only-binary :all: -r /requirements.txt",
      "--no-index --no-deps /pai_lsp-0.1.0-py3-none-any.whl",
    ]);
    assert.equal(await failureOf({ ...setup, bundle, mayDownload: false }), "other");
  },
);

test("environments that were not used for long are removed", { skip: !isPosix }, async () => {
  const setup = await options({});
  for (const [name, days] of [
    ["environment-old", 30],
    ["environment-new", 1],
  ] as const) {
    const place = path.join(setup.storage, name);
    fs.mkdirSync(place, { recursive: true });
    const time = Date.now() / 1000 - days * 24 * 60 * 60;
    fs.utimesSync(place, time, time);
  }
  await made(setup);
  const left = fs.readdirSync(setup.storage);
  assert.ok(!left.includes("environment-old"));
  assert.ok(left.includes("environment-new"));
  const [used] = left.filter((name) => name.startsWith("environment-") && name !== "environment-new");
  assert.ok(used);
  fs.utimesSync(path.join(setup.storage, used), 0, 0);
  assert.ok(await privateServer(setup.bundle, setup.storage));
  assert.ok(fs.statSync(path.join(setup.storage, used)).mtimeMs > Date.now() - 60_000);
});
