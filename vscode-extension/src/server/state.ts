/** What the server is doing, and how the status bar says it. */

/** The server's state; `message` and `detail` are for the user. */
export type State =
  | { readonly kind: "starting"; readonly message: string }
  | { readonly kind: "ready"; readonly version: string; readonly origin: string; readonly isRestricted: boolean }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "restricted"; readonly message: string };

/** How the marketplaces are, as the server tells it; `note` says more, in words. */
export interface MarketplaceStatus {
  readonly state: string;
  readonly note: string;
}

/** The marketplaces of which nothing is known. */
export const NO_MARKETPLACE: MarketplaceStatus = { state: "none", note: "" };

/** An item of the status bar. */
export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
}

/** The status bar's words for the server's state and, once it is ready, for the marketplaces. */
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
