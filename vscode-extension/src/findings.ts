/** The codes of our findings among a document's diagnostics. */

import type * as vscode from "vscode";

/** The name under which the server reports. */
const SOURCE = "pai-lsp";

/** The codes of the server's findings, each once. */
export function codesAt(diagnostics: readonly Pick<vscode.Diagnostic, "source" | "code">[]): string[] {
  const codes = diagnostics
    .filter((diagnostic) => diagnostic.source === SOURCE)
    .map(({ code }) => (typeof code === "object" ? code.value : code))
    .filter((code) => code !== undefined)
    .map(String);
  return [...new Set(codes)];
}
