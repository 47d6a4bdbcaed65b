/** Calls back a moment after the last of several quick edits of a document. */

import * as vscode from "vscode";

/** What follows a job waits that long after a keystroke, in milliseconds. */
const CALM = 150;

/** Call `onEdit` with the address of every document that was edited, once its edits pause. */
export function followEdits(onEdit: (uri: vscode.Uri) => void): vscode.Disposable {
  const waiting = new Map<string, NodeJS.Timeout>();
  const changes = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (contentChanges.length === 0) {
      return;
    }
    const key = document.uri.toString();
    clearTimeout(waiting.get(key));
    waiting.set(
      key,
      setTimeout(() => {
        waiting.delete(key);
        onEdit(document.uri);
      }, CALM),
    );
  });
  return vscode.Disposable.from(
    changes,
    new vscode.Disposable(() => {
      for (const timer of waiting.values()) {
        clearTimeout(timer);
      }
    }),
  );
}
