/** Finds the job that a command applies to: the visible one. */

import * as vscode from "vscode";
import { NoAnswer } from "./ask";
import { isConfiguration, isJobInYaml, mayBeJob, mayBeMpiJob } from "./documents";

/** This is asked at every keystroke, also in YAML that is not ours and may be long. */
const LINES_LOOKED_AT = 2000;

/** Whether a document needs the server: a job, a definition, an MPIJob or the server's configuration. */
export function isOurs(document: vscode.TextDocument): boolean {
  return isConfiguration(document.fileName) || isJob(document) || isMpiJob(document);
}

function isJob(document: vscode.TextDocument): boolean {
  return mayBeJob(document.languageId, () => beginningOf(document));
}

/** Whether a document is a job, but plain YAML to the editor. */
export function isPlainJob(document: vscode.TextDocument): boolean {
  return isJobInYaml(document.languageId, () => beginningOf(document));
}

function isMpiJob(document: vscode.TextDocument): boolean {
  return mayBeMpiJob(document.languageId, () => beginningOf(document));
}

function beginningOf(document: vscode.TextDocument): string {
  return document.getText(new vscode.Range(0, 0, LINES_LOOKED_AT, 0));
}

/**
 * The job that a command applies to: the document that the caller names, or the active one.
 *
 * @throws NoAnswer when no job is found.
 */
export async function jobOf(named: unknown): Promise<vscode.TextDocument> {
  return documentOf(named, activeJobEditor, "open a job first");
}

/**
 * The file that can be converted: the document that the caller names, or the active one.
 *
 * @throws NoAnswer when no job and no MPIJob is found.
 */
export async function jobOrMpiJobOf(named: unknown): Promise<vscode.TextDocument> {
  return documentOf(named, () => activeJobEditor() ?? activeMpiJobEditor(), "open a job or an MPIJob first");
}

async function documentOf(
  named: unknown,
  active: () => vscode.TextEditor | undefined,
  otherwise: string,
): Promise<vscode.TextDocument> {
  const uri = typeof named === "string" ? vscode.Uri.parse(named, true) : named;
  if (uri instanceof vscode.Uri) {
    return vscode.workspace.openTextDocument(uri);
  }
  const editor = active();
  if (editor === undefined) {
    throw new NoAnswer(otherwise);
  }
  return editor.document;
}

/** The active editor when it shows a job or definition; with the focus in a panel or a preview, the one that is in view. */
export function activeJobEditor(): vscode.TextEditor | undefined {
  return activeEditor(isJob);
}

/** The same for MPIJobs. */
export function activeMpiJobEditor(): vscode.TextEditor | undefined {
  return activeEditor(isMpiJob);
}

function activeEditor(isWanted: (document: vscode.TextDocument) => boolean): vscode.TextEditor | undefined {
  const active = vscode.window.activeTextEditor;
  if (active !== undefined && !PANELS.has(active.document.uri.scheme)) {
    return isWanted(active.document) ? active : undefined;
  }
  const shown = vscode.window.visibleTextEditors.filter((editor) => isWanted(editor.document));
  return shown.length === 1 ? shown[0] : undefined;
}

/** The schemes of documents in panels, such as a log, and of previews. */
const PANELS = new Set(["output", "comment", "debug", "openpai-preview"]);

/** The last part of a document's name. */
export function shortName(uri: vscode.Uri): string {
  return uri.path.split("/").at(-1) ?? uri.path;
}
