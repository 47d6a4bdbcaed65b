/**
 * The marketplace: the user picks a definition and gives its variables values, and the server writes it into the job.
 */

import * as vscode from "vscode";
import type { WorkspaceEdit } from "vscode-languageclient/node";
import { activeJobEditor, jobOf } from "../activeJob";
import { type Item, listing, marketplaceStatus, type Variable } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import type { MarketplaceStatus } from "../server/state";
import { sentence } from "../sentence";

interface PickedItem extends vscode.QuickPickItem {
  readonly item?: Item;
}

/** Insert a definition into the active job. */
export async function insertFromMarketplace(controller: Controller): Promise<void> {
  const job = await jobOf(undefined);
  const at = activeJobEditor()?.selection.active ?? new vscode.Position(0, 0);
  const client = await clientFor(controller, "pai-lsp.marketplace.list", "pai-lsp.marketplace.insert");
  const listed = ask(client, "pai-lsp.marketplace.list", [job.uri.toString()]).then((answer) => {
    const found = listing(answer);
    if (found === undefined) {
      throw new NoAnswer("the server did not list the marketplace");
    }
    return found;
  });
  const item = await pickedItem(listed, () => controller.marketplace);
  if (item === undefined) {
    return;
  }
  const values = await filledVariables(item);
  if (values === undefined) {
    return;
  }
  const position = client.code2ProtocolConverter.asPosition(at);
  const answer = await ask(client, "pai-lsp.marketplace.insert", [
    job.uri.toString(),
    position,
    item.reference,
    values,
  ]);
  const edit = answer ? await client.protocol2CodeConverter.asWorkspaceEdit(answer as WorkspaceEdit) : undefined;
  if (edit === undefined || !(await vscode.workspace.applyEdit(edit))) {
    throw new NoAnswer(`'${item.reference}' cannot be inserted here`);
  }
}

/** Refresh all sources of the marketplace and show their state. */
export async function refreshMarketplace(controller: Controller): Promise<void> {
  const client = await clientFor(controller, "pai-lsp.marketplace.refresh");
  const status = marketplaceStatus(await ask(client, "pai-lsp.marketplace.refresh", []));
  if (status === undefined) {
    throw new NoAnswer("the server did not report the state of the marketplace");
  }
  const message = sentence(
    `the marketplace is ${WORDS[status.state] ?? status.state}${status.note ? `: ${status.note}` : ""}`,
  );
  void (DOUBTS.has(status.state)
    ? vscode.window.showWarningMessage(message)
    : vscode.window.showInformationMessage(message));
}

/** States that need their own words. */
const WORDS: Readonly<Record<string, string>> = { none: "empty; configure its sources in .pai-lsp.yaml" };

/** The list opens at once and fills when the answer is there: a marketplace may be far away. */
async function pickedItem(
  listed: Promise<readonly Item[]>,
  status: () => MarketplaceStatus,
): Promise<Item | undefined> {
  const pick = vscode.window.createQuickPick<PickedItem>();
  pick.title = "Insert from Marketplace";
  pick.placeholder = "Search by name, type or summary";
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.busy = true;
  try {
    return await new Promise<Item | undefined>((resolve, reject) => {
      pick.onDidAccept(() => {
        const [selected] = pick.selectedItems;
        if (selected?.item !== undefined) {
          resolve(selected.item);
        }
      });
      pick.onDidHide(() => resolve(undefined));
      pick.show();
      listed.then((found) => {
        pick.items = choices(found, status());
        pick.busy = false;
      }, reject);
    });
  } finally {
    pick.dispose();
  }
}

function choices(items: readonly Item[], { state, note }: MarketplaceStatus): PickedItem[] {
  const offered = items.map((item) => ({
    label: item.name,
    description: item.type,
    detail: item.summary ? `${item.summary} · ${item.reference}` : item.reference,
    item,
  }));
  if (DOUBTS.has(state)) {
    return [...offered, { label: `$(warning) the marketplace is ${state}`, detail: note, alwaysShow: true }];
  }
  if (offered.length === 0) {
    const detail = "configure its sources in .pai-lsp.yaml, or put definitions into a folder 'marketplace'";
    return [{ label: "$(info) the marketplace is empty", detail, alwaysShow: true }];
  }
  return offered;
}

/** The states in which there may be more than what is listed. */
const DOUBTS = new Set(["stale", "untrusted", "unreachable"]);

/** The values that the user enters, by name; undefined if the user cancels. */
async function filledVariables(item: Item): Promise<Record<string, string> | undefined> {
  const values: Record<string, string> = {};
  for (const [index, variable] of item.variables.entries()) {
    const value = await filled(item, variable, `${index + 1} of ${item.variables.length}`);
    if (value === undefined) {
      return undefined;
    }
    values[variable.name] = value;
  }
  return values;
}

function filled(item: Item, variable: Variable, place: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: `${item.name}: ${variable.name} (${place})`,
    prompt: variable.description || `The value of '${variable.name}'`,
    value: variable.value,
    ignoreFocusOut: true,
    validateInput: (text) => (text === "" && variable.isRequired ? `'${variable.name}' needs a value` : undefined),
  });
}
