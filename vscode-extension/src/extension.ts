/** The entry point of the extension: creates all objects once and passes them on. */

import * as vscode from "vscode";
import type { Location, Position } from "vscode-languageclient/node";
import { activeJobEditor, activeMpiJobEditor, isOurs, isPlainJob } from "./activeJob";
import { toolAnswer } from "./answers";
import { ask, clientFor, NoAnswer, reportingFailure } from "./ask";
import { chooseCluster } from "./commands/cluster";
import { convertFile } from "./commands/convert";
import { expandJob } from "./commands/expand";
import { Explanations } from "./commands/explain";
import { explainFailure } from "./commands/failure";
import { checkFolder, clearFolders } from "./commands/folder";
import { Graphs } from "./commands/graph";
import { checkImages } from "./commands/images";
import { insertFromMarketplace, refreshMarketplace } from "./commands/marketplace";
import { newJob } from "./commands/newJob";
import { copyScript } from "./commands/copyScript";
import { Previews } from "./commands/preview";
import { signInToRegistry } from "./commands/registrySignIn";
import { showPlace, showReferences } from "./commands/references";
import { runTask } from "./commands/runTask";
import { publishFile, updateLocked } from "./commands/publish";
import { submitJob } from "./commands/submit";
import { LiveJobs } from "./jobs/liveJobs";
import { SHOW_PLACE } from "./graphPage";
import { indentAsConfigured, offerJobLanguage, useJobLanguage } from "./jobLanguage";
import { type Answer, offerTools, type ToolApi } from "./languageModelTools";
import { type Listen, type McpApi, offerMcpServer } from "./mcpServer";
import { SHOW_REFERENCES } from "./server/connection";
import { Controller } from "./server/controller";
import { installedServer } from "./server/discovery";
import type { Launch } from "./server/launch";
import type { State } from "./server/state";
import { watchSelectedInterpreter } from "./server/surroundings";
import { showStatus, statusItem } from "./statusItem";
import { CheckTasks } from "./tasks";

/** The API for other extensions and for tests. */
export interface Interface {
  /** The state of the server; undefined before its first start. */
  readonly state: () => State | undefined;
  readonly onDidChangeState: vscode.Event<State>;
}

let running: Controller | undefined;

export function activate(context: vscode.ExtensionContext): Interface {
  const output = vscode.window.createOutputChannel("OpenPAI", { log: true });
  const controller = new Controller(context, output, (command, words, next) => {
    // Code lenses and code actions of the server name its own commands; these show something here.
    const shown = SHOWN_HERE[command];
    return shown === undefined ? next(command, words) : vscode.commands.executeCommand(shown, ...words);
  });
  running = controller;
  const previews = new Previews(controller, context.workspaceState);
  const graphs = new Graphs(controller, context);
  const explanations = new Explanations(controller);
  const jobs = new LiveJobs(controller);
  const command = (name: string, run: (...words: unknown[]) => unknown) =>
    vscode.commands.registerCommand(`openpai.${name}`, (...words: unknown[]) => reportingFailure(() => run(...words)));
  context.subscriptions.push(
    output,
    previews,
    graphs,
    explanations,
    jobs,
    new CheckTasks(controller),
    statusItem(controller),
    command("preview", (job, role) => previews.show(job, role)),
    command("copyScript", (job, role) => copyScript(controller, job, role)),
    command("showGraph", (job) => graphs.show(job)),
    command("expand", (job) => expandJob(controller, job)),
    command("convert", (file, to) => convertFile(controller, file, to)),
    command("insertFromMarketplace", () => insertFromMarketplace(controller)),
    command("refreshMarketplace", () => refreshMarketplace(controller)),
    command("publish", () => publishFile(controller)),
    command("updateLocked", () => updateLocked(controller)),
    command("newJob", () => newJob(controller)),
    command("explainFinding", (code) => explanations.show(code)),
    command("checkFolder", (folder) => checkFolder(controller, folder)),
    command("clearFolders", () => clearFolders(controller)),
    command("chooseCluster", () => chooseCluster(controller)),
    command("runTask", (job) => runTask(controller, previews, job)),
    command("checkImages", (job) => checkImages(controller, job)),
    command("registrySignIn", () => signInToRegistry(context.secrets)),
    command("submit", (job) => submitJob(controller, jobs, job)),
    command("showJobs", () => jobs.show()),
    command("refreshJobs", () => jobs.refresh()),
    command("followedJob", (name) => jobs.offer(name)),
    command("showJobLog", (job) => jobs.showLog(job)),
    command("whyJobFailed", (job) => jobs.why(job)),
    command("explainFailure", () => explainFailure(controller)),
    command("useJobLanguage", () => useJobLanguage()),
    command("restartServer", () => controller.restart()),
    command("showOutput", () => output.show()),
    command("showStatus", () => showStatus(controller)),
    vscode.commands.registerCommand(SHOW_REFERENCES, (uri: string, at: Position, places: Location[]) =>
      reportingFailure(() => showReferences(controller, uri, at, places)),
    ),
    vscode.commands.registerCommand(SHOW_PLACE, (place: unknown) =>
      reportingFailure(() => showPlace(controller, place)),
    ),
    offerJobLanguage(controller, context.workspaceState),
    offerTools(
      vscode as unknown as ToolApi<vscode.CancellationToken>,
      toolNames(context),
      vscode.workspace,
      answerTool(controller),
    ),
    offerMcpServer(vscode as unknown as McpApi, {
      isChosen: () => vscode.workspace.isTrusted && setting("chat") === "mcp",
      launch: () => launchWithPackages(output),
      cluster: () => setting("cluster") ?? "",
      onDidChange: whenChoiceChanges,
    }),
    ...startWhenNeeded(controller),
    ...restartWhenChanged(controller),
    ...followActiveJob(),
    controller.onDidChangeState(() => void vscode.commands.executeCommand("setContext", "openpai.isRunning", true)),
  );
  indentAsConfigured();
  void reportingFailure(() => previews.restore());
  void watchSelectedInterpreter(() => void controller.restartIfOther()).then((watch) =>
    context.subscriptions.push(watch),
  );
  return { state: () => controller.state, onDidChangeState: controller.onDidChangeState };
}

