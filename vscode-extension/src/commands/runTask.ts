/** Runs one task of the active job on this machine, in a terminal: `pai-lsp run` shows what runs, and asks first. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { roleScripts } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import { runInTerminal, savedPath } from "../tasks";
import type { Previews } from "./preview";

const WHERE = [
  { label: "podman", description: "in a container of the job's image" },
  { label: "docker", description: "in a container of the job's image" },
  { label: "none", description: "without a container: with your rights, this machine's programs and all your files" },
];

/**
 * Run the first task of a role; the user chooses the role if there are several, and where it runs. What runs is shown in a
 * document beside the job, and in full in the terminal, where the question is asked.
 */
export async function runTask(controller: Controller, previews: Previews, named?: unknown): Promise<void> {
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
  const where = role && (await vscode.window.showQuickPick(WHERE, { title: "Run in a container?" }));
  if (role && where) {
    await previews.show(job.uri, role);
    await runInTerminal(controller, `Run ${role}`, ["run", "--role", role, "--container", where.label, path]);
  }
}
