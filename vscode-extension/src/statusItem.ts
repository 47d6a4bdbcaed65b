/** The item in the status bar: what the server does, and the way to its log. */

import * as vscode from "vscode";
import type { Controller } from "./server/controller";
import { statusText } from "./server/state";

/** Show the state of the server from its first start on. */
export function statusItem(controller: Controller): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("openpai.status", vscode.StatusBarAlignment.Right, 50);
  item.name = "OpenPAI";
  item.command = "openpai.showStatus";
  const show = () => {
    const { state, marketplace } = controller;
    if (state === undefined) {
      return;
    }
    const { text, tooltip, severity } = statusText(state, marketplace);
    item.text = text;
    item.tooltip = tooltip;
    item.backgroundColor =
      severity === "none" ? undefined : new vscode.ThemeColor(`statusBarItem.${severity}Background`);
    item.show();
  };
  show();
  return vscode.Disposable.from(item, controller.onDidChangeState(show));
}

/** Offer what can be done with the server. */
export async function showStatus(controller: Controller): Promise<void> {
  const { state, marketplace } = controller;
  const title =
    state === undefined ? "The server was not started" : statusText(state, marketplace).tooltip.replaceAll("\n", ", ");
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
