/** Shows the references that a code lens counts. */

import * as vscode from "vscode";
import type { Location, Position } from "vscode-languageclient/node";
import { NoAnswer } from "../ask";
import type { Controller } from "../server/controller";

/** Show a list of places: the arguments are the server's, in its own terms. */
export async function showReferences(controller: Controller, uri: string, at: Position, places: Location[]) {
  const client = await controller.client();
  if (client === undefined) {
    throw new NoAnswer("the server is not running");
  }
  const { protocol2CodeConverter: convert } = client;
  await vscode.commands.executeCommand(
    "editor.action.showReferences",
    convert.asUri(uri),
    convert.asPosition(at),
    places.map((place) => convert.asLocation(place)),
  );
}
