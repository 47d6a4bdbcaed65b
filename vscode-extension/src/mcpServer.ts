/**
 * `pai-lsp mcp` as a server that VS Code's chat can start (since 1.101), where the user chooses it instead of the
 * language model tools: a chat with both would list every tool twice.
 *
 * The types are written here, because those of the oldest supported VS Code do not have them.
 */

import type { Launch } from "./server/launch";

/** The name in package.json. */
const PROVIDER = "openpai.mcp";

interface Disposable {
  dispose(): unknown;
}

interface Provider {
  readonly onDidChangeMcpServerDefinitions: Listen;
  provideMcpServerDefinitions(): Promise<unknown[]>;
}

/** Calls back after every change. */
export type Listen = (changed: () => void) => Disposable;

/** What a newer VS Code has. */
export interface McpApi {
  readonly lm?: { readonly registerMcpServerDefinitionProvider?: (id: string, provider: Provider) => Disposable };
  readonly McpStdioServerDefinition?: new (label: string, command: string, words: string[]) => unknown;
}

export interface McpChoice {
  /** Whether the user has chosen it, in a trusted workspace. */
  readonly isChosen: () => boolean;
  /** The installed program that can have the package `mcp`; the user is told where there is none. */
  readonly launch: () => Promise<Launch | undefined>;
  /** The name of the chosen cluster; empty for none. */
  readonly cluster: () => string;
  /** Fires when one of these may have changed. */
  readonly onDidChange: Listen;
}

/** Offer the server while it is chosen; nothing where VS Code does not start such servers. */
export function offerMcpServer({ lm, McpStdioServerDefinition: Server }: McpApi, choice: McpChoice): Disposable {
  if (lm?.registerMcpServerDefinitionProvider === undefined || Server === undefined) {
    return { dispose: () => undefined };
  }
  const provider: Provider = {
    onDidChangeMcpServerDefinitions: choice.onDidChange,
    provideMcpServerDefinitions: async () => {
      const launch = choice.isChosen() ? await choice.launch() : undefined;
      const cluster = choice.cluster();
      const words = ["mcp", ...(cluster === "" ? [] : ["--cluster", cluster])];
      return launch === undefined ? [] : [new Server("pai-lsp", launch.program, [...launch.words, ...words])];
    },
  };
  try {
    return lm.registerMcpServerDefinitionProvider(PROVIDER, provider);
  } catch {
    // VS Code 1.100 has the function, and refuses it to extensions.
    return { dispose: () => undefined };
  }
}
