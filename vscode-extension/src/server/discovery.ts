/**
 * Looks for the server: the one that the user has named, one that is installed, or the extension's own.
 *
 * In an untrusted folder, its settings and programs are ignored, and nothing is downloaded.
 */

import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { configuredLaunch, expanded, installedLaunches, type Interpreter, type Surroundings } from "./launch";
import { type Bundle, bundleIn, makePrivateServer, privateServer, pythonFor } from "./privateEnvironment";
import { interpretersOnPath } from "./python";
import { checkedServer, firstUsable, type Server, Unusable } from "./selection";
import { chosenInterpreters, surroundings } from "./surroundings";

export interface Discovery {
  readonly context: vscode.ExtensionContext;
  readonly output: vscode.LogOutputChannel;
  /** Gets what is being done while the extension's own environment is made. */
  readonly onStep: (step: string) => void;
}

/**
 * The server to start; if none is found, the extension's own is installed, with progress shown.
 *
 * @throws WrongSetting, Unusable or SetupFailure, with a message for the user.
 */
export async function findOrMakeServer(discovery: Discovery): Promise<Server> {
  const around = surroundings();
  const chosen = await interpreters(around, discovery.output);
  const found = await findServer(discovery, around, chosen);
  if (found !== undefined) {
    return found;
  }
  const bundle = await carried(discovery.context);
  if (bundle === undefined) {
    throw new Unusable("'pai-lsp' was not found: install it, or set 'openpai.server.command' to it");
  }
  const mayDownload = vscode.workspace.isTrusted;
  const candidates = [...namedInterpreter(around), ...chosen, ...interpretersOnPath(around)];
  const python = await pythonFor(bundle, candidates, mayDownload);
  return withProgress(async (onStep, signal) => {
    const launch = await makePrivateServer({
      bundle,
      storage: storage(discovery.context),
      python,
      mayDownload,
      signal,
      onStep,
      onText: (text) => discovery.output.append(text),
    });
    return checkedServer(launch, storage(discovery.context));
  }, discovery.onStep);
}

/** The server that is already installed. */
export async function existingServer(discovery: Omit<Discovery, "onStep">): Promise<Server | undefined> {
  const around = surroundings();
  return findServer(discovery, around, await interpreters(around, discovery.output));
}

/** The server that the user has named or installed, and not the extension's own. */
export async function installedServer(discovery: Pick<Discovery, "output">): Promise<Server | undefined> {
  const around = surroundings();
  return namedOrInstalled(discovery, around, await interpreters(around, discovery.output));
}

/** The folder in which the server runs; never an untrusted one. */
export function folderToRunIn(): string {
  const { folder } = surroundings();
  return vscode.workspace.isTrusted && folder !== undefined ? folder : os.homedir();
}

async function findServer(
  discovery: Omit<Discovery, "onStep">,
  around: Surroundings,
  chosen: readonly Interpreter[],
): Promise<Server | undefined> {
  const { context, output } = discovery;
  const found = await namedOrInstalled(discovery, around, chosen);
  if (found !== undefined) {
    return found;
  }
  const bundle = await carried(context);
  const made = bundle === undefined ? undefined : await privateServer(bundle, storage(context));
  // A broken one, whose Python was removed, is created again.
  return made === undefined ? undefined : firstUsable([made], storage(context), (reason) => output.warn(reason));
}

async function namedOrInstalled(
  { output }: Pick<Discovery, "output">,
  around: Surroundings,
  chosen: readonly Interpreter[],
): Promise<Server | undefined> {
  const configured = configuredLaunch(setting("command"), around);
  if (configured !== undefined) {
    return checkedServer(configured, folderToRunIn());
  }
  return vscode.workspace.isTrusted
    ? firstUsable(installedLaunches(chosen, around), folderToRunIn(), (reason) => output.warn(reason))
    : undefined;
}

function interpreters(around: Surroundings, output: vscode.LogOutputChannel): Promise<readonly Interpreter[]> {
  return vscode.workspace.isTrusted ? chosenInterpreters(around, (text) => output.warn(text)) : Promise.resolve([]);
}

function namedInterpreter(around: Surroundings): readonly Interpreter[] {
  const named = setting("python");
  return typeof named === "string" && named !== ""
    ? [{ path: expanded(named, around), origin: "the setting 'openpai.server.python'" }]
    : [];
}

/** In an untrusted folder, the user's own value: VS Code leaves out the folder's, and this does not rely on it. */
function setting(name: string): unknown {
  const settings = vscode.workspace.getConfiguration("openpai.server");
  return vscode.workspace.isTrusted ? settings.get<unknown>(name) : settings.inspect<unknown>(name)?.globalValue;
}

function carried(context: vscode.ExtensionContext): Promise<Bundle | undefined> {
  return bundleIn(context.asAbsolutePath("server"));
}

function storage(context: vscode.ExtensionContext): string {
  return path.join(context.globalStorageUri.fsPath, "server");
}

/** Creating an environment takes a while: show progress and allow to cancel. */
function withProgress(
  work: (onStep: (step: string) => void, signal: AbortSignal) => Promise<Server>,
  onStep: (step: string) => void,
): Thenable<Server> {
  const stop = new AbortController();
  const options = { location: vscode.ProgressLocation.Notification, title: "OpenPAI", cancellable: true };
  return vscode.window.withProgress(options, (progress, token) => {
    token.onCancellationRequested(() => stop.abort());
    return work((message) => {
      progress.report({ message });
      onStep(message);
    }, stop.signal);
  });
}
