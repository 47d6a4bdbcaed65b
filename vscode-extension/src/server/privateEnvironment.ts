/**
 * The extension's own Python environment: created once from the wheel that the extension includes.
 *
 * Every environment has a folder of its own, and `current.json` names the one in use. So two windows that make one at
 * the same time do not disturb each other, and one that was left half-made is never used.
 */

import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import type { Interpreter, Launch } from "./launch";
import { type Python, suitablePython } from "./python";
import { type Ended, runProgram } from "./runProgram";
import { environmentFailure, installFailure, SetupFailure } from "./setupFailure";

/** The files that the extension includes. */
export interface Bundle {
  /** The path of the server's wheel. */
  readonly wheel: string;
  /** The path of a file with the versions and hashes of everything that the server needs. */
  readonly requirements: string;
  /** A folder with the wheels of everything that the server needs; with it nothing is downloaded. */
  readonly wheelhouse: string | undefined;
}

export interface SetupOptions {
  readonly bundle: Bundle;
  /** The folder under which the environments lie. */
  readonly storage: string;
  readonly python: Python;
  readonly mayDownload: boolean;
  readonly signal: AbortSignal;
  /** Receives the current step, for the user. */
  readonly onStep: (step: string) => void;
  /** Receives the output of the programs. */
  readonly onText: (text: string) => void;
}

const CURRENT = "current.json";
const REQUIREMENTS = "requirements.txt";
const MILLISECONDS_FOR_ENVIRONMENT = 120_000;
const MILLISECONDS_FOR_PACKAGES = 600_000;
/** How long unused environments are kept: another window may still run one. */
const MILLISECONDS_KEPT = 7 * 24 * 60 * 60 * 1000;

/** The included files, or undefined when the extension was built without a server. */
export async function bundleIn(folder: string): Promise<Bundle | undefined> {
  const names = await fs.readdir(folder).catch((): string[] => []);
  const wheel = names.find((name) => /^pai_lsp-.*\.whl$/.test(name));
  const wheelhouse = names.includes("wheelhouse") ? path.join(folder, "wheelhouse") : undefined;
  if (wheel === undefined || !names.includes(REQUIREMENTS)) {
    return undefined;
  }
  return { wheel: path.join(folder, wheel), requirements: path.join(folder, REQUIREMENTS), wheelhouse };
}

/** The server of the environment that was created from this bundle, or undefined. */
export async function privateServer(bundle: Bundle, storage: string): Promise<Launch | undefined> {
  try {
    const current: unknown = JSON.parse(await fs.readFile(path.join(storage, CURRENT), "utf8"));
    const { wheel, folder } = current as { wheel: unknown; folder: unknown };
    if (wheel !== (await fingerprint(bundle)) || typeof folder !== "string") {
      return undefined;
    }
    const python = interpreterIn(path.join(storage, path.basename(folder)));
    await fs.access(python, fs.constants.X_OK);
    // A newer extension in another window does not remove it soon.
    await fs.utimes(path.join(storage, path.basename(folder)), new Date(), new Date());
    return serverOf(python);
  } catch {
    return undefined;
  }
}

/**
 * The first Python that is new enough to create an environment.
 *
 * @throws SetupFailure when none is found, or when no environment may be created.
 */
export async function pythonFor(
  bundle: Bundle,
  interpreters: readonly Interpreter[],
  mayDownload: boolean,
): Promise<Python> {
  if (bundle.wheelhouse === undefined && !mayDownload) {
    throw new SetupFailure(
      "not-allowed",
      "the server is not installed yet, and nothing is downloaded in an untrusted folder",
    );
  }
  const python = await suitablePython(interpreters);
  if (python instanceof SetupFailure) {
    throw python;
  }
  return python;
}

/**
 * Create an environment from the bundle and return its server.
 *
 * @throws SetupFailure with the missing requirement.
 */
export async function makePrivateServer(options: SetupOptions): Promise<Launch> {
  const { bundle, storage, signal, python } = options;
  await fs.mkdir(storage, { recursive: true });
  await removeForgotten(storage);
  const folder = path.join(storage, `environment-${randomUUID()}`);
  try {
    options.onStep(`creating an environment with Python ${python.version}`);
    const step = { folder: storage, signal, onText: options.onText };
    const made = await runProgram(python.path, ["-I", "-m", "venv", folder], {
      ...step,
      milliseconds: MILLISECONDS_FOR_ENVIRONMENT,
    });
    refuseIfStopped(signal);
    if (made.status !== 0) {
      throw environmentFailure(python.path, allText(made));
    }
    options.onStep("installing the server and its dependencies");
    let installed: Ended | undefined;
    const install = async (words: readonly string[]): Promise<Ended> => {
      const ended = await runProgram(interpreterIn(folder), [...PIP_INSTALL, ...words], {
        ...step,
        milliseconds: MILLISECONDS_FOR_PACKAGES,
      });
      refuseIfStopped(signal);
      return ended;
    };
    for (const source of packageSources(bundle, options.mayDownload)) {
      installed = await install([...PINNED, ...source, "-r", bundle.requirements]);
      if (installed.status === 0) {
        installed = await install(["--no-index", "--no-deps", bundle.wheel]);
        break;
      }
    }
    if (installed?.status !== 0) {
      throw installFailure(allText(installed));
    }
    await writeCurrent(storage, { wheel: await fingerprint(bundle), folder: path.basename(folder) });
    return serverOf(interpreterIn(folder));
  } catch (error) {
    await fs.rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** `-I` keeps the open folder and PYTHONPATH out of the server. */
function serverOf(python: string): Launch {
  return { program: python, words: ["-I", "-m", "pai_lsp"], origin: "the extension's own environment" };
}

const PIP_INSTALL = ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"];

/** Nothing but the packages whose hashes are known, and no code of theirs runs while they are installed. */
const PINNED = ["--require-hashes", "--only-binary", ":all:"];

/** Options of pip for where packages come from, in the order to try. A wheelhouse fits one platform only. */
function packageSources(bundle: Bundle, mayDownload: boolean): string[][] {
  return [
    ...(bundle.wheelhouse ? [["--no-index", "--find-links", bundle.wheelhouse]] : []),
    ...(mayDownload ? [[]] : []),
  ];
}

function allText(ended: Ended | undefined): string {
  return ended === undefined ? "" : `${ended.output}\n${ended.errors}\n${ended.reason ?? ""}`;
}

function interpreterIn(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

async function fingerprint(bundle: Bundle): Promise<string> {
  return createHash("sha256")
    .update(await fs.readFile(bundle.wheel))
    .update(await fs.readFile(bundle.requirements))
    .digest("hex");
}

async function writeCurrent(storage: string, current: { wheel: string; folder: string }): Promise<void> {
  const written = path.join(storage, `${CURRENT}.${randomUUID()}`);
  await fs.writeFile(written, JSON.stringify(current));
  await fs.rename(written, path.join(storage, CURRENT));
}

async function removeForgotten(storage: string): Promise<void> {
  const now = Date.now();
  for (const name of await fs.readdir(storage)) {
    const place = path.join(storage, name);
    const { mtimeMs } = await fs.stat(place);
    if (name.startsWith("environment-") && now - mtimeMs > MILLISECONDS_KEPT) {
      await fs.rm(place, { recursive: true, force: true });
    }
  }
}

function refuseIfStopped(signal: AbortSignal): void {
  if (signal.aborted) {
    throw new SetupFailure("stopped", "the installation of the server was canceled");
  }
}
