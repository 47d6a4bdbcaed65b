/**
 * The user's jobs on a cluster: a view of them, a status item for the one that was submitted, and what can be done.
 *
 * All facts come from the program (`pai-lsp jobs`, `logs`, `why`). It is run again only while somebody looks: the window has
 * the focus, and the view or the status item of a job that has not ended is shown.
 */

import * as vscode from "vscode";
import { activeJobEditor } from "../activeJob";
import { type JobState, jobFailure, jobStates } from "../answers";
import { NoAnswer, reportingFailure } from "../ask";
import { showExplanation } from "../commands/failure";
import type { Controller } from "../server/controller";
import { printedAnswer, runInTerminal } from "../tasks";

const VIEW = "openpai.jobs";
/** Whether the view is offered; it is from its first use on. */
const HAS_VIEW = "openpai.hasJobs";
const PAUSE = 10_000;

const ENDED = ["SUCCEEDED", "FAILED", "STOPPED"];
const ICONS: Readonly<Record<string, string>> = {
  WAITING: "watch",
  RUNNING: "sync",
  STOPPING: "sync",
  SUCCEEDED: "pass",
  FAILED: "error",
  STOPPED: "circle-slash",
};

/** The job in the status bar; the cluster is known of one that was submitted here. */
interface Followed {
  readonly name: string;
  readonly cluster: string | undefined;
}

