/** Explains a finding: what it means, what the cluster does, and what would be right. */

import * as vscode from "vscode";
import { ask, clientFor, knows, NoAnswer } from "../ask";
import { JOB_LANGUAGE } from "../documents";
import { codesAt } from "../findings";
import type { Controller } from "../server/controller";

const SCHEME = "openpai-rule";
const SELECTOR: vscode.DocumentSelector = [{ language: JOB_LANGUAGE }, { language: "yaml" }];

/** The pages of rules, and the entry `Explain` beside the quick fixes. */
export class Explanations implements vscode.TextDocumentContentProvider, vscode.CodeActionProvider, vscode.Disposable {
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly controller: Controller) {
    this.subscriptions = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeActionsProvider(SELECTOR, this, {
        providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
      }),
    );
  }

  /** Show the page of a rule: the one named, or that of the finding at the cursor. */
  async show(code?: unknown): Promise<void> {
    await clientFor(this.controller, "pai-lsp.explain");
    const explained = typeof code === "string" ? code : await this.codeAtCursor();
    if (explained !== undefined) {
      const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${explained}.md` });
      await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const code = uri.path.slice(1).replace(/\.md$/, "");
    try {
      const client = await clientFor(this.controller, "pai-lsp.explain");
      return String(await ask(client, "pai-lsp.explain", [code], token));
    } catch (error) {
      if (error instanceof NoAnswer) {
        return error.message;
      }
      throw error;
    }
  }

  async provideCodeActions(
    _document: vscode.TextDocument,
    _range: vscode.Range,
    context: vscode.CodeActionContext,
  ): Promise<vscode.CodeAction[]> {
    if (this.controller.state?.kind !== "ready") {
      return [];
    }
    const client = await this.controller.client();
    if (client === undefined || !knows(client, "pai-lsp.explain")) {
      return [];
    }
    return codesAt(context.diagnostics).map((code) => {
      const action = new vscode.CodeAction(`Explain '${code}'`, vscode.CodeActionKind.QuickFix);
      action.command = { command: "openpai.explainFinding", title: "Explain Finding", arguments: [code] };
      return action;
    });
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private async codeAtCursor(): Promise<string | undefined> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      throw new NoAnswer("put the cursor on a finding first");
    }
    const cursor = editor.selection.active;
    const diagnostics = vscode.languages.getDiagnostics(editor.document.uri);
    const here = codesAt(diagnostics.filter((one) => one.range.contains(cursor)));
    const onLine = codesAt(diagnostics.filter((one) => one.range.start.line === cursor.line));
    const codes = here.length > 0 ? here : onLine;
    if (codes.length === 0) {
      throw new NoAnswer("there is no finding at the cursor");
    }
    return codes.length === 1 ? codes[0] : vscode.window.showQuickPick(codes, { title: "Explain Finding" });
  }
}
