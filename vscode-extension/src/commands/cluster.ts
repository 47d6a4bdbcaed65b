/** Chooses the cluster that the jobs of the workspace are checked for, and fetches the facts of one. */

import * as vscode from "vscode";
import { clusters, type Cluster } from "../answers";
import { ask, clientFor } from "../ask";
import type { Controller } from "../server/controller";
import { runInTerminal } from "../tasks";

interface Choice extends vscode.QuickPickItem {
  readonly run?: () => Thenable<void>;
}

/** Let the user choose one of their profiles, none of them, or to pull one from a cluster. */
export async function chooseCluster(controller: Controller): Promise<void> {
  const client = await clientFor(controller, "pai-lsp.clusters");
  const known = clusters(await ask(client, "pai-lsp.clusters", []));
  const chosen = vscode.workspace.getConfiguration("openpai").get<string>("cluster", "");
  const picked = await vscode.window.showQuickPick<Choice>(choices(controller, known, chosen), {
    title: "Choose Cluster",
    placeHolder: "For which cluster should jobs be checked? A cluster in .pai-lsp.yaml takes precedence",
    matchOnDetail: true,
  });
  await picked?.run?.();
}

function choices(controller: Controller, known: readonly Cluster[], chosen: string): Choice[] {
  const none: Choice = { label: "$(circle-slash) No Cluster", run: () => choose(undefined) };
  const empty: Choice = {
    label: "$(info) You have no profile of a cluster",
    detail: "Pull a profile, or create one from the configuration of the cluster with 'pai-lsp cluster import'",
  };
  const pull: Choice = {
    label: "$(cloud-download) Pull from Cluster...",
    detail: "Ask the REST API of a cluster in your clusters.yaml for its facts",
    run: () => pullCluster(controller),
  };
  return [
    ...known.map(({ name, description }) => ({
      label: name,
      description: name === chosen ? "chosen" : "",
      detail: description,
      run: () => choose(name),
    })),
    ...(known.length === 0 ? [empty] : []),
    pull,
    ...(chosen === "" ? [] : [none]),
  ];
}

function choose(name: string | undefined): Thenable<void> {
  const isFolder = vscode.workspace.workspaceFolders !== undefined;
  const target = isFolder ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  return vscode.workspace.getConfiguration("openpai").update("cluster", name, target);
}

async function pullCluster(controller: Controller): Promise<void> {
  const name = await enteredCluster("Pull from Cluster", undefined);
  if (name !== undefined) {
    await runInTerminal(controller, `Pull ${name}`, ["cluster", "pull", name]);
  }
}

/** The name of a cluster that the user enters; undefined if the user cancels. */
export function enteredCluster(title: string, value: string | undefined): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title,
    prompt: "The cluster's name in your file clusters.yaml",
    value: value ?? "",
    validateInput: (name) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) ? undefined : "Use letters, digits, '.', '_' and '-'",
  });
}
