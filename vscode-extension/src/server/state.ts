/** What the server is doing, and how the status bar says it. */

/** The server's state; `message` and `detail` are for the user. */
export type State =
  | { readonly kind: "starting"; readonly message: string }
  | { readonly kind: "ready"; readonly version: string; readonly origin: string; readonly isRestricted: boolean }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "restricted"; readonly message: string };

/** An item of the status bar. */
export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
}

/** The status bar's words for a state. */
export function statusText(state: State): StatusText {
  switch (state.kind) {
    case "starting":
      return { text: "$(sync~spin) OpenPAI: starting", tooltip: state.message, severity: "none" };
    case "ready": {
      const server = `pai-lsp ${state.version}, from ${state.origin}`;
      return state.isRestricted
        ? { text: "$(shield) OpenPAI: ready", tooltip: `${server}\nrestricted mode: no network`, severity: "none" }
        : { text: "$(check) OpenPAI: ready", tooltip: server, severity: "none" };
    }
    case "failed":
      return { text: "$(error) OpenPAI: failed", tooltip: state.message, severity: "error" };
    case "restricted":
      return { text: "$(shield) OpenPAI: restricted", tooltip: state.message, severity: "warning" };
  }
}
