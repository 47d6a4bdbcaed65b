/** Explains why a task failed, from what the user has copied. */

import * as vscode from "vscode";
import { activeJobEditor } from "../activeJob";
import { failureAnswer } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import { sentence } from "../sentence";
import { showPlace } from "./references";

const GO_TO_LINE = "Go to Line";

/** Explain the exit code, log or message in the clipboard, and find the line of the job that is shown. */
export async function explainFailure(controller: Controller): Promise<void> {
  const client = await clientFor(controller, "pai-lsp.why");
  const copied = (await vscode.env.clipboard.readText()).trim();
  if (copied === "") {
    throw new NoAnswer("copy an exit code, the end of a log or a message of the portal first");
  }
  const job = activeJobEditor()?.document.uri.toString() ?? null;
  const answer = failureAnswer(await ask(client, "pai-lsp.why", [copied, job]));
  if (answer === undefined) {
    throw new NoAnswer("there is no explanation for the text in the clipboard");
  }
  const [first = "", ...rest] = answer.text.trim().split("\n");
  const { place } = answer;
  await showExplanation(
    first,
    rest.join("\n").trim(),
    place === undefined ? undefined : () => showPlace(controller, place),
  );
}

/** Show an explanation in a dialog, which offers to go to the line if there is one. */
export async function showExplanation(title: string, detail: string, go?: () => Promise<void>): Promise<void> {
  // The dialog shows plain text.
  const plain = (text: string) => text.replaceAll("`", "'");
  const options = { modal: true, detail: plain(detail) };
  const offers = go === undefined ? [] : [GO_TO_LINE];
  if ((await vscode.window.showInformationMessage(sentence(plain(title)), options, ...offers)) === GO_TO_LINE) {
    await go?.();
  }
}
