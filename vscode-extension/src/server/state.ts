/** The state of the server, and how the status bar shows it. */

/** The server's state; `message` and `detail` are for the user. */
export type State =
  | { readonly kind: "starting"; readonly message: string }
  | { readonly kind: "ready"; readonly version: string; readonly origin: string; readonly isRestricted: boolean }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "restricted"; readonly message: string };

/** The state of the marketplaces as reported by the server; `note` explains it. */
export interface MarketplaceStatus {
  readonly state: string;
  readonly note: string;
}

/** The initial state of the marketplaces. */
export const NO_MARKETPLACE: MarketplaceStatus = { state: "none", note: "" };

/** An item of the status bar. */
export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
}

/** The text of the status bar for the server's state and, once it is ready, for the marketplaces. */
export function statusText(state: State, marketplace = NO_MARKETPLACE): StatusText {
  switch (state.kind) {
    case "starting":
      return { text: "$(sync~spin) OpenPAI: starting", tooltip: state.message, severity: "none" };
    case "ready": {
      const isOffline = marketplace.state === "unreachable";
      const icon = isOffline ? "warning" : state.isRestricted ? "shield" : "check";
      const lines = [
        `pai-lsp ${state.version}, from ${state.origin}`,
        ...(state.isRestricted ? ["restricted mode: no network"] : []),
        ...(marketplace.state === "none" ? [] : [`marketplace ${marketplace.state}: ${marketplace.note}`]),
      ];
      return {
        text: `$(${icon}) OpenPAI: ready${isOffline ? ", marketplace unreachable" : ""}`,
        tooltip: lines.join("\n"),
        severity: "none",
      };
    }
    case "failed":
      return { text: "$(error) OpenPAI: failed", tooltip: state.message, severity: "error" };
    case "restricted":
      return { text: "$(shield) OpenPAI: restricted", tooltip: state.message, severity: "warning" };
  }
}
