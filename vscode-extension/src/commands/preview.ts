/** Shows what a job runs: a read-only document beside it that follows its edits. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { type Places, textAnswer } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { followEdits } from "../followEdits";
import { located } from "./references";
import type { Controller } from "../server/controller";

const SCHEME = "openpai-preview";
/** The addresses of the previews that are shown in this workspace, and their languages. */
const SHOWN = "openpai.previews";

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

  constructor(
    private readonly controller: Controller,
    private readonly memory: vscode.Memento,
  ) {
    this.subscriptions = vscode.Disposable.from(
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerDefinitionProvider({ scheme: SCHEME }, this),
      followEdits((uri) => this.refresh(uri.toString())),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => void this.forget(closed)),
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
    const uri = previewUri(job.uri, roleName);
    await open(uri, answer.languageId);
    await this.memory.update(SHOWN, { ...this.memory.get(SHOWN), [uri.toString()]: answer.languageId });
  }

  /** Show the previews again that were open when the window was closed: the editor keeps no tabs of such documents. */
  async restore(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(addressOf));
    for (const [address, language] of Object.entries(this.memory.get<Record<string, string>>(SHOWN, {}))) {
      if (!tabs.includes(address)) {
        await open(vscode.Uri.parse(address), language);
      }
    }
  }

  private async forget(closed: readonly vscode.Tab[]): Promise<void> {
    const gone = closed.map(addressOf);
    const known = Object.entries(this.memory.get<Record<string, string>>(SHOWN, {}));
    const kept = known.filter(([address]) => !gone.includes(address));
    if (kept.length < known.length) {
      await this.memory.update(SHOWN, Object.fromEntries(kept));
    }
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

async function open(uri: vscode.Uri, language: string): Promise<void> {
  const preview = await vscode.workspace.openTextDocument(uri);
  await vscode.languages.setTextDocumentLanguage(preview, language);
  await vscode.window.showTextDocument(preview, {
    viewColumn: vscode.ViewColumn.Beside,
    preserveFocus: true,
    // Otherwise the source of a line would replace it.
    preview: false,
  });
}

function addressOf(tab: vscode.Tab): string | undefined {
  return tab.input instanceof vscode.TabInputText ? tab.input.uri.toString() : undefined;
}

function previewUri(job: vscode.Uri, role: string | null): vscode.Uri {
  const title = role === null ? `What runs (${shortName(job)})` : `What ${role} runs (${shortName(job)})`;
  const query = JSON.stringify({ job: job.toString(), role });
  return vscode.Uri.from({ scheme: SCHEME, path: `/${title}`, query });
}

function shown(uri: vscode.Uri): { readonly job: string; readonly role: string | null } {
  return JSON.parse(uri.query) as { job: string; role: string | null };
}