export async function deactivate(): Promise<void> {
  await running?.dispose();
}

/** The server's commands whose answers are shown, and the commands here that show them. */
const SHOWN_HERE: Readonly<Record<string, string>> = {
  "pai-lsp.preview": "openpai.preview",
  "pai-lsp.script": "openpai.copyScript",
  "pai-lsp.graph": "openpai.showGraph",
  "pai-lsp.expand": "openpai.expand",
  "pai-lsp.convert": "openpai.convert",
  "pai-lsp.explain": "openpai.explainFinding",
  "pai-lsp.openRule": "openpai.explainFinding",
};

/** What the server answers to a tool of a language model. */
function answerTool(controller: Controller): Answer<vscode.CancellationToken> {
  return async (tool, input, token) => {
    const client = await clientFor(controller, "pai-lsp.assistant");
    const parts = toolAnswer(await ask(client, "pai-lsp.assistant", [tool, input], token));
    if (parts === undefined) {
      throw new NoAnswer("the server's answer has an unknown form");
    }
    return parts;
  };
}

function toolNames({ extension }: vscode.ExtensionContext): string[] {
  const { contributes } = extension.packageJSON as { contributes: { languageModelTools: { name: string }[] } };
  return contributes.languageModelTools.map(({ name }) => name);
}

const setting = (name: string) => vscode.workspace.getConfiguration("openpai").get<string>(name);

/** A server that the user has installed, for what the extension's own has no packages for. */
async function launchWithPackages(output: vscode.LogOutputChannel): Promise<Launch | undefined> {
  try {
    const server = await installedServer({ output });
    if (server !== undefined) {
      return server.launch;
    }
    void vscode.window.showWarningMessage(
      "'openpai.chat' is 'mcp', but 'pai-lsp' is not installed: run pip install 'pai-lsp[mcp]' in the environment of the folder.",
    );
  } catch (error) {
    output.error(error instanceof Error ? error : String(error));
  }
  return undefined;
}

const whenChoiceChanges: Listen = (changed) =>
  vscode.Disposable.from(
    vscode.workspace.onDidGrantWorkspaceTrust(changed),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["server", "chat", "cluster"].some((name) => change.affectsConfiguration(`openpai.${name}`))) {
        changed();
      }
    }),
  );

/** A folder may hold nothing but other YAML: then no server is started. */
function startWhenNeeded(controller: Controller): vscode.Disposable[] {
  const look = (document: vscode.TextDocument) => {
    if (controller.state === undefined && isOurs(document)) {
      void controller.start();
    }
  };
  for (const document of vscode.workspace.textDocuments) {
    look(document);
  }
  return [
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidChangeTextDocument(({ document }) => look(document)),
  ];
}

function restartWhenChanged(controller: Controller): vscode.Disposable[] {
  return [
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (controller.state !== undefined) {
        void controller.restart();
      }
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (controller.state !== undefined && change.affectsConfiguration("openpai.server")) {
        void controller.restart();
      }
    }),
  ];
}

/** Menus show the commands about a job, or an MPIJob, only where there may be one. */
function followActiveJob(): vscode.Disposable[] {
  const known = new Map<string, boolean>();
  const show = (context: string, isShown: boolean) => {
    if (known.get(context) !== isShown) {
      known.set(context, isShown);
      void vscode.commands.executeCommand("setContext", context, isShown);
    }
  };
  const update = () => {
    const job = activeJobEditor()?.document;
    show("openpai.isJob", job !== undefined);
    show("openpai.isPlainJob", job !== undefined && isPlainJob(job));
    show("openpai.isMpiJob", activeMpiJobEditor() !== undefined);
  };
  update();
  return [
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.window.onDidChangeVisibleTextEditors(update),
    vscode.workspace.onDidOpenTextDocument(update),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document === vscode.window.activeTextEditor?.document) {
        update();
      }
    }),
  ];
}
