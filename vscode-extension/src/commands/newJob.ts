/** Begins a new job with one of the server's templates. */

import * as vscode from "vscode";
import { templates } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { JOB_LANGUAGE } from "../documents";
import type { Controller } from "../server/controller";

/** Let the user pick a template and open it as a file without a name yet. */
export async function newJob(controller: Controller): Promise<void> {
  const client = await clientFor(controller, "pai-lsp.templates");
  const offered = templates(await ask(client, "pai-lsp.templates", []));
  if (offered === undefined || offered.length === 0) {
    throw new NoAnswer("the server has no templates");
  }
  const picked = await vscode.window.showQuickPick(
    offered.map((template) => ({ label: template.name, detail: template.description, template })),
    { title: "New Job from Template", placeHolder: "What should the job do?", matchOnDetail: true },
  );
  if (picked !== undefined) {
    const document = await vscode.workspace.openTextDocument({ language: JOB_LANGUAGE, content: picked.template.text });
    await vscode.window.showTextDocument(document);
  }
}
