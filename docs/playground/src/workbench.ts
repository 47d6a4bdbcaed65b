/** The editor and the answers of the checker about its text: what the playground and the portal have in common. */

import type { Answers, Ask, Edit, Finding, Question } from "./answers";
import { Checker, CheckFailure, type Posted } from "./checker";
import { Editor } from "./editor";
import { element, made, typed } from "./elements";
import { drawn } from "./graph";
import { labels } from "./labels";
import { markdown } from "./markdown";

/** After this time without an answer, in milliseconds, the page shows that it is checking. */
const NOTICEABLE = 400;
const TABS = ["findings", "runs", "expanded", "graph"] as const;
type Tab = (typeof TABS)[number];

/** What the page around the workbench gives. */
export interface Page {
  /** For which platform and which cluster the text is checked. */
  question: () => Omit<Question, "text">;
  /** The address of the page about a rule; without it, the page is shown below the finding. */
  ruleAddress?: (code: string) => string;
  /** What to write about an empty file. */
  empty: () => string;
  /** Called when a text has been checked, and is still the newest. */
  checked?: (text: string) => Promise<void>;
}

/** Why the checker cannot run in this browser, or from here. */
function obstacle(): string | undefined {
  if (location.protocol === "file:") {
    return labels.fromFile;
  }
  if (typeof WebAssembly !== "object") {
    return labels.noWebAssembly;
  }
  if (typeof CompressionStream === "undefined" || typeof Worker === "undefined") {
    return labels.oldBrowser;
  }
  return undefined;
}

const content = (tab: Tab): HTMLElement => document.querySelector<HTMLElement>(`#${tab} .content`) ?? element(tab);
const inline = (): HTMLInputElement => typed("inline", HTMLInputElement);

/** A workbench on this page, whose elements are those of workbench.html; undefined where the checker cannot run. */
export function workbench(page: Page): Workbench | undefined {
  const problem = obstacle();
  if (problem === undefined) {
    return new Workbench(page);
  }
  stopLoading(problem);
  return undefined;
}

export class Workbench {
  readonly editor: Editor;
  private readonly checker: Checker;
  private shownTab: Tab = "findings";
  private isChecking = false;
  private isWanted = false;

  constructor(private readonly page: Page) {
    this.editor = new Editor(element("editor"), {
      changed: () => {
        this.notify("");
        void this.refresh();
      },
      complete: (at) => this.askAt("complete", at),
      hover: (at) => this.askAt("hover", at),
    });
    inline().addEventListener("change", () => void this.refresh());
    element("fix-all").addEventListener("click", () => void this.fixAll());
    element("copy").addEventListener("click", () => void this.copyExpanded());
    for (const tab of TABS) {
      element(`tab-${tab}`).addEventListener("click", () => this.show(tab));
      element(`tab-${tab}`).addEventListener("keydown", (event) => this.moveBetweenTabs(event));
    }
    this.selectTab("findings");
    this.checker = new Checker(receive);
  }

  /**
   * Ask the checker about a text, or about the one in the editor.
   *
   * @throws CheckFailure
   */
  ask<Kind extends Ask>(ask: Kind, more: Partial<Question> = {}): Promise<Answers[Kind]> {
    return this.checker.ask(ask, { text: this.editor.text, ...this.page.question(), ...more });
  }

  /** A place has no answer where the checker fails: that is reported with the findings. */
  private async askAt<Kind extends "complete" | "hover">(ask: Kind, at: number): Promise<Answers[Kind] | undefined> {
    try {
      return await this.ask(ask, { at });
    } catch {
      return undefined;
    }
  }

  notify(...parts: (string | Node)[]): void {
    element("notice").replaceChildren(...parts.filter((part) => part !== ""));
    element("notice").hidden = element("notice").childNodes.length === 0;
  }

  // Checking: one question at a time, and after it the newest text.

  async refresh(): Promise<void> {
    this.isWanted = true;
    if (this.isChecking) {
      return;
    }
    this.isChecking = true;
    const slow = window.setTimeout(() => document.body.classList.add("checking"), NOTICEABLE);
    try {
      while (this.takeWanted()) {
        await this.answerOnce(this.editor.text);
      }
    } catch (error) {
      this.showMessage("findings", labels.failed(error instanceof CheckFailure ? error.message : String(error)));
    } finally {
      window.clearTimeout(slow);
      document.body.classList.remove("checking");
      this.isChecking = false;
    }
  }

  private takeWanted(): boolean {
    const was = this.isWanted;
    this.isWanted = false;
    return was;
  }

