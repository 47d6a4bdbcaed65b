/** Copies the commands of a task role as a script, to run or check them elsewhere. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { roleScripts } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";

/** Copy the script of a role of the active job; without a role, the user chooses one. */
export async function copyScript(controller: Controller, named?: unknown, role?: unknown): Promise<void> {
  const job = await jobOf(named);
  const client = await clientFor(controller, "pai-lsp.script");
  const roleName = typeof role === "string" ? role : null;
  const scripts = roleScripts(await ask(client, "pai-lsp.script", [job.uri.toString(), roleName])) ?? [];
  if (scripts.length === 0) {
    throw new NoAnswer(`'${shortName(job.uri)}' has no task role to copy`);
  }
  const names = scripts.map((one) => one.role);
  const title = "Copy the script of a task role";
  const chosen = names.length === 1 ? names[0] : await vscode.window.showQuickPick(names, { title });
  const script = scripts.find((one) => one.role === chosen);
  if (script !== undefined) {
    await vscode.env.clipboard.writeText(script.text);
    vscode.window.setStatusBarMessage(`Copied the script of '${script.role}'`, 3000);
  }
}
