/** Explains a finding: what it means, what the cluster does, and what would be right. */

import * as vscode from "vscode";
import { activeJobEditor, activeMpiJobEditor } from "../activeJob";
import { ask, clientFor, NoAnswer } from "../ask";
import { codesAt } from "../findings";
import type { Controller } from "../server/controller";

const SCHEME = "openpai-rule";

/** The pages of rules, as the server that runs has them: they need no network. */
export class Explanations implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registration: vscode.Disposable;

  constructor(private readonly controller: Controller) {
    this.registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
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

  dispose(): void {
    this.registration.dispose();
  }

  private async codeAtCursor(): Promise<string | undefined> {
    const editor = activeJobEditor() ?? activeMpiJobEditor();
    if (editor === undefined) {
      throw new NoAnswer("put the cursor on a finding first");
    }
    const cursor = editor.selection.active;
    const diagnostics = vscode.languages.getDiagnostics(editor.document.uri);
    const here = codesAt(diagnostics.filter((one) => one.range.contains(cursor)));
    const onLine = codesAt(diagnostics.filter((one) => one.range.start.line === cursor.line));
    const codes = here.length > 0 ? here : onLine;
    if (codes.length === 0) {
      throw new NoAnswer("there is no finding on this line");
    }
    return codes.length === 1 ? codes[0] : vscode.window.showQuickPick(codes, { title: "Explain Finding" });
  }
}