export class LiveJobs implements vscode.TreeDataProvider<JobState>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<JobState>;
  private readonly status: vscode.StatusBarItem;
  private readonly watches: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private isAsking = false;
  private askedAt = 0;
  private jobs: readonly JobState[] = [];
  private followed: Followed | undefined;
  private readonly files = new Map<string, string>();

  constructor(private readonly controller: Controller) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
    this.status = vscode.window.createStatusBarItem("openpai.job", vscode.StatusBarAlignment.Left);
    this.status.name = "OpenPAI Job";
    this.status.command = "openpai.followedJob";
    this.watches = [
      this.view.onDidChangeVisibility(() => this.look()),
      vscode.window.onDidChangeWindowState(() => this.look()),
      // What is shown is only true while the program can be asked.
      controller.onDidChangeState(() => this.look()),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(this.changed, this.view, this.status, ...this.watches).dispose();
  }

  getChildren(element?: JobState): JobState[] {
    return element === undefined ? [...this.jobs] : [];
  }

  getTreeItem(job: JobState): vscode.TreeItem {
    const item = new vscode.TreeItem(job.name);
    item.description = job.retries > 0 ? `${job.state}, retries: ${job.retries}` : job.state;
    item.iconPath = new vscode.ThemeIcon(ICONS[job.state] ?? "question");
    item.tooltip = `${job.name}: ${job.state}, virtual cluster ${job.virtualCluster}`;
    item.command = { command: "openpai.followedJob", title: "Follow", arguments: [job.name] };
    return item;
  }

  /** Show the view of the user's jobs. */
  async show(): Promise<void> {
    await this.refresh();
    await vscode.commands.executeCommand("setContext", HAS_VIEW, true);
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  /** Ask for the jobs now; whoever asks, the end of the job in the status bar is reported. */
  async refresh(): Promise<void> {
    this.askedAt = Date.now();
    const answer = await printedAnswer(this.controller, ["jobs", ...this.words(), "--format", "json"]);
    const wasFollowing = this.isFollowing;
    this.jobs = jobStates(answer) ?? [];
    this.changed.fire();
    const job = this.jobs.find(({ name }) => name === this.followed?.name);
    if (job !== undefined) {
      this.showState(job);
      if (wasFollowing && ENDED.includes(job.state)) {
        void reportingFailure(() => this.tellEnd(job));
      }
    }
    this.look();
  }

  /** Follow the job that was just submitted: the newest one. */
  async submitted(cluster: string, file: string): Promise<void> {
    this.followed = { name: "", cluster };
    await this.refresh();
    const newest = this.jobs[0];
    if (newest === undefined) {
      this.followed = undefined;
      return;
    }
    this.files.set(newest.name, file);
    this.followed = { name: newest.name, cluster };
    void vscode.commands.executeCommand("setContext", HAS_VIEW, true);
    this.showState(newest);
    this.look();
  }

  /** Offer what can be done with the job in the status bar; a job that is chosen in the view is shown there first. */
  async offer(given: unknown): Promise<void> {
    const name = typeof given === "string" ? given : this.followed?.name;
    const job = this.jobs.find((one) => one.name === name);
    if (job === undefined) {
      return;
    }
    if (job.name !== this.followed?.name) {
      this.followed = { name: job.name, cluster: this.followed?.cluster };
      this.showState(job);
      this.look();
    }
    const offers = [
      { label: "$(output) Show Job Log", run: () => this.showLog(job) },
      { label: "$(question) Why Did It Fail", run: () => this.why(job) },
      { label: "$(list-unordered) Show Jobs", run: () => this.show() },
      { label: "$(close) Stop Following", run: () => this.unfollow() },
    ];
    const picked = await vscode.window.showQuickPick(offers, { title: `${job.name}: ${job.state}` });
    await picked?.run();
  }

  /** Show the log of a job in a terminal, and what is still written. */
  async showLog(given: unknown): Promise<void> {
    const job = await this.chosen(given, "Show the Log of Which Job?");
    if (job !== undefined) {
      await runInTerminal(this.controller, `Log of ${job.name}`, ["logs", ...this.words(), "--follow", job.name]);
    }
  }

  /** Explain why a job failed, and go to the line of its file. */
  async why(given: unknown): Promise<void> {
    const job = await this.chosen(given, "Explain Which Job?");
    if (job === undefined) {
      return;
    }
    const file = this.files.get(job.name) ?? fileOfJob(job.name);
    const words = ["why", ...this.words(), "--format", "json", ...(file ? ["--job", file] : []), job.name];
    const answer = jobFailure(await printedAnswer(this.controller, words, [0, 1]));
    if (answer === undefined) {
      throw new NoAnswer(`there is no explanation for '${job.name}'`);
    }
    const { title, detail, line } = answer;
    await showExplanation(title, detail, file !== undefined && line !== undefined ? () => goTo(file, line) : undefined);
  }

  private async chosen(given: unknown, title: string): Promise<JobState | undefined> {
    const name = typeof given === "object" && given !== null && "name" in given ? given.name : given;
    if (typeof name === "string") {
      return this.jobs.find((job) => job.name === name);
    }
    await this.refresh();
    if (this.jobs.length === 0) {
      throw new NoAnswer("you have no jobs on this cluster");
    }
    const choices = this.jobs.map((job) => ({ label: job.name, description: job.state, job }));
    return (await vscode.window.showQuickPick(choices, { title }))?.job;
  }

  private unfollow(): Promise<void> {
    this.followed = undefined;
    this.status.hide();
    return Promise.resolve();
  }

  /** The options that name the cluster: that of the job that was submitted last, else the one in the settings. */
  private words(): string[] {
    const setting = vscode.workspace.getConfiguration("openpai").get<string>("cluster", "");
    const name = this.followed?.cluster ?? (setting.endsWith(".json") ? "" : setting);
    return name === "" ? [] : ["--cluster", name];
  }

  private get isFollowing(): boolean {
    const job = this.jobs.find(({ name }) => name === this.followed?.name);
    return job !== undefined && !ENDED.includes(job.state);
  }

  /** Ask again after a while, if somebody looks then. */
  private look(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const isSeen = vscode.window.state.focused && (this.view.visible || this.isFollowing);
    if (isSeen && this.controller.launch !== undefined && !this.isAsking) {
      this.timer = setTimeout(() => void this.askAgain(), Math.max(0, this.askedAt + PAUSE - Date.now()));
    }
  }

  private async askAgain(): Promise<void> {
    this.isAsking = true;
    try {
      await this.refresh();
      this.view.message = this.jobs.length === 0 ? "You have no jobs on this cluster." : "";
    } catch (error) {
      // Nobody has asked: the view says it, and the next look may succeed.
      this.view.message = error instanceof NoAnswer ? error.message : String(error);
    } finally {
      this.isAsking = false;
    }
    this.look();
  }

  private showState(job: JobState): void {
    this.status.text = `$(${ICONS[job.state] ?? "question"}) ${job.name}: ${job.state}`;
    this.status.tooltip = `The job ${job.name} on the cluster`;
    this.status.show();
  }

  private async tellEnd(job: JobState): Promise<void> {
    const message = `OpenPAI: ${job.name}: ${job.state}.`;
    if (job.state !== "FAILED") {
      void vscode.window.showInformationMessage(message);
    } else {
      const picked = await vscode.window.showWarningMessage(message, "Why Did It Fail", "Show Job Log");
      await (picked === "Why Did It Fail" ? this.why(job) : picked === "Show Job Log" ? this.showLog(job) : undefined);
    }
  }
}

/** The file of a job that is open, by its name. */
function fileOfJob(name: string): string | undefined {
  const documents = [activeJobEditor()?.document, ...vscode.workspace.textDocuments];
  const quoted = new RegExp(`^name:\\s*["']?${name.replace(/[^\w]/g, "\\$&")}["']?\\s*(?:#.*)?$`, "m");
  return documents.find((one) => one?.uri.scheme === "file" && !one.isClosed && quoted.test(one.getText()))?.uri.fsPath;
}

async function goTo(file: string, line: number): Promise<void> {
  const at = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: new vscode.Range(at, at) });
}
