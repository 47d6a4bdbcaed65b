/**
 * The settings that the server asks for: the section `openpai` in the keys of `.pai-lsp.yaml`.
 *
 * Empty lists and mappings are left out: an empty list of sources, for example, would override the folder that the
 * server finds by default.
 */

/** What of `vscode.WorkspaceConfiguration` is used. */
export interface Configuration {
  get(key: string): unknown;
}

/** Settings, each with its path in the section that the server gets. */
const SENT: readonly (readonly [setting: string, ...path: string[]])[] = [
  ["rules", "rules"],
  ["preview", "preview"],
  ["exclude", "exclude"],
  ["plugins", "plugins"],
  ["platform", "platform"],
  ["cluster", "cluster"],
  ["shellcheck", "shellcheck"],
  ["acceptedFindings", "acceptedFindings"],
  ["marketplace.sources", "marketplace", "sources"],
  ["marketplace.allowedHosts", "marketplace", "allowed_hosts"],
  ["images.checkOnSave", "images", "checkOnSave"],
  ["inlayHints.templateValues", "inlayHints", "templateValues"],
  ["inlayHints.runOrder", "inlayHints", "runOrder"],
  ["inlayHints.resources", "inlayHints", "resources"],
  ["codeLens.references", "codeLens", "references"],
  ["codeLens.tasks", "codeLens", "tasks"],
  ["codeLens.preview", "codeLens", "preview"],
  ["codeLens.script", "codeLens", "script"],
];

/** The answer to a server's request for a section; null for sections of other extensions. */
export function sectionFor(configuration: Configuration, section: string | undefined): Record<string, unknown> | null {
  if (section !== "openpai") {
    return null;
  }
  const found: Record<string, unknown> = {};
  for (const [setting, ...path] of SENT) {
    const value = configuration.get(`openpai.${setting}`);
    if (!isEmpty(value)) {
      put(found, path, value);
    }
  }
  return found;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") {
    return true;
  }
  return typeof value === "object" && Object.keys(value).length === 0;
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) {
    return;
  }
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = (target[key] ?? {}) as Record<string, unknown>;
  target[key] = inner;
  put(inner, rest, value);
}
