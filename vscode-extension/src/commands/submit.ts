/**
 * Submits the active job in a terminal: `pai-lsp submit` expands and checks it, shows what it sends, and asks.
 *
 * The name of the cluster is the only thing that is passed; its address is in the user's own file of clusters.
 */

import { jobOf } from "../activeJob";
import { jobStatus } from "../answers";
import { ask, clientFor } from "../ask";
import type { Controller } from "../server/controller";
import { runInTerminal, savedPath } from "../tasks";
import { enteredCluster } from "./cluster";

/** Submit the active job. */
export async function submitJob(controller: Controller, named?: unknown): Promise<void> {
  const job = await jobOf(named);
  const client = await clientFor(controller, "pai-lsp.status");
  const path = await savedPath(job);
  const known = jobStatus(await ask(client, "pai-lsp.status", [job.uri.toString()]));
  const cluster = await enteredCluster("Submit to Cluster", known?.cluster);
  if (cluster !== undefined) {
    await runInTerminal(controller, `Submit to ${cluster}`, ["submit", "--cluster", cluster, path]);
  }
}
