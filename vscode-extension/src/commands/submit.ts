/**
 * Submits the active job in a terminal: `pai-lsp submit` expands and checks it, shows what it sends, and asks.
 *
 * The name of the cluster is the only thing that is passed; its address is in the user's own file of clusters.
 */

import * as vscode from "vscode";
import { jobOf } from "../activeJob";
import { jobStatus } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";

/** Submit the active job. */
export async function submitJob(controller: Controller, named?: unknown): Promise<void> {
  const job = await jobOf(named);
  if (!vscode.workspace.isTrusted) {
    throw new NoAnswer("jobs of an untrusted folder are not submitted");
  }
  if (job.uri.scheme !== "file") {
    throw new NoAnswer("save the job to a file first");
  }
  if (job.isDirty && !(await job.save())) {
    throw new NoAnswer("the job could not be saved");
  }
  const client = await clientFor(controller, "pai-lsp.status");
  const known = jobStatus(await ask(client, "pai-lsp.status", [job.uri.toString()]));
  const cluster = await vscode.window.showInputBox({
    title: "Submit to Cluster",
    prompt: "The cluster's name in your file clusters.yaml",
    value: known?.cluster ?? "",
    validateInput: (name) => (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) ? undefined : "A name of letters and digits"),
  });
  const launch = controller.launch;
  if (cluster === undefined || launch === undefined) {
    return;
  }
  const words = [...launch.words, "submit", "--cluster", cluster, job.uri.fsPath];
  const run = new vscode.ProcessExecution(launch.program, words);
  const task = new vscode.Task({ type: "openpai" }, vscode.TaskScope.Workspace, `Submit to ${cluster}`, "OpenPAI", run);
  // The terminal stays after the end: it shows the address of the job's page.
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, clear: true };
  await vscode.tasks.executeTask(task);
}
