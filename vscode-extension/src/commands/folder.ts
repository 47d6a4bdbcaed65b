/** Checks all jobs in a folder; the server shows what it finds as problems, also in files that are not open. */

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { WorkDoneProgress } from "vscode-languageclient/node";
import { checkedFolder, type CheckedFolder } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";

const SHOW_PROBLEMS = "Show Problems";
const CLEAR = "Clear Problems";

/** Check the folder that the caller names, or all folders of the workspace. */
export async function checkFolder(controller: Controller, named?: unknown): Promise<void> {
  const folder = named instanceof vscode.Uri ? named : undefined;
  if (folder === undefined && vscode.workspace.workspaceFolders === undefined) {
    throw new NoAnswer("open a folder first");
  }
  const client = await clientFor(controller, "pai-lsp.checkFolder", "pai-lsp.clearFolders");
  const options = { location: vscode.ProgressLocation.Notification, title: "Checking jobs", cancellable: true };
  const answer = await vscode.window.withProgress(options, async (progress, token) => {
    const identifier = randomUUID();
    const listener = client.onProgress(WorkDoneProgress.type, identifier, (step) => {
      if (step.kind === "report") {
        progress.report({ message: step.message ?? "" });
      }
    });
    try {
      return await ask(client, "pai-lsp.checkFolder", [folder?.toString() ?? null, identifier], token);
    } catch (error) {
      if (token.isCancellationRequested) {
        return undefined;
      }
      throw error;
    } finally {
      listener.dispose();
    }
  });
  const found = checkedFolder(answer);
  if (found === undefined) {
    return;
  }
  await vscode.commands.executeCommand("setContext", "openpai.hasCheckedFolder", true);
  const offers = found.errors + found.warnings > 0 ? [SHOW_PROBLEMS, CLEAR] : [];
  switch (await vscode.window.showInformationMessage(summary(found), ...offers)) {
    case SHOW_PROBLEMS:
      await vscode.commands.executeCommand("workbench.actions.view.problems");
      break;
    case CLEAR:
      await clearFolders(controller);
      break;
  }
}

/** Remove the problems of files that are not open. */
export async function clearFolders(controller: Controller): Promise<void> {
  const client = await clientFor(controller, "pai-lsp.clearFolders");
  await ask(client, "pai-lsp.clearFolders", []);
  await vscode.commands.executeCommand("setContext", "openpai.hasCheckedFolder", false);
}

function summary({ files, errors, warnings }: CheckedFolder): string {
  if (files === 0) {
    return "There are no jobs in this folder.";
  }
  const counts = [counted(errors, "error"), counted(warnings, "warning")].filter((one) => !one.startsWith("0"));
  return `Checked ${counted(files, "file")}: ${counts.join(", ") || "no errors and no warnings"}.`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
