/** Writes the expanded job into a new file. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { expansion } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { JOB_LANGUAGE } from "../documents";
import type { Controller } from "../server/controller";
import { sentence } from "../sentence";

const SHOW_PROBLEMS = "Show Problems";

/** Expand the active job for submission. */
export async function expandJob(controller: Controller, named?: unknown): Promise<void> {
  const job = await jobOf(named);
  const client = await clientFor(controller, "pai-lsp.expand");
  const answer = expansion(await ask(client, "pai-lsp.expand", [job.uri.toString()]));
  if (answer === undefined) {
    throw new NoAnswer("this file is not a job that can be expanded");
  }
  if (answer.text?.trim() === "") {
    throw new NoAnswer(`'${shortName(job.uri)}' is empty`);
  }
  if (answer.text !== undefined) {
    const document = await vscode.workspace.openTextDocument({ language: JOB_LANGUAGE, content: answer.text });
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: false });
    if (answer.errors.length === 0) {
      return;
    }
  }
  const [first = "it has errors", ...others] = answer.errors;
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  const what = answer.text === undefined ? "the job cannot be expanded" : "the expanded job has errors";
  const shown = await vscode.window.showErrorMessage(sentence(`${what}: ${first}${more}`), SHOW_PROBLEMS);
  if (shown === SHOW_PROBLEMS) {
    await vscode.commands.executeCommand("workbench.actions.view.problems");
  }
}
