/**
 * Draws the prerequisite graph: the server describes the graph, Graphviz draws it. Its panel loads nothing and runs no
 * script; its links only show definitions.
 */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { graph } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { followEdits } from "../followEdits";
import { graphPage, messagePage, SHOW_PLACE } from "../graphPage";
import { drawn } from "../graphviz";
import type { Controller } from "../server/controller";

const VIEW = "openpai.graph";
const OPTIONS: vscode.WebviewOptions = {
  enableScripts: false,
  enableCommandUris: [SHOW_PLACE],
  localResourceRoots: [],
};

/** Where the jobs of the panels are kept, by the panels' titles: a panel without a script has no state of its own. */
const KEPT = "openpai.graphs";

/** The panels with graphs, one for each job; they come back when the window is loaded again. */
export class Graphs implements vscode.WebviewPanelSerializer, vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  /** What stops the latest drawing of each job. */
  private readonly drawings = new Map<string, AbortController>();
  private readonly subscriptions: vscode.Disposable;

  constructor(
    private readonly controller: Controller,
    private readonly context: vscode.ExtensionContext,
  ) {
    this.subscriptions = vscode.Disposable.from(
      vscode.window.registerWebviewPanelSerializer(VIEW, this),
      followEdits((uri) => void this.draw(uri.toString())),
      controller.onDidChangeState(({ kind }) => kind === "ready" && this.drawAll()),
    );
  }

  /** Show the graph of the active job. */
  async show(named?: unknown): Promise<void> {
    const job = await jobOf(named);
    const key = job.uri.toString();
    const page = await this.page(key);
    if (page === undefined) {
      return;
    }
    const panel = this.panels.get(key) ?? this.opened(job.uri);
    panel.webview.html = page;
    panel.reveal(undefined, true);
  }

  /** Fill a panel that was open before; the server need not run yet. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    const job = this.context.workspaceState.get<Record<string, string>>(KEPT, {})[panel.title];
    if (job === undefined) {
      panel.dispose();
      return Promise.resolve();
    }
    panel.webview.options = OPTIONS;
    panel.webview.html = messagePage("Starting...");
    const uri = vscode.Uri.parse(job, true);
    this.adopt(panel, uri);
    // The server draws open documents. VS Code shows the panel when this returns, so nothing is waited for.
    vscode.workspace.openTextDocument(uri).then(
      () => void this.draw(job),
      () => {
        panel.dispose();
      },
    );
    return Promise.resolve();
  }

  /** The panels stay: a window that is loaded again closes its extensions first, and would have nothing to restore. */
  dispose(): void {
    this.subscriptions.dispose();
    for (const drawing of this.drawings.values()) {
      drawing.abort();
    }
  }

  private opened(job: vscode.Uri): vscode.WebviewPanel {
    const title = `Prerequisites (${shortName(job)})`;
    const panel = vscode.window.createWebviewPanel(
      VIEW,
      title,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      OPTIONS,
    );
    this.adopt(panel, job);
    return panel;
  }

  /** Take care of a panel that shows the graph of a job. */
  private adopt(panel: vscode.WebviewPanel, job: vscode.Uri): void {
    const key = job.toString();
    const icon = (theme: string) => vscode.Uri.joinPath(this.context.extensionUri, `media/graph-${theme}.svg`);
    panel.iconPath = { light: icon("light"), dark: icon("dark") };
    this.panels.set(key, panel);
    panel.onDidDispose(() => {
      this.panels.delete(key);
      this.drawings.get(key)?.abort();
      this.drawings.delete(key);
      this.keep();
    });
    this.keep();
  }

  private keep(): void {
    const jobs = [...this.panels].map(([key, { title }]) => [title, key]);
    void this.context.workspaceState.update(KEPT, Object.fromEntries(jobs));
  }

  private drawAll(): void {
    for (const key of this.panels.keys()) {
      void this.draw(key);
    }
  }

  /** After an edit, the job may be impossible to draw: the panel then shows the reason. */
  private async draw(key: string): Promise<void> {
    const panel = this.panels.get(key);
    if (panel === undefined) {
      return;
    }
    try {
      panel.webview.html = (await this.page(key)) ?? panel.webview.html;
    } catch (error) {
      if (!(error instanceof NoAnswer)) {
        throw error;
      }
      panel.webview.html = messagePage(error.message);
    }
  }

  /** The page with the graph; none when a later drawing has begun meanwhile. */
  private async page(key: string): Promise<string | undefined> {
    this.drawings.get(key)?.abort();
    const stop = new AbortController();
    this.drawings.set(key, stop);
    try {
      const client = await clientFor(this.controller, "pai-lsp.graph");
      const answer = graph(await ask(client, "pai-lsp.graph", [key]));
      if (answer === undefined) {
        throw new NoAnswer("this file is not a job with a graph to draw");
      }
      return graphPage(await picture(answer.dot, stop.signal), answer.places);
    } catch (error) {
      if (stop.signal.aborted) {
        return undefined;
      }
      throw error;
    }
  }
}

async function picture(dot: string, stop: AbortSignal): Promise<string> {
  try {
    return await drawn(dot, stop);
  } catch (error) {
    throw new NoAnswer(error instanceof Error ? error.message : String(error));
  }
}
