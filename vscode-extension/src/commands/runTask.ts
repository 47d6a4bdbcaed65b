/** Runs one task of the active job on this machine, in a terminal: `pai-lsp run` asks before anything starts. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { roleScripts } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import { runInTerminal, savedPath } from "../tasks";

/** Run the first task of a role; the user chooses the role if there are several. */
export async function runTask(controller: Controller, named?: unknown): Promise<void> {
  const job = await jobOf(named);
  const client = await clientFor(controller, "pai-lsp.script");
  const path = await savedPath(job);
  const roles = (roleScripts(await ask(client, "pai-lsp.script", [job.uri.toString(), null])) ?? []).map(
    ({ role }) => role,
  );
  if (roles.length === 0) {
    throw new NoAnswer(`'${shortName(job.uri)}' has no task role to run`);
  }
  const title = "Run a task of which role?";
  const role = roles.length === 1 ? roles[0] : await vscode.window.showQuickPick(roles, { title });
  if (role !== undefined) {
    await runInTerminal(controller, `Run ${role}`, ["run", "--role", role, path]);
  }
}
