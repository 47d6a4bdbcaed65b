/**
 * Submits the active job in a terminal: `pai-lsp submit` expands and checks it, shows what it sends, and asks.
 *
 * The name of the cluster is the only thing that is passed; its address is in the user's own file of clusters.
 */

import * as vscode from "vscode";
import { jobOf } from "../activeJob";
import { jobStatus } from "../answers";
import { ask, clientFor, reportingFailure } from "../ask";
import type { LiveJobs } from "../jobs/liveJobs";
import type { Controller } from "../server/controller";
import { runInTerminal, savedPath } from "../tasks";
import { enteredCluster } from "./cluster";

/** Submit the active job; if the cluster accepts it, it is followed. */
export async function submitJob(controller: Controller, jobs: LiveJobs, named?: unknown): Promise<void> {
  const job = await jobOf(named);
  const client = await clientFor(controller, "pai-lsp.status");
  const path = await savedPath(job);
  const known = jobStatus(await ask(client, "pai-lsp.status", [job.uri.toString()]));
  const cluster = await enteredCluster("Submit to Cluster", known?.cluster);
  if (cluster !== undefined) {
    const words = ["submit", "--cluster", cluster, path];
    const run = await runInTerminal(controller, `Submit to ${cluster}`, words);
    const watch = vscode.tasks.onDidEndTaskProcess((end) => {
      if (end.execution === run) {
        watch.dispose();
        if (end.exitCode === 0) {
          void reportingFailure(() => jobs.submitted(cluster, path));
        }
      }
    });
  }
}
