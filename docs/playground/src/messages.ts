/** What the plugin in the portal and the page in its frame send each other. The token is in none of it. */

import type { ClusterAnswer, ClusterRequest, Platform } from "./answers";

/** The page is ready to be opened; it does not know yet whose frame it is in. */
export const READY = "pai-lsp: ready";

/** The first message to the page, with a port for requests to the cluster. */
export interface Opening {
  platform: Platform;
  /** The name of this plugin in the portal's configuration; empty without one. */
  plugin: string;
  /** The job to begin with. */
  text: string;
  /** A job of the cluster to begin with. */
  resubmit?: { user: string; job: string };
  /** The addresses of the rest-server and the portal; undefined when nobody is logged in. */
  cluster?: { server: string; portal: string };
  /** The address of the marketplace's server; undefined where none is configured. */
  marketplace?: string;
}

export interface Requested {
  number: number;
  request: ClusterRequest;
}

export interface Responded {
  number: number;
  response: ClusterAnswer;
}
