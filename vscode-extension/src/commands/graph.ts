/** Draws who requires whom: the server's picture in a panel that loads nothing and runs nothing. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { drawing } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { followEdits } from "../followEdits";
import { graphPage, messagePage } from "../graphPage";
import type { Controller } from "../server/controller";

/** The panels with graphs, one for each job. */
export class Graphs implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly controller: Controller) {
    this.subscriptions = vscode.Disposable.from(
      followEdits((uri) => void this.draw(uri.toString())),
      controller.onDidBegin(() => this.drawAll()),
      vscode.window.onDidChangeActiveColorTheme(() => this.drawAll()),
    );
  }

  /** Show the graph of the active job. */
  async show(named?: unknown): Promise<void> {
    const job = await jobOf(named);
    const key = job.uri.toString();
    const page = await this.page(key);
    const panel = this.panels.get(key) ?? this.opened(job.uri);
    panel.webview.html = page;
    panel.reveal(undefined, true);
  }

  dispose(): void {
    this.subscriptions.dispose();
    for (const panel of [...this.panels.values()]) {
      panel.dispose();
    }
  }

  private opened(job: vscode.Uri): vscode.WebviewPanel {
    const key = job.toString();
    const panel = vscode.window.createWebviewPanel(
      "openpai.graph",
      `Prerequisites (${shortName(job)})`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: false, localResourceRoots: [] },
    );
    this.panels.set(key, panel);
    panel.onDidDispose(() => this.panels.delete(key));
    return panel;
  }

  private drawAll(): void {
    for (const key of this.panels.keys()) {
      void this.draw(key);
    }
  }

  /** An edit may have left a job that can not be drawn: then the panel says so. */
  private async draw(key: string): Promise<void> {
    const panel = this.panels.get(key);
    if (panel === undefined) {
      return;
    }
    try {
      panel.webview.html = await this.page(key);
    } catch (error) {
      if (!(error instanceof NoAnswer)) {
        throw error;
      }
      panel.webview.html = messagePage(error.message);
    }
  }

  private async page(key: string): Promise<string> {
    const client = await clientFor(this.controller, "pai-lsp.graph");
    const svg = drawing(await ask(client, "pai-lsp.graph", [key]));
    if (svg === undefined) {
      throw new NoAnswer("this is no job with a graph to draw");
    }
    const { kind } = vscode.window.activeColorTheme;
    return graphPage(svg, kind === vscode.ColorThemeKind.Dark || kind === vscode.ColorThemeKind.HighContrast);
  }
}
