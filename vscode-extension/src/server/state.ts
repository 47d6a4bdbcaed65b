/** The state of the server, and how the editor shows it. */

import type { JobStatus } from "../answers";

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

/** What the language status shows; `detail` is a line each for the job, the server and the marketplaces. */
export interface StatusText {
  readonly text: string;
  readonly detail: string;
  readonly severity: "information" | "warning" | "error";
}

/** The status for the server's state and, once it is ready, for the job that is shown and for the marketplaces. */
export function statusText(state: State, marketplace = NO_MARKETPLACE, job?: JobStatus): StatusText {
  switch (state.kind) {
    case "starting":
      return { text: "OpenPAI: starting", detail: state.message, severity: "information" };
    case "ready": {
      const isOffline = marketplace.state === "unreachable";
      const lines = [
        ...(job === undefined ? [] : [`checked for ${job.platform}${job.cluster && `, cluster ${job.cluster}`}`]),
        `pai-lsp ${state.version}, from ${state.origin}`,
        ...(state.isRestricted ? ["restricted mode: no network"] : []),
        ...(marketplace.state === "none" ? [] : [`marketplace ${marketplace.state}: ${marketplace.note}`]),
      ];
      return {
        text: `${job?.platform ?? "OpenPAI"}: ready${isOffline ? ", marketplace unreachable" : ""}`,
        detail: lines.join("\n"),
        severity: isOffline ? "warning" : "information",
      };
    }
    case "failed":
      return { text: "OpenPAI: failed", detail: state.message, severity: "error" };
    case "restricted":
      return { text: "OpenPAI: restricted", detail: state.message, severity: "warning" };
  }
}
