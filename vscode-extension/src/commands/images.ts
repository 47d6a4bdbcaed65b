/** Asks the registries whether the images of a job are there; the server shows what is wrong as findings. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { imageAnswers } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import type { Controller } from "../server/controller";
import { sentence } from "../sentence";

/** Check the images of the active job. */
export async function checkImages(controller: Controller, named?: unknown): Promise<void> {
  const job = await jobOf(named);
  const client = await clientFor(controller, "pai-lsp.checkImages");
  const answers = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "Checking images" },
    async () => imageAnswers(await ask(client, "pai-lsp.checkImages", [job.uri.toString()])),
  );
  if (answers === undefined) {
    throw new NoAnswer("this file is not a job");
  }
  if (answers.length === 0) {
    throw new NoAnswer(`'${shortName(job.uri)}' has no task role with an image`);
  }
  const lines = answers.map(({ role, image, answer, explanation }) => `${role}: ${image}: ${answer}: ${explanation}`);
  const isGood = answers.every(({ answer }) => answer === "there");
  if (isGood) {
    const count = new Set(answers.map(({ image }) => image)).size;
    void vscode.window.showInformationMessage(sentence(count === 1 ? "the image exists" : "all images exist"));
  } else {
    const wasAsked = answers.some(({ answer }) => answer !== "there" && answer !== "could not ask");
    const summary = wasAsked ? "not all images were found" : "not all registries could be asked";
    void vscode.window.showWarningMessage(sentence(summary), {
      modal: true,
      detail: lines.join("\n"),
    });
  }
}
