/**
 * The programs that can be the language server, in the order in which they are tried.
 *
 * All facts about the machine are parameters, so that tests can check the order with a table of cases.
 */

import * as path from "node:path";

/** A program that is `pai-lsp` when `words` follow it; `server` or `--version` come after them. */
export interface Launch {
  readonly program: string;
  readonly words: readonly string[];
  /** Its origin, as shown to the user. */
  readonly origin: string;
}

/** The path of a Python interpreter, and its origin. */
export interface Interpreter {
  readonly path: string;
  readonly origin: string;
}

/** The inputs of the search. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  /** The home folder, for `~`. */
  readonly home: string;
  /** The first folder of the workspace. */
  readonly folder: string | undefined;
  /** The folders of PATH, unchanged. */
  readonly searchPath: string;
  /** Whether the path is a file that can be run. */
  readonly isProgram: (path: string) => boolean;
}

/** A setting that cannot be used; the message is for the user. */
export class WrongSetting extends Error {}

/**
 * The server that the setting `openpai.server.command` names, or undefined when it is empty.
 *
 * A string is the path of a program and is not split: paths have spaces. A list is a program and its arguments; a last
 * `server` in it is taken off, for it is added again.
 *
 * @throws WrongSetting when it is neither.
 */
export function configuredLaunch(setting: unknown, around: Surroundings): Launch | undefined {
  if (setting === null || setting === undefined || setting === "") {
    return undefined;
  }
  const words: unknown[] = Array.isArray(setting) ? setting : [setting];
  if (!words.every((word): word is string => typeof word === "string")) {
    throw new WrongSetting("'openpai.server.command' is a path, or a list of a program and its arguments");
  }
  const [program, ...rest] = words.map((word) => expanded(word, around));
  if (!program) {
    return undefined;
  }
  if (rest.at(-1) === "server") {
    rest.pop();
  }
  return { program: named(program, around), words: rest, origin: "the setting 'openpai.server.command'" };
}

/** `pai-lsp` in the environments of the interpreters, in their order, then the one on PATH. */
export function installedLaunches(interpreters: readonly Interpreter[], around: Surroundings): Launch[] {
  const found: Launch[] = [];
  for (const interpreter of interpreters) {
    const script = besideInterpreter(interpreter.path, around);
    if (script !== undefined) {
      found.push({ program: script, words: [], origin: interpreter.origin });
    }
  }
  const onPath = onSearchPath("pai-lsp", around);
  if (onPath !== undefined) {
    found.push({ program: onPath, words: [], origin: "PATH" });
  }
  return found.filter((launch, index) => found.findIndex((other) => other.program === launch.program) === index);
}

/** The absolute path of a program on PATH. Relative parts of PATH are skipped: they would mean the open folder. */
export function onSearchPath(name: string, around: Surroundings): string | undefined {
  const paths = flavour(around);
  return around.searchPath
    .split(paths.delimiter)
    .filter((folder) => paths.isAbsolute(folder))
    .map((folder) => paths.join(folder, fileName(name, around)))
    .find(around.isProgram);
}

/** The interpreters of environments that lie in the folder itself. */
export function folderInterpreters(around: Surroundings): Interpreter[] {
  const { folder } = around;
  if (folder === undefined) {
    return [];
  }
  const paths = flavour(around);
  const place = around.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  return [".venv", "venv"]
    .map((name) => ({ path: paths.join(folder, name, ...place), origin: `the environment '${name}' of the folder` }))
    .filter((interpreter) => around.isProgram(interpreter.path));
}

/** A path in a setting, with `${workspaceFolder}` and `~` replaced. */
export function expanded(text: string, around: Surroundings): string {
  const home = text === "~" || text.startsWith("~/") || text.startsWith("~\\") ? around.home + text.slice(1) : text;
  return home.replaceAll("${workspaceFolder}", around.folder ?? "");
}

/** How the program and its words look on a command line; only for people to read. */
export function commandLine(launch: Launch): string {
  return [launch.program, ...launch.words].map((word) => (/[\s"']/.test(word) ? JSON.stringify(word) : word)).join(" ");
}

function named(program: string, around: Surroundings): string {
  const isBare = !/[\\/]/.test(program);
  return (isBare ? onSearchPath(program, around) : undefined) ?? program;
}

function besideInterpreter(interpreter: string, around: Surroundings): string | undefined {
  const paths = flavour(around);
  if (!paths.isAbsolute(interpreter)) {
    return undefined;
  }
  // Conda on Windows has its interpreter one folder above its scripts.
  const folders = around.platform === "win32" ? [".", "Scripts"] : ["."];
  return folders
    .map((folder) => paths.join(paths.dirname(interpreter), folder, fileName("pai-lsp", around)))
    .find(around.isProgram);
}

function fileName(name: string, around: Surroundings): string {
  return around.platform === "win32" && !name.toLowerCase().endsWith(".exe") ? `${name}.exe` : name;
}

function flavour(around: Surroundings): path.PlatformPath {
  return around.platform === "win32" ? path.win32 : path.posix;
}
