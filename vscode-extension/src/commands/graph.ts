/** Draws the prerequisite graph: the server describes the graph, Graphviz draws it, and its panel loads and runs nothing. */

import * as vscode from "vscode";
import { jobOf, shortName } from "../activeJob";
import { graph } from "../answers";
import { ask, clientFor, NoAnswer } from "../ask";
import { followEdits } from "../followEdits";
import { graphPage, messagePage } from "../graphPage";
import { drawn } from "../graphviz";
import type { Controller } from "../server/controller";

/** The panels with graphs, one for each job. */
export class Graphs implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  /** What stops the latest drawing of each job. */
  private readonly drawings = new Map<string, AbortController>();
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly controller: Controller) {
    this.subscriptions = vscode.Disposable.from(
      followEdits((uri) => void this.draw(uri.toString())),
      controller.onDidBegin(() => this.drawAll()),
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
    panel.onDidDispose(() => {
      this.panels.delete(key);
      this.drawings.get(key)?.abort();
      this.drawings.delete(key);
    });
    return panel;
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
      const dot = graph(await ask(client, "pai-lsp.graph", [key]));
      if (dot === undefined) {
        throw new NoAnswer("this file is not a job with a graph to draw");
      }
      return graphPage(await picture(dot, stop.signal));
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
