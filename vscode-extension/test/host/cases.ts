/** What is tested in VS Code's extension host, one after the other, in the folder `workspace` of the editor's tests. */

import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Interface } from "../../src/extension";

export interface Case {
  readonly name: string;
  readonly body: () => Promise<void>;
}

/** What VS Code has since 1.95. */
interface LanguageModels {
  readonly tools: readonly { readonly name: string }[];
  invokeTool(name: string, options: object): Thenable<{ readonly content: readonly { readonly value: string }[] }>;
}

const EXTENSION = "pai-lsp.openpai-jobs";
const MILLISECONDS_TO_WAIT = 20_000;

export const cases: readonly Case[] = [
  {
    name: "a folder with other YAML starts no server",
    body: async () => {
      const extension = vscode.extensions.getExtension<Interface>(EXTENSION);
      assert.ok(extension);
      await vscode.window.showTextDocument(await opened("compose.yaml"));
      const { state } = await extension.activate();
      assert.equal(state(), undefined);
    },
  },
  {
    name: "a job has its own language, and starts the server",
    body: async () => {
      const job = await opened("train.pai.yaml");
      assert.equal(job.languageId, "openpai-job");
      await ready();
    },
  },
  {
    name: "the YAML extension of Red Hat does not look at a file of our language",
    body: async () => {
      // The selector of its client, redhat-developer/vscode-yaml, src/extension.ts.
      const languages = ["yaml", "dockercompose", "github-actions-workflow"];
      const theirs = [...languages.map((language) => ({ language })), { pattern: "*.y(a)ml" }];
      assert.equal(vscode.languages.match(theirs, await opened("train.pai.yaml")), 0);
      assert.notEqual(vscode.languages.match(theirs, await opened("plain.yaml")), 0);
    },
  },
  {
    name: "findings have their place, code and tags",
    body: async () => {
      const job = await opened("train.pai.yaml");
      const found = await diagnosticsOf(job.uri, (one) => one.length > 0);
      const typo = found.find((one) => job.getText(one.range) === "minst");
      assert.ok(typo);
      assert.equal(typo.source, "pai-lsp");
      assert.equal(typo.severity, vscode.DiagnosticSeverity.Error);
      assert.equal(typo.code, "unknown-prerequisite");
      const unused = found.find((one) => job.getText(one.range) === "mnist");
      assert.deepEqual(unused?.tags, [vscode.DiagnosticTag.Unnecessary]);
    },
  },
  {
    name: "a language model can ask the server",
    body: async () => {
      const job = await opened("train.pai.yaml");
      const { lm } = vscode as unknown as { readonly lm: LanguageModels };
      const offered = () => lm.tools.map(({ name }) => name).filter((name) => name.startsWith("openpai_"));
      await patiently(() => assert.equal(offered().length, 9));
      const input = { path: job.uri.fsPath };
      const { content } = await lm.invokeTool("openpai_check", { input, toolInvocationToken: undefined });
      assert.match(content[0]?.value ?? "", /"rule":"unknown-prerequisite"/);
      const outside = lm.invokeTool("openpai_check", {
        input: { path: "/etc/x.yaml" },
        toolInvocationToken: undefined,
      });
      await assert.rejects(async () => outside, /is not below/);
      const settings = vscode.workspace.getConfiguration("openpai");
      await settings.update("chat", "off", vscode.ConfigurationTarget.Workspace);
      try {
        await patiently(() => assert.deepEqual(offered(), []));
      } finally {
        await settings.update("chat", undefined, vscode.ConfigurationTarget.Workspace);
      }
    },
  },
  {
    name: "every finding is shown once",
    body: async () => {
      const job = await opened("train.pai.yaml");
      const found = await diagnosticsOf(job.uri, (one) => one.length > 0);
      const keys = found.map((one) => `${JSON.stringify(one.range)} ${one.message}`);
      assert.equal(new Set(keys).size, keys.length, keys.join("\n"));
    },
  },
  {
    name: "a setting of the user changes what is reported",
    body: async () => {
      const job = await opened("train.pai.yaml");
      const rules = vscode.workspace.getConfiguration("openpai");
      await rules.update("rules", { "unknown-prerequisite": "off" }, vscode.ConfigurationTarget.Workspace);
      try {
        await diagnosticsOf(job.uri, (found) => !found.some((one) => job.getText(one.range) === "minst"));
      } finally {
        await rules.update("rules", undefined, vscode.ConfigurationTarget.Workspace);
      }
      await diagnosticsOf(job.uri, (found) => found.some((one) => job.getText(one.range) === "minst"));
    },
  },
  {
    name: "a quick fix edits the document",
    body: async () => {
      const job = await opened("train.pai.yaml");
      const found = await diagnosticsOf(job.uri, (one) => one.some((some) => job.getText(some.range) === "minst"));
      const typo = found.find((one) => job.getText(one.range) === "minst");
      assert.ok(typo);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        "vscode.executeCodeActionProvider",
        job.uri,
        typo.range,
      );
      const fix = actions.find((action) => action.isPreferred);
      assert.ok(fix?.edit, actions.map(({ title }) => title).join("; "));
      assert.ok(await vscode.workspace.applyEdit(fix.edit));
      assert.match(job.getText(), /prerequisites: \[mnist\]/);
      await diagnosticsOf(job.uri, (rest) => rest.length === 0);
      await vscode.window.showTextDocument(job);
      await vscode.commands.executeCommand("workbench.action.files.revert");
    },
  },
  {
    name: "the text of edits with emoji and other wide characters is the server's, too",
    body: async () => {
      const job = await opened("train.pai.yaml");
      const edit = new vscode.WorkspaceEdit();
      edit.insert(job.uri, new vscode.Position(0, 0), "# 🚀 数据 \u{1F469}\u200D\u{1F4BB}\n");
      assert.ok(await vscode.workspace.applyEdit(edit));
      await diagnosticsOf(job.uri, (found) =>
        found.some((one) => one.range.start.line === 26 && job.getText(one.range) === "minst"),
      );
      await vscode.window.showTextDocument(job);
      await vscode.commands.executeCommand("workbench.action.files.revert");
    },
  },
  {
    name: "a document without a name is a job if its language is that of jobs",
    body: async () => {
      const content = "protocolVersion: 2\nname: untitled\ntype: job\ntaskRole: {}\n";
      const job = await vscode.workspace.openTextDocument({ language: "openpai-job", content });
      await diagnosticsOf(job.uri, (found) => found.some((one) => job.getText(one.range) === "taskRole"));
    },
  },
  {
    name: "findings of a closed file are taken away",
    body: async () => {
      const job = await opened("plain.yaml");
      await vscode.window.showTextDocument(job);
      await diagnosticsOf(job.uri, (found) => found.length > 0);
      await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
      // VS Code keeps documents for a while; the language is what the server goes by.
      await vscode.languages.setTextDocumentLanguage(job, "plaintext");
      await diagnosticsOf(job.uri, (found) => found.length === 0);
    },
  },
  {
    name: "a command about a job does nothing without one",
    body: async () => {
      await vscode.window.showTextDocument(await opened("compose.yaml"));
      const before = vscode.window.tabGroups.all.flatMap((group) => group.tabs).length;
      await Promise.race([vscode.commands.executeCommand("openpai.preview"), pause(2000)]);
      assert.equal(vscode.window.tabGroups.all.flatMap((group) => group.tabs).length, before);
    },
  },
  {
    name: "a check of the folder is offered as a task with the server that runs",
    body: async () => {
      const tasks = await vscode.tasks.fetchTasks({ type: "openpai" });
      const [check] = tasks;
      assert.deepEqual([tasks.length, check?.name, check?.problemMatchers], [1, "check", ["$pai-lsp"]]);
      const { process, args } = check?.execution as vscode.ProcessExecution;
      assert.match(process, /pai-lsp$/);
      assert.deepEqual(args, ["check", "--format", "concise"]);
    },
  },
  {
    name: "the task of a command names the cluster and the file",
    body: async () => {
      await vscode.window.showTextDocument(await opened("train.pai.yaml"));
      const begun = new Promise<vscode.Task>((resolve) => {
        const listener = vscode.tasks.onDidStartTask(({ execution }) => {
          listener.dispose();
          resolve(execution.task);
        });
      });
      const run = vscode.commands.executeCommand("openpai.runTask");
      // The first choice is accepted as soon as the list is open.
      const chosen = setInterval(() => {
        vscode.commands.executeCommand("workbench.action.acceptSelectedQuickOpenItem");
      }, 200);
      const task = await Promise.race([begun, pause(MILLISECONDS_TO_WAIT)]);
      clearInterval(chosen);
      assert.ok(task, "no task has begun");
      const { args } = task.execution as vscode.ProcessExecution;
      assert.deepEqual(args.slice(0, 5), ["run", "--role", "worker", "--container", "podman"]);
      assert.match(args[5] ?? "", /train\.pai\.yaml$/);
      await Promise.race([run, pause(1000)]);
    },
  },
  {
    name: "another server is started when the setting names one",
    body: async () => {
      const settings = vscode.workspace.getConfiguration("openpai.server");
      await settings.update("command", "/there/is/no/such/pai-lsp", vscode.ConfigurationTarget.Workspace);
      try {
        await stateBecomes("failed");
      } finally {
        await settings.update("command", undefined, vscode.ConfigurationTarget.Workspace);
      }
      await ready();
      const job = await opened("train.pai.yaml");
      await diagnosticsOf(job.uri, (found) => found.length > 0);
    },
  },
];

