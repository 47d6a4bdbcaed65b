/** Finds the job that a command applies to: the visible one. */

import * as vscode from "vscode";
import { NoAnswer } from "./ask";
import { mayBeOurs } from "./documents";

/** This is asked at every keystroke, also in YAML that is not ours and may be long. */
const LINES_LOOKED_AT = 2000;

/** Whether a document may be a job or another file of ours. */
export function isOurs(document: vscode.TextDocument): boolean {
  const beginning = new vscode.Range(0, 0, LINES_LOOKED_AT, 0);
  return mayBeOurs(document.languageId, document.fileName, () => document.getText(beginning));
}

/**
 * The job that a command applies to: the document that the caller names, or the active one.
 *
 * @throws NoAnswer when no job is found.
 */
export async function jobOf(named: unknown): Promise<vscode.TextDocument> {
  const uri = typeof named === "string" ? vscode.Uri.parse(named, true) : named;
  if (uri instanceof vscode.Uri) {
    return vscode.workspace.openTextDocument(uri);
  }
  const editor = activeJobEditor();
  if (editor === undefined) {
    throw new NoAnswer("open a job first");
  }
  return editor.document;
}

/** The active editor when it shows a file of ours; with the focus in a panel or a preview, the one that is in view. */
export function activeJobEditor(): vscode.TextEditor | undefined {
  const active = vscode.window.activeTextEditor;
  if (active !== undefined && !PANELS.has(active.document.uri.scheme)) {
    return isOurs(active.document) ? active : undefined;
  }
  const shown = vscode.window.visibleTextEditors.filter((editor) => isOurs(editor.document));
  return shown.length === 1 ? shown[0] : undefined;
}

/** The schemes of documents in panels, such as a log, and of previews. */
const PANELS = new Set(["output", "comment", "debug", "openpai-preview"]);

/** The last part of a document's name. */
export function shortName(uri: vscode.Uri): string {
  return uri.path.split("/").at(-1) ?? uri.path;
}
