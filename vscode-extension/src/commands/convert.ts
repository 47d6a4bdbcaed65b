/** Opens an MPIJob as a job, or a job as an MPIJob, beside its source. */

import * as vscode from "vscode";
import { jobOrMpiJobOf } from "../activeJob";
import { conversion } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import { sentence } from "../sentence";

/** Convert the active file; `to` is the format, and undefined the other one of the two. */
export async function convertFile(controller: Controller, named?: unknown, to?: unknown): Promise<void> {
  const source = await jobOrMpiJobOf(named);
  const client = await clientFor(controller, "pai-lsp.convert");
  const format = typeof to === "string" ? to : null;
  const answer = conversion(await ask(client, "pai-lsp.convert", [source.uri.toString(), format]));
  if (answer === undefined) {
    throw new NoAnswer("this file is neither a job nor an MPIJob");
  }
  if ("message" in answer) {
    throw new NoAnswer(`this file cannot be converted: ${answer.message}`);
  }
  const document = await vscode.workspace.openTextDocument({ language: answer.languageId, content: answer.text });
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: false });
  const [first, ...others] = answer.lost;
  if (first !== undefined) {
    const number = others.length > 0 ? ` and ${others.length} more` : "";
    void vscode.window.showWarningMessage(
      sentence(`not converted: ${first}${number}; the comments at the top of the result give all reasons`),
    );
  }
}
