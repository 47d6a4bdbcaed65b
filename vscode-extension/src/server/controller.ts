/**
 * Starts the server, and restarts it when it ends.
 *
 * This is sequential: a restart waits for a start in progress.
 */

import * as vscode from "vscode";
import type { ExecuteCommandSignature, LanguageClient } from "vscode-languageclient/node";
import { Connection } from "./connection";
import { existingServer, findOrMakeServer, folderToRunIn } from "./discovery";
import { type Launch, WrongSetting } from "./launch";
import { restartsAfterCrash } from "./restartBudget";
import { Unusable } from "./selection";
import { SetupFailure } from "./setupFailure";
import { type MarketplaceStatus, NO_MARKETPLACE, type State } from "./state";
import { sentence } from "../sentence";

export type ExecuteCommand = (command: string, words: unknown[], next: ExecuteCommandSignature) => unknown;

const RETRY = "Retry";
const SHOW_OUTPUT = "Show Output";
const OPEN_SETTINGS = "Open Settings";
const MANAGE_TRUST = "Manage Workspace Trust";

/** The one server of a window. */
export class Controller implements vscode.Disposable {
  private readonly stateChanged = new vscode.EventEmitter<State>();
  private current: State | undefined;
  private marketplaces = NO_MARKETPLACE;
  private connection: Connection | undefined;
  private restarts: readonly number[] = [];
  private queue: Promise<void> = Promise.resolve();
  private isDisposed = false;

  /** Fires with every new state, of the server or of the marketplaces. */
  readonly onDidChangeState = this.stateChanged.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly output: vscode.LogOutputChannel,
    private readonly executeCommand: ExecuteCommand,
  ) {}

  /** The newest state; undefined before the first start. */
  get state(): State | undefined {
    return this.current;
  }

  /** The state of the marketplaces that the running server reported last. */
  get marketplace(): MarketplaceStatus {
    return this.marketplaces;
  }

  /** How the running server was started; undefined while none runs. */
  get launch(): Launch | undefined {
    return this.connection?.server.launch;
  }

  /** The client of a server that answers, once a start that is under way has ended. */
  async client(): Promise<LanguageClient | undefined> {
    await this.start();
    return this.connection?.client;
  }

  /** Start a server unless one was started before. */
  start(): Promise<void> {
    if (this.current === undefined) {
      return this.inTurn(() => this.begin());
    }
    return this.queue;
  }

  /** End the server and start one anew; what was counted of crashes is forgotten. */
  restart(): Promise<void> {
    this.restarts = [];
    return this.inTurn(async () => {
      await this.end();
      await this.begin();
    });
  }

  /** Start anew when another server would be chosen now than the one that runs. */
  restartIfOther(): Promise<void> {
    if (this.current === undefined) {
      return Promise.resolve();
    }
    return this.inTurn(async () => {
      const { context, output } = this;
      const server = await existingServer({ context, output }).catch(() => undefined);
      if (server !== undefined && server.launch.program !== this.connection?.server.launch.program) {
        await this.end();
        await this.begin();
      }
    });
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
    await this.queue;
    await this.end();
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.queue.then(() => (this.isDisposed ? undefined : work()));
    this.queue = turn.catch((error: unknown) => this.output.error(error instanceof Error ? error : String(error)));
    return this.queue;
  }

  private async begin(): Promise<void> {
    this.become({ kind: "starting", message: "looking for the server" });
    try {
      const { context, output } = this;
      const onStep = (message: string) => this.become({ kind: "starting", message });
      const server = await findOrMakeServer({ context, output, onStep });
      this.output.info(`pai-lsp ${server.version}, from ${server.launch.origin}: ${server.launch.program}`);
      this.marketplaces = NO_MARKETPLACE;
      this.become({ kind: "starting", message: `starting pai-lsp ${server.version}` });
      const connection = new Connection({
        server,
        output: this.output,
        folder: folderToRunIn(),
        secrets: this.context.secrets,
        executeCommand: this.executeCommand,
        onEnd: (how) => this.ended(connection, how),
        onMarketplace: (status) => {
          this.marketplaces = status;
          if (this.current !== undefined) {
            this.stateChanged.fire(this.current);
          }
        },
      });
      await connection.start();
      this.connection = connection;
      this.become({
        kind: "ready",
        version: server.version,
        origin: server.launch.origin,
        isRestricted: !vscode.workspace.isTrusted,
      });
    } catch (error) {
      this.refused(error);
    }
  }

  private async end(): Promise<void> {
    const { connection } = this;
    this.connection = undefined;
    await connection?.stop();
  }

  private ended(connection: Connection, how: string): void {
    if (connection !== this.connection) {
      return;
    }
    this.connection = undefined;
    this.output.warn(`the server ${how}`);
    const restarts = restartsAfterCrash(this.restarts, Date.now());
    if (restarts === undefined) {
      void connection.stop();
      this.refused(new Error(`the server crashed repeatedly (the last time it ${how})`));
      return;
    }
    this.restarts = restarts;
    void this.inTurn(async () => {
      await connection.stop();
      await this.begin();
    });
  }

  private refused(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof SetupFailure && error.kind === "not-allowed") {
      this.output.info(message);
      this.become({ kind: "restricted", message });
      void this.offer(vscode.window.showWarningMessage(sentence(message), MANAGE_TRUST));
      return;
    }
    this.output.error(message);
    this.become({ kind: "failed", message });
    const isExpected = error instanceof SetupFailure || error instanceof Unusable || error instanceof WrongSetting;
    const shown = isExpected ? message : `the server could not be started: ${message}`;
    void this.offer(vscode.window.showErrorMessage(sentence(shown), RETRY, SHOW_OUTPUT, OPEN_SETTINGS));
  }

  private async offer(shown: Thenable<string | undefined>): Promise<void> {
    switch (await shown) {
      case RETRY:
        await this.restart();
        break;
      case SHOW_OUTPUT:
        this.output.show();
        break;
      case OPEN_SETTINGS:
        await vscode.commands.executeCommand("workbench.action.openSettings", "openpai.server");
        break;
      case MANAGE_TRUST:
        await vscode.commands.executeCommand("workbench.trust.manage");
        break;
    }
  }

  private become(state: State): void {
    this.current = state;
    this.stateChanged.fire(state);
  }
}
