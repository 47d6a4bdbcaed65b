/**
 * Asks the server to run one of its commands.
 *
 * All analysis is the server's. A server older than this extension may lack a command; the user then gets a message.
 */

import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient } from "vscode-languageclient/node";
import type { Controller } from "./server/controller";
import { sentence } from "./sentence";

/** The commands of the server that this extension uses, with a description for the user. */
export const SERVER_COMMANDS = {
  "pai-lsp.preview": "preview what runs",
  "pai-lsp.script": "copy scripts",
  "pai-lsp.graph": "draw the prerequisite graph",
  "pai-lsp.expand": "expand a job",
  "pai-lsp.convert": "convert a file",
  "pai-lsp.status": "report how a job is checked",
  "pai-lsp.why": "explain a failure",
  "pai-lsp.checkImages": "check images",
  "pai-lsp.checkFolder": "check folders",
  "pai-lsp.clearFolders": "clear the problems of closed files",
  "pai-lsp.clusters": "list clusters",
  "pai-lsp.marketplace.list": "list the marketplace",
  "pai-lsp.marketplace.locked": "list the locked definitions",
  "pai-lsp.marketplace.insert": "insert from the marketplace",
  "pai-lsp.marketplace.refresh": "refresh the marketplace",
  "pai-lsp.explain": "explain a finding",
  "pai-lsp.templates": "offer templates",
  "pai-lsp.assistant": "answer assistants",
} as const;

export type ServerCommand = keyof typeof SERVER_COMMANDS;

/** The server cannot answer; the message is for the user. */
export class NoAnswer extends Error {}

/** Whether the server that runs has the command. */
export function knows(client: LanguageClient, command: ServerCommand): boolean {
  return client.initializeResult?.capabilities.executeCommandProvider?.commands.includes(command) ?? false;
}

/**
 * The client of a server that has the commands.
 *
 * @throws NoAnswer when no such server runs.
 */
export async function clientFor(controller: Controller, ...wanted: ServerCommand[]): Promise<LanguageClient> {
  const client = await controller.client();
  if (client === undefined) {
    throw new NoAnswer("the server is not running; 'OpenPAI: Show Output' shows why");
  }
  const missing = wanted.find((command) => !knows(client, command));
  if (missing !== undefined) {
    const version = client.initializeResult?.serverInfo?.version;
    const server = version ? `this server (pai-lsp ${version})` : "this server";
    throw new NoAnswer(`${server} cannot ${SERVER_COMMANDS[missing]}; install a newer one`);
  }
  return client;
}

/**
 * What the server answers to a command.
 *
 * @throws NoAnswer when it fails; when `token` is cancelled the request is, too.
 */
export async function ask(
  client: LanguageClient,
  command: ServerCommand,
  words: readonly unknown[],
  token?: vscode.CancellationToken,
): Promise<unknown> {
  try {
    return await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [...words] }, token);
  } catch (error) {
    throw new NoAnswer(error instanceof Error ? error.message : String(error));
  }
}

/** Run a command of the extension; if the server cannot answer, show the reason to the user. */
export async function reportingFailure(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NoAnswer)) {
      throw error;
    }
    void vscode.window.showErrorMessage(sentence(error.message));
  }
}
