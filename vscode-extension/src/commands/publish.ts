/**
 * Publishes the active file, and updates definitions of the lock file: in a terminal, where the program shows what it
 * sends or writes, and asks.
 */

import { dirname } from "node:path";
import * as vscode from "vscode";
import { lockedDefinitions } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import { runInTerminal, savedPath } from "../tasks";

/** Publish the definitions, or the job, of the active file. */
export async function publishFile(controller: Controller): Promise<void> {
  const path = await savedPath(activeFile());
  await runInTerminal(controller, "Publish", ["marketplace", "publish", "--folder", dirname(path), path]);
}

/** Let the user choose definitions of the lock file, and pin what they are now. */
export async function updateLocked(controller: Controller): Promise<void> {
  const file = activeFile();
  const client = await clientFor(controller, "pai-lsp.marketplace.locked");
  const lock = lockedDefinitions(await ask(client, "pai-lsp.marketplace.locked", [file.uri.toString()]));
  if (lock === undefined) {
    throw new NoAnswer("this project has no lock file; 'pai-lsp marketplace lock' writes one");
  }
  if (lock.entries.length === 0) {
    throw new NoAnswer("the lock file pins nothing: no saved job uses a definition");
  }
  const items = lock.entries.map(({ reference, state }) => ({
    label: reference,
    description: state || "up to date",
    picked: state === "changed",
  }));
  const placeHolder = "The definitions to pin as they are now";
  const chosen = await vscode.window.showQuickPick(items, { canPickMany: true, placeHolder });
  if (chosen !== undefined && chosen.length > 0) {
    const names = chosen.map(({ label }) => label);
    await runInTerminal(controller, "Update lock", ["marketplace", "lock", "--folder", lock.folder, "--", ...names]);
  }
}

function activeFile(): vscode.TextDocument {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined) {
    throw new NoAnswer("open a job or a file of definitions first");
  }
  return document;
}