async function opened(name: string): Promise<vscode.TextDocument> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder);
  return vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder.uri, name));
}

function ready(): Promise<void> {
  return stateBecomes("ready");
}

function stateBecomes(kind: string): Promise<void> {
  const extension = vscode.extensions.getExtension<Interface>(EXTENSION);
  return until(
    () => extension?.exports.state()?.kind === kind,
    extension?.exports.onDidChangeState,
    () => `the state is ${JSON.stringify(extension?.exports.state())} and not '${kind}'`,
  );
}

/** The findings of a document once they meet a condition. */
async function diagnosticsOf(
  uri: vscode.Uri,
  condition: (found: readonly vscode.Diagnostic[]) => boolean,
): Promise<readonly vscode.Diagnostic[]> {
  const found = () => vscode.languages.getDiagnostics(uri);
  await until(
    () => condition(found()),
    vscode.languages.onDidChangeDiagnostics,
    () => `the findings are ${JSON.stringify(found().map(({ message }) => message))}`,
  );
  return found();
}

/** Wait until a condition holds, looking whenever the event fires. */
function until(
  condition: () => boolean,
  event: vscode.Event<unknown> | undefined,
  complaint: () => string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (condition()) {
        clearTimeout(timer);
        listener?.dispose();
        resolve();
      }
    };
    const timer = setTimeout(() => {
      listener?.dispose();
      reject(new Error(complaint()));
    }, MILLISECONDS_TO_WAIT);
    const listener = event?.(look);
    look();
  });
}

/** Try again until it passes. */
async function patiently(attempt: () => void): Promise<void> {
  const end = Date.now() + MILLISECONDS_TO_WAIT;
  for (;;) {
    try {
      attempt();
      return;
    } catch (error) {
      if (Date.now() > end) {
        throw error;
      }
    }
    await pause(100);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
