/** Which job a command is about: the one that the user looks at. */

import * as vscode from "vscode";
import { NoAnswer } from "./ask";
import { mayBeOurs } from "./documents";

/** Whether a document may be a job or another file of ours. */
export function isOurs(document: vscode.TextDocument): boolean {
  return mayBeOurs(document.languageId, document.fileName, () => document.getText());
}

/**
 * The job that a command is about: the document that the caller names, or the active one.
 *
 * @throws NoAnswer when there is none.
 */
export async function jobOf(named: unknown): Promise<vscode.TextDocument> {
  const uri = typeof named === "string" ? vscode.Uri.parse(named, true) : named;
  if (uri instanceof vscode.Uri) {
    return vscode.workspace.openTextDocument(uri);
  }
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || !isOurs(document)) {
    throw new NoAnswer("open a job first");
  }
  return document;
}

/** The last part of a document's name. */
export function shortName(uri: vscode.Uri): string {
  return uri.path.split("/").at(-1) ?? uri.path;
}