  private async answerOnce(text: string): Promise<void> {
    if (text.trim() === "") {
      for (const tab of TABS) {
        this.showMessage(tab, this.page.empty());
      }
      this.editor.underline([], () => undefined);
      await this.page.checked?.(text);
      return;
    }
    const isNewest = (): boolean => text === this.editor.text;
    const checked = await this.ask("check", { text });
    if (!isNewest()) {
      return;
    }
    this.showFindings(checked, text);
    if (this.shownTab === "runs") {
      const answer = await this.ask("runs", { text });
      if (isNewest()) {
        this.showRuns(answer);
      }
    } else if (this.shownTab === "expanded") {
      const answer = await this.ask(inline().checked ? "inline" : "expand", { text });
      if (isNewest()) {
        this.showExpanded(answer, text);
      }
    } else if (this.shownTab === "graph") {
      const { dot, places } = await this.ask("graph", { text });
      if (isNewest()) {
        await this.showGraph(dot, places);
      }
    }
    if (isNewest()) {
      await this.page.checked?.(text);
    }
  }

  // Findings and fixes.

  private showFindings({ kind, fixable, findings }: Answers["check"], text: string): void {
    const count = (severity: string): number => findings.filter((one) => one.severity === severity).length;
    const nothing = kind === "job" ? labels.noFindingsInJob : labels.noFindings;
    const counts = labels.found(count("error"), count("warning"), count("information"), count("hint"));
    const kinds = { job: "", definitions: labels.definitions, MPIJob: labels.manifest };
    element("summary").textContent = kinds[kind] + (findings.length > 0 ? counts : nothing);
    element("tab-findings").textContent = findings.length > 0 ? labels.findingsTab(findings.length) : labels.findings;
    const all = element("fix-all");
    all.hidden = fixable === 0;
    all.textContent = labels.fixAll(fixable);
    const fix = (edits: Edit[]): void => this.applyFix(edits, text);
    element("list").replaceChildren(...findings.map((one) => this.listed(one, fix)));
    this.editor.underline(findings, fix);
  }

  private listed(finding: Finding, fix?: (edits: Edit[]) => void): HTMLLIElement {
    const item = made("li", "", { class: finding.severity });
    const place = made("button", "", { type: "button", class: "place" });
    place.append(
      made("span", labels.severity(finding.severity), { class: "severity" }),
      made("span", labels.line(finding.line), { class: "line" }),
      made("span", finding.message, { class: "message", lang: "en" }),
    );
    place.addEventListener("click", () => this.editor.select(finding.from, finding.to));
    const more = made("div", "", { class: "more" });
    item.append(place, more);
    more.append(
      this.page.ruleAddress
        ? ruleLink(this.page.ruleAddress(finding.code), finding.code)
        : this.rule(finding.code, item),
    );
    for (const { title, edits } of fix ? finding.fixes : []) {
      const button = made("button", title, { type: "button", lang: "en" });
      button.addEventListener("click", () => fix?.(edits));
      more.append(button);
    }
    return item;
  }

