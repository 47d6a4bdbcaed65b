/** One running server: its process, and the client connected to it until either ends. */

import { type ChildProcess, spawn } from "node:child_process";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type ExecuteCommandSignature,
  LanguageClient,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import { CONFIGURATION_FILE, JOB_LANGUAGE } from "../documents";
import { accountFor, REGISTRY_ACCOUNT } from "../registryAccounts";
import { sectionFor } from "../settings";
import type { Server } from "./selection";
import type { MarketplaceStatus } from "./state";

export interface ConnectionOptions {
  readonly server: Server;
  readonly output: vscode.LogOutputChannel;
  readonly folder: string;
  /** The accounts at image registries. */
  readonly secrets: vscode.SecretStorage;
  /** Called once when the server has ended without being asked to; `how` is for the user. */
  readonly onEnd: (how: string) => void;
  /** Called when the state of the marketplaces changes. */
  readonly onMarketplace: (status: MarketplaceStatus) => void;
  /** Runs a server command that a code lens or a code action names. */
  readonly executeCommand: (command: string, words: unknown[], next: ExecuteCommandSignature) => unknown;
}

/** The name under which the server asks to show references; it is not for users. */
export const SHOW_REFERENCES = "openpai.showReferences";
/** The commands of this extension that the server's code lenses and code actions may run. */
const LENS_COMMANDS = ["openpai.preview", "openpai.copyScript", "openpai.convert", "openpai.expand", SHOW_REFERENCES];
/** The server's own notification, with a `MarketplaceStatus`. */
const MARKETPLACE_STATUS = "pai-lsp/marketplaceStatus";
/** Python reads its modules from a cold disk, maybe on a busy login node. */
const MILLISECONDS_TO_START = 120_000;
const MILLISECONDS_TO_STOP = 2_000;

/** The controller shows why a server does not start; the client's own notification would be a second one. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown, showNotification?: boolean | "force"): void {
    super.error(message, data, showNotification !== "force" && showNotification);
  }
}

/** A client with its server. */
export class Connection {
  readonly client: LanguageClient;
  readonly server: Server;
  private process: ChildProcess | undefined;
  private hasEnded = false;
  /** Fails a start in progress. */
  private refuseStart: ((reason: Error) => void) | undefined;

  constructor(private readonly options: ConnectionOptions) {
    this.server = options.server;
    this.client = new QuietClient("openpai", "OpenPAI", () => this.spawned(), this.clientOptions());
    this.client.onNotification(MARKETPLACE_STATUS, options.onMarketplace);
    this.client.onRequest(REGISTRY_ACCOUNT, (question: unknown) => accountFor(options.secrets, question));
  }

  /**
   * Start the server and wait until it answers.
   *
   * @throws Error when it does not; it is stopped then.
   */
  async start(): Promise<void> {
    const refused = new Promise<never>((_, reject) => {
      this.refuseStart = reject;
    });
    const seconds = MILLISECONDS_TO_START / 1000;
    const timer = setTimeout(
      () => this.refuseStart?.(new Error(`no response in ${seconds} seconds`)),
      MILLISECONDS_TO_START,
    );
    try {
      await Promise.race([this.client.start(), refused]);
      this.refuseStart = undefined;
    } catch (error) {
      this.hasEnded = true;
      this.process?.kill("SIGKILL");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** End the server; this never rejects. */
  async stop(): Promise<void> {
    this.hasEnded = true;
    let signal: NodeJS.Signals = "SIGTERM";
    try {
      await this.client.stop(MILLISECONDS_TO_STOP);
    } catch (error) {
      // It hangs, and would not notice a polite signal either.
      signal = "SIGKILL";
      this.options.output.warn(`the server did not stop when asked: ${String(error)}`);
    }
    if (this.process?.exitCode === null) {
      this.process.kill(signal);
    }
    await this.client.dispose().catch(() => undefined);
  }

  private spawned(): Promise<ChildProcess> {
    const { launch } = this.options.server;
    return new Promise((resolve, reject) => {
      const child = spawn(launch.program, [...launch.words, "server"], {
        cwd: this.options.folder,
        stdio: ["pipe", "pipe", "pipe"],
        windowsHide: true,
      });
      this.process = child;
      child.on("error", reject);
      child.on("spawn", () => resolve(child));
      child.on("exit", (status, signal) =>
        this.ended(signal ? `was ended by ${signal}` : `exited with status ${status}`),
      );
    });
  }

  private ended(how: string): void {
    if (this.hasEnded) {
      return;
    }
    this.hasEnded = true;
    if (this.refuseStart) {
      this.refuseStart(new Error(`it ${how}`));
    } else {
      this.options.onEnd(how);
    }
  }

  private clientOptions(): LanguageClientOptions {
    return {
      documentSelector: [
        { language: JOB_LANGUAGE },
        // The server decides which of them are jobs, and ignores the others.
        { language: "yaml", scheme: "file" },
        { language: "yaml", scheme: "untitled" },
        { language: "yaml", scheme: "vscode-remote" },
        { language: "yaml", scheme: "vscode-vfs" },
        { pattern: `**/${CONFIGURATION_FILE}` },
      ],
      diagnosticCollectionName: "openpai",
      outputChannel: this.options.output,
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        commands: LENS_COMMANDS,
        registryAccounts: true,
      },
      // Restarts are counted in one place, which also looks for the server again; here the client only lets go.
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.ended("closed its output");
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      initializationFailedHandler: () => false,
      middleware: {
        executeCommand: this.options.executeCommand,
        workspace: {
          configuration: (params) =>
            params.items.map((item) => {
              const scope = item.scopeUri ? this.client.protocol2CodeConverter.asUri(item.scopeUri) : undefined;
              return sectionFor(vscode.workspace.getConfiguration(undefined, scope ?? null), item.section);
            }),
        },
      },
    };
  }
}
