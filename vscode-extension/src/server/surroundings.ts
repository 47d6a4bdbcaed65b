/** Reads from the machine and from VS Code what the search for a server looks at. */

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import { expanded, folderInterpreters, type Interpreter, type Surroundings } from "./launch";

/** The parts of the Python extension's interface that are used here; see its `api` package. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly id: string; readonly path: string };
    resolveEnvironment(
      environment: unknown,
    ): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

const PYTHON_EXTENSION = "ms-python.python";

/** The machine as it is now. */
export function surroundings(): Surroundings {
  return {
    platform: process.platform,
    home: os.homedir(),
    folder: vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file")?.uri.fsPath,
    searchPath: process.env.PATH ?? process.env.Path ?? "",
    isProgram,
  };
}

/** The interpreters that the user has chosen, the most deliberate choice first. */
export async function chosenInterpreters(
  around: Surroundings,
  tell: (text: string) => void,
): Promise<readonly Interpreter[]> {
  const found: Interpreter[] = [];
  const selected = await selectedInterpreter(tell);
  if (selected !== undefined) {
    found.push({ path: selected, origin: "the selected Python environment" });
  }
  const setting = vscode.workspace.getConfiguration("python").get<unknown>("defaultInterpreterPath");
  if (typeof setting === "string" && setting !== "") {
    found.push({ path: expanded(setting, around), origin: "the setting 'python.defaultInterpreterPath'" });
  }
  return [...found, ...folderInterpreters(around)];
}

/** Call back when another Python environment is selected; nothing when there is no Python extension. */
export async function watchSelectedInterpreter(onChange: () => void): Promise<vscode.Disposable> {
  const python = await pythonExtension();
  return python?.environments?.onDidChangeActiveEnvironmentPath(onChange) ?? new vscode.Disposable(() => undefined);
}

async function selectedInterpreter(tell: (text: string) => void): Promise<string | undefined> {
  try {
    const environments = (await pythonExtension())?.environments;
    if (environments === undefined) {
      return undefined;
    }
    const selected = environments.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
    return (await environments.resolveEnvironment(selected))?.executable.uri?.fsPath;
  } catch (error) {
    tell(`the Python extension did not report the selected environment: ${String(error)}`);
    return undefined;
  }
}

async function pythonExtension(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(PYTHON_EXTENSION);
  return extension === undefined ? undefined : await extension.activate();
}

function isProgram(path: string): boolean {
  try {
    fs.accessSync(path, fs.constants.X_OK);
    return fs.statSync(path).isFile();
  } catch {
    return false;
  }
}
