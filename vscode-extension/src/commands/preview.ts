/** Shows what a job runs: a read-only document beside it that follows its edits. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { type Places, textAnswer } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { followEdits } from "../followEdits";
import { located } from "./references";
import type { Controller } from "../server/controller";

const SCHEME = "openpai-preview";

/**
 * The documents that show what jobs run. Their address holds the job's and the role's name. The definition of a line (F12,
 * Ctrl+click) is the command that it comes from.
 */
export class Previews implements vscode.TextDocumentContentProvider, vscode.DefinitionProvider, vscode.Disposable {
  /** The sources of the lines of all previews, by address. */
  private readonly sources = new Map<string, Places>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable;
  readonly onDidChange = this.changed.event;

  constructor(private readonly controller: Controller) {
    this.subscriptions = vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerDefinitionProvider({ scheme: SCHEME }, this),
      followEdits((uri) => this.refresh(uri.toString())),
      controller.onDidChangeState(({ kind }) => kind === "ready" && this.refresh()),
    );
  }

  /** Show what a role of the active job runs; without a role, what all of them run. */
  async show(named?: unknown, role?: unknown): Promise<void> {
    const job = await jobOf(named);
    const client = await clientFor(this.controller, "pai-lsp.preview");
    const roleName = typeof role === "string" ? role : null;
    const answer = textAnswer(await ask(client, "pai-lsp.preview", [job.uri.toString(), roleName]));
    if (answer === undefined) {
      throw new NoAnswer(`'${shortName(job.uri)}' is not a job that can be previewed`);
    }
    const preview = await vscode.workspace.openTextDocument(previewUri(job.uri, roleName));
    await vscode.languages.setTextDocumentLanguage(preview, answer.languageId);
    await vscode.window.showTextDocument(preview, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      // Otherwise the source of a line would replace it.
      preview: false,
    });
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const { job, role } = shown(uri);
    try {
      const client = await clientFor(this.controller, "pai-lsp.preview");
      const answer = textAnswer(await ask(client, "pai-lsp.preview", [job, role], token));
      this.sources.set(uri.toString(), answer?.places ?? new Map());
      return answer?.text ?? "# This file is not a job at the moment.\n";
    } catch (error) {
      if (error instanceof NoAnswer) {
        return `# ${error.message}\n`;
      }
      throw error;
    }
  }

  async provideDefinition(
    document: vscode.TextDocument,
    position: vscode.Position,
  ): Promise<vscode.Location | undefined> {
    const source = this.sources.get(document.uri.toString())?.get(String(position.line));
    return source && (await located(this.controller, source));
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private refresh(job?: string): void {
    for (const document of vscode.workspace.textDocuments) {
      if (document.uri.scheme === SCHEME && (job === undefined || shown(document.uri).job === job)) {
        this.changed.fire(document.uri);
      }
    }
  }
}

function previewUri(job: vscode.Uri, role: string | null): vscode.Uri {
  const title = role === null ? `What runs (${shortName(job)})` : `What ${role} runs (${shortName(job)})`;
  const query = JSON.stringify({ job: job.toString(), role });
  return vscode.Uri.from({ scheme: SCHEME, path: `/${title}`, query });
}

function shown(uri: vscode.Uri): { readonly job: string; readonly role: string | null } {
  return JSON.parse(uri.query) as { job: string; role: string | null };
}