  /** A button that shows the page about a rule below its finding, or takes it away. */
  private rule(code: string, item: HTMLElement): HTMLElement {
    const button = made("button", code, {
      type: "button",
      class: "rule",
      "aria-expanded": "false",
      title: labels.rule,
    });
    let shown: HTMLElement | undefined;
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", String(shown === undefined));
      if (shown !== undefined) {
        shown.remove();
        shown = undefined;
        return;
      }
      const panel = made("div", "", { class: "page", lang: "en" });
      shown = panel;
      item.append(panel);
      void this.ask("rule", { code }).then((page) => panel.replaceChildren(...markdown(page.markdown)));
    });
    return button;
  }

  /** Places count in the text that was checked; a text that has changed since is about to be checked again. */
  private applyFix(edits: Edit[], text: string): void {
    if (this.editor.text === text) {
      this.editor.apply(edits);
    }
  }

  private async fixAll(): Promise<void> {
    const text = this.editor.text;
    try {
      const answer = await this.ask("fix", { text });
      if (this.editor.text === text) {
        this.editor.apply([changed(text, answer.text)]);
        this.notify(labels.fixed(answer.fixed));
      }
    } catch (error) {
      this.notify(labels.notFixed(error instanceof Error ? error.message : String(error)));
    }
  }

  // What runs, the expanded job and the graph.

  private showRuns({ text, lines }: Answers["runs"]): void {
    if (text === null) {
      this.showMessage("runs", labels.noJob);
      return;
    }
    const sources = new Map(lines);
    const shown = made("pre", "");
    text
      .replace(/\n$/, "")
      .split("\n")
      .forEach((line, number) => {
        const at = sources.get(number);
        const row = made(at === undefined ? "span" : "button", line || " ", { class: "row" });
        if (at !== undefined) {
          row.setAttribute("type", "button");
          row.addEventListener("click", () => this.editor.select(at));
        }
        row.classList.toggle("note", line.startsWith("#"));
        shown.append(row);
      });
    content("runs").replaceChildren(text === "" ? made("p", labels.noRole) : shown);
  }

  private showExpanded({ text, findings }: Answers["expand"], source: string): void {
    element("copy").hidden = text === null;
    if (text !== null) {
      const note = text === source ? [made("p", labels.unchanged)] : [];
      content("expanded").replaceChildren(...note, made("pre", text));
      return;
    }
    if (findings.length === 0) {
      this.showMessage("expanded", labels.noJob);
      return;
    }
    const list = made("ol", "");
    list.append(...findings.map((one) => this.listed(one)));
    content("expanded").replaceChildren(made("p", labels.notExpanded(findings.length)), list);
  }

  private async showGraph(dot: string | null, places: Record<string, number>): Promise<void> {
    if (dot === null) {
      this.showMessage("graph", labels.nothingToDraw);
      return;
    }
    if (content("graph").childElementCount === 0) {
      this.showMessage("graph", labels.drawing);
    }
    try {
      const picture = await drawn(dot, places, (at) => this.editor.select(at));
      content("graph").replaceChildren(picture);
    } catch (error) {
      this.showMessage("graph", error instanceof Error ? `${error.message}.` : String(error));
    }
  }

  private showMessage(tab: Tab, message: string): void {
    if (tab === "findings") {
      element("summary").textContent = message;
      element("tab-findings").textContent = labels.findings;
      element("fix-all").hidden = true;
      element("list").replaceChildren();
      return;
    }
    if (tab === "expanded") {
      element("copy").hidden = true;
    }
    content(tab).replaceChildren(made("p", message));
  }

  private async copyExpanded(): Promise<void> {
    await this.copied(content("expanded").querySelector("pre")?.textContent ?? "", labels.copied, labels.notCopied);
  }

  /** Copy a text to the clipboard and report it; `refused` is for a browser that does not allow it. */
  async copied(text: string, message: string, refused: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.notify(message);
    } catch {
      this.notify(refused);
    }
  }

  // Tabs.

  show(tab: Tab): void {
    this.notify("");
    this.selectTab(tab);
    void this.refresh();
  }

  private selectTab(tab: Tab): void {
    this.shownTab = tab;
    for (const one of TABS) {
      const button = element(`tab-${one}`);
      button.setAttribute("aria-selected", String(one === tab));
      button.tabIndex = one === tab ? 0 : -1;
      element(one).hidden = one !== tab;
    }
  }

  private moveBetweenTabs(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) {
      return;
    }
    event.preventDefault();
    const next = TABS[(TABS.indexOf(this.shownTab) + step + TABS.length) % TABS.length] ?? "findings";
    this.show(next);
    element(`tab-${next}`).focus();
  }
}

function ruleLink(address: string, code: string): HTMLElement {
  const link = made("a", code, { href: address, target: "_blank", rel: "noopener" });
  link.title = labels.ruleInTab;
  return link;
}

/** The one edit between two texts that leaves what they begin and end with. */
function changed(before: string, after: string): Edit {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) {
    start++;
  }
  let same = 0;
  while (same < most - start && before.at(-1 - same) === after.at(-1 - same)) {
    same++;
  }
  return { from: start, to: before.length - same, insert: after.slice(start, after.length - same) };
}

// Loading.

function receive(posted: Posted): void {
  if (posted.kind === "progress") {
    const { loaded, total } = posted;
    typed("progress", HTMLProgressElement).value = loaded / total;
    const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
    element("stage").textContent =
      loaded < total ? labels.loading(megabytes(loaded), megabytes(total)) : labels.starting;
  } else if (posted.kind === "ready") {
    element("loading").hidden = true;
    element("loaded").hidden = false;
  } else if (posted.kind === "broken") {
    stopLoading(labels.broken(posted.reason));
  }
}

function stopLoading(problem: string): void {
  element("loaded").hidden = true;
  element("loading").hidden = false;
  element("progress").hidden = true;
  element("stage").textContent = problem;
  element("stage").setAttribute("role", "alert");
}
