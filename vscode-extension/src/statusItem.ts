/** The language status of jobs: the state of the server, and the way to its log. */

import * as vscode from "vscode";
import { activeJobEditor, isOurs, isPlainJob } from "./activeJob";
import { type JobStatus, jobStatus } from "./answers";
import { ask, knows, NoAnswer } from "./ask";
import { JOB_LANGUAGE } from "./documents";
import { followEdits } from "./followEdits";
import type { Controller } from "./server/controller";
import { statusText } from "./server/state";

const SEVERITIES = {
  information: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
};

/** Show the state of the server at jobs, from its first start on; other YAML files have no such status. */
export function statusItem(controller: Controller): vscode.Disposable {
  const item = vscode.languages.createLanguageStatusItem("openpai.status", { language: JOB_LANGUAGE });
  item.name = "OpenPAI";
  item.command = { command: "openpai.showStatus", title: "Options..." };
  const language = vscode.languages.createLanguageStatusItem("openpai.language", []);
  language.name = "OpenPAI language";
  language.text = "OpenPAI job in a YAML file";
  language.command = { command: "openpai.useJobLanguage", title: "Use Job Language..." };
  let job: JobStatus | undefined;
  const show = () => {
    const { state, marketplace } = controller;
    const active = vscode.window.activeTextEditor?.document;
    const languages = [JOB_LANGUAGE, ...(active !== undefined && isOurs(active) ? [active.languageId] : [])];
    const isPlain = state !== undefined && active !== undefined && isPlainJob(active);
    language.selector = isPlain ? [{ language: active.languageId }] : [];
    item.selector = state === undefined ? [] : languages.map((language) => ({ language }));
    if (state !== undefined) {
      const { text, detail, severity } = statusText(state, marketplace, job);
      item.text = text;
      item.detail = detail.replaceAll("\n", ", ");
      item.severity = SEVERITIES[severity];
      item.busy = state.kind === "starting";
    }
  };
  const askAgain = () => {
    show();
    void activeJobStatus(controller).then((answer) => {
      job = answer;
      show();
    });
  };
  askAgain();
  return vscode.Disposable.from(
    item,
    language,
    controller.onDidChangeState(askAgain),
    vscode.window.onDidChangeActiveTextEditor(askAgain),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("openpai")) {
        askAgain();
      }
    }),
    followEdits(askAgain),
  );
}

/** How the job that is shown is checked; undefined without one, or while no server runs. */
async function activeJobStatus(controller: Controller): Promise<JobStatus | undefined> {
  const editor = activeJobEditor();
  if (editor === undefined || controller.state?.kind !== "ready") {
    return undefined;
  }
  try {
    const client = await controller.client();
    if (client === undefined || !knows(client, "pai-lsp.status")) {
      return undefined;
    }
    return jobStatus(await ask(client, "pai-lsp.status", [editor.document.uri.toString()]));
  } catch (error) {
    if (error instanceof NoAnswer) {
      return undefined;
    }
    throw error;
  }
}

/** Offer what can be done with the server. */
export async function showStatus(controller: Controller): Promise<void> {
  const { state, marketplace } = controller;
  const title =
    state === undefined ? "The server was not started" : statusText(state, marketplace).detail.replaceAll("\n", ", ");
  const offers = [
    { label: "$(output) Show Output", run: () => vscode.commands.executeCommand("openpai.showOutput") },
    { label: "$(debug-restart) Restart Server", run: () => controller.restart() },
    {
      label: "$(settings-gear) Open Settings",
      run: () => vscode.commands.executeCommand("workbench.action.openSettings", "openpai"),
    },
  ];
  const trust = {
    label: "$(shield) Manage Workspace Trust",
    run: () => vscode.commands.executeCommand("workbench.trust.manage"),
  };
  const picked = await vscode.window.showQuickPick(vscode.workspace.isTrusted ? offers : [trust, ...offers], {
    title: "OpenPAI",
    placeHolder: title,
  });
  if (picked !== undefined) {
    await picked.run();
  }
}
