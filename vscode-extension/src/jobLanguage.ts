/** Offers the language of jobs for jobs in files with other names, which are plain YAML to the editor. */

import * as vscode from "vscode";
import { activeJobEditor, isPlainJob, shortName } from "./activeJob";
import { NoAnswer } from "./ask";
import { associations, JOB_LANGUAGE } from "./documents";
import type { Controller } from "./server/controller";

/** Whether the offer was made in this workspace. */
const OFFERED = "openpai.offeredJobLanguage";
const USE = "Use Job Language...";
const NOT_NOW = "Not Now";

/** Offer the language once in a workspace, as soon as the server is ready to check such a job. */
export function offerJobLanguage(controller: Controller, memory: vscode.Memento): vscode.Disposable {
  const offer = async () => {
    const document = activeJobEditor()?.document;
    if (controller.state?.kind !== "ready" || document === undefined || !isPlainJob(document) || memory.get(OFFERED)) {
      return;
    }
    await memory.update(OFFERED, true);
    const message =
      `'${shortName(document.uri)}' is an OpenPAI job in a YAML file. With the job language, commands are colored as ` +
      "shell scripts and other YAML extensions do not check the file.";
    if ((await vscode.window.showInformationMessage(message, USE, NOT_NOW)) === USE) {
      await chooseJobLanguage(document);
    }
  };
  return vscode.Disposable.from(
    controller.onDidChangeState(() => void offer()),
    vscode.window.onDidChangeActiveTextEditor(() => void offer()),
  );
}

/** Let the user choose for which files the active one gets its language: for itself, or for more of them. */
export async function useJobLanguage(): Promise<void> {
  const document = activeJobEditor()?.document;
  if (document === undefined || !isPlainJob(document)) {
    throw new NoAnswer("open a job in a YAML file first");
  }
  await chooseJobLanguage(document);
}

/** Indent as the settings say in a job that was opened before the editor knew the defaults of the language. */
export function indentAsConfigured(): void {
  for (const editor of vscode.window.visibleTextEditors) {
    const { document } = editor;
    if (document.languageId === JOB_LANGUAGE && !/^[ \t]/m.test(document.getText())) {
      const settings = vscode.workspace.getConfiguration("editor", document);
      editor.options = { tabSize: settings.get("tabSize", 2), insertSpaces: settings.get("insertSpaces", true) };
    }
  }
}

async function chooseJobLanguage(document: vscode.TextDocument): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  const path = folder && vscode.workspace.asRelativePath(document.uri, false);
  const choices = [
    { label: "Until the File is Closed", detail: shortName(document.uri), pattern: undefined },
    ...associations(path).map(({ label, pattern }) => ({ label, detail: `files.associations: ${pattern}`, pattern })),
  ];
  const picked = await vscode.window.showQuickPick(choices, { title: "Use the Job Language" });
  if (picked === undefined) {
    return;
  }
  if (picked.pattern !== undefined) {
    const files = vscode.workspace.getConfiguration("files");
    const known = files.inspect<Record<string, string>>("associations")?.workspaceValue;
    const value = { ...known, [picked.pattern]: JOB_LANGUAGE };
    await files.update("associations", value, vscode.ConfigurationTarget.Workspace);
  }
  await vscode.languages.setTextDocumentLanguage(document, JOB_LANGUAGE);
}
