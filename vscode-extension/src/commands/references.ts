/** Shows places that the server names: the references that a code lens counts, the definition of a graph's node. */

import * as vscode from "vscode";
import type { Location, Position } from "vscode-languageclient/node";
import { type Place, place } from "../answers";
import { clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";

/** Show a list of places: the arguments are the server's, in its own terms. */
export async function showReferences(controller: Controller, uri: string, at: Position, places: Location[]) {
  const { protocol2CodeConverter: convert } = await clientFor(controller);
  await vscode.commands.executeCommand(
    "editor.action.showReferences",
    convert.asUri(uri),
    convert.asPosition(at),
    places.map((one) => convert.asLocation(one)),
  );
}

/** Show one place, in the group of editors where its file is open. */
export async function showPlace(controller: Controller, named: unknown): Promise<void> {
  const wanted = place(named);
  if (wanted === undefined) {
    throw new NoAnswer("this link does not lead to a place in a file");
  }
  const { uri, range } = await located(controller, wanted);
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
  const viewColumn = shown?.viewColumn ?? vscode.ViewColumn.One;
  await vscode.window.showTextDocument(uri, { viewColumn, selection: range });
}

/** A place in the editor's terms. */
export async function located(controller: Controller, wanted: Place): Promise<vscode.Location> {
  const { protocol2CodeConverter: convert } = await clientFor(controller);
  return convert.asLocation(wanted);
}
