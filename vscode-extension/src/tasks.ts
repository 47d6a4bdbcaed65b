/** The server's program on its command line: in tasks that people define, and for commands that ask in a terminal. */

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { NoAnswer } from "./ask";
import type { Controller } from "./server/controller";
import type { Launch } from "./server/launch";

const TYPE = "openpai";
const MATCHER = "$pai-lsp";

/** A task in `tasks.json`. */
interface Definition extends vscode.TaskDefinition {
  readonly task?: unknown;
  readonly paths?: unknown;
}

/** `pai-lsp check` as a task whose findings are shown as problems, with the server that the window uses. */
export class CheckTasks implements vscode.TaskProvider, vscode.Disposable {
  private readonly registration: vscode.Disposable;

  constructor(private readonly controller: Controller) {
    this.registration = vscode.tasks.registerTaskProvider(TYPE, this);
  }

  /** The tasks that the extension provides: one for each folder, in windows with a job. */
  provideTasks(): vscode.Task[] {
    const { launch } = this.controller;
    const folders = vscode.workspace.workspaceFolders ?? [];
    return launch === undefined
      ? []
      : folders.map((folder) => checkTask(launch, { type: TYPE, task: "check" }, folder));
  }

  async resolveTask(task: vscode.Task): Promise<vscode.Task | undefined> {
    const definition: Definition = task.definition;
    await this.controller.start();
    const { launch } = this.controller;
    if (launch === undefined || definition.task !== "check") {
      return undefined;
    }
    return checkTask(launch, definition, typeof task.scope === "object" ? task.scope : vscode.TaskScope.Workspace);
  }

  dispose(): void {
    this.registration.dispose();
  }
}

function checkTask(
  launch: Launch,
  definition: Definition,
  scope: vscode.WorkspaceFolder | vscode.TaskScope,
): vscode.Task {
  const paths = Array.isArray(definition.paths) ? definition.paths.map(String) : [];
  const words = [...launch.words, "check", "--format", "concise", ...(paths.length > 0 ? ["--", ...paths] : [])];
  const options = typeof scope === "object" ? { cwd: scope.uri.fsPath } : {};
  const run = new vscode.ProcessExecution(launch.program, words, options);
  return new vscode.Task(definition, scope, "check", "OpenPAI", run, MATCHER);
}

/**
 * What a command line prints as JSON, without a terminal.
 *
 * @throws NoAnswer when no server runs, the folder is not trusted, or the exit status is not one of `statuses`.
 */
export async function printedAnswer(
  controller: Controller,
  words: readonly string[],
  statuses: readonly number[] = [0],
): Promise<unknown> {
  const launch = await trustedLaunch(controller);
  const cwd = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file")?.uri.fsPath;
  const options = { cwd, timeout: 120_000, maxBuffer: 64 * 1024 * 1024, windowsHide: true };
  return new Promise((resolve, reject) => {
    execFile(launch.program, [...launch.words, ...words], options, (error, output, messages) => {
      const status = error === null ? 0 : error.code;
      // The last line is the failure; warnings come before it.
      const [last = ""] = messages.trim().split("\n").slice(-1);
      if (typeof status !== "number" || !statuses.includes(status) || output === "") {
        reject(new NoAnswer(last.replace(/^pai-lsp( \w+)?: /, "") || "the program gave no answer"));
        return;
      }
      try {
        resolve(JSON.parse(output));
      } catch {
        reject(new NoAnswer("the program's answer cannot be read"));
      }
    });
  });
}

async function trustedLaunch(controller: Controller): Promise<Launch> {
  if (!vscode.workspace.isTrusted) {
    throw new NoAnswer("this command runs only in a trusted folder; see 'Workspaces: Manage Workspace Trust'");
  }
  await controller.client();
  const { launch } = controller;
  if (launch === undefined) {
    throw new NoAnswer("the server is not running; 'OpenPAI: Show Output' shows why");
  }
  return launch;
}

/**
 * Run a command line in a terminal, which stays after the end.
 *
 * @throws NoAnswer when no server runs, or the folder is not trusted.
 */
export async function runInTerminal(
  controller: Controller,
  title: string,
  words: readonly string[],
): Promise<vscode.TaskExecution> {
  const launch = await trustedLaunch(controller);
  const run = new vscode.ProcessExecution(launch.program, [...launch.words, ...words]);
  const task = new vscode.Task({ type: TYPE, task: words[0] }, vscode.TaskScope.Workspace, title, "OpenPAI", run);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, clear: true };
  return vscode.tasks.executeTask(task);
}

/**
 * The path of a job for a program: it is saved first.
 *
 * @throws NoAnswer when it has no file.
 */
export async function savedPath(job: vscode.TextDocument): Promise<string> {
  if (job.uri.scheme !== "file") {
    throw new NoAnswer("save the job to a file first");
  }
  if (job.isDirty && !(await job.save())) {
    throw new NoAnswer("the job could not be saved");
  }
  return job.uri.fsPath;
}
