/** The page: examples, the editor, and what the checker answers about its text. */

import type { Answers, Ask, Edit, Finding, Platform } from "./answers";
import { Checker, CheckFailure, type Posted } from "./checker";
import { Editor } from "./editor";
import { drawn } from "./graph";
import { fragment, shared } from "./link";

/** The examples, each with its name and its text; the build puts them in. */
declare const EXAMPLES: [string, string][];

/** Messages, chat and mail programs are known to cut links of this length. */
const LONG_LINK = 2_000;
/** After this time without an answer, in milliseconds, the page shows that it is checking. */
const NOTICEABLE = 400;
const TABS = ["findings", "runs", "expanded", "graph"] as const;
type Tab = (typeof TABS)[number];

function typed<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) {
    throw new Error(`the page has no '${id}', or it is something else`);
  }
  return found;
}

const element = (id: string): HTMLElement => typed(id, HTMLElement);

function made<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  content: string,
  attributes: Record<string, string> = {},
): HTMLElementTagNameMap[Name] {
  const found = document.createElement(name);
  found.textContent = content;
  for (const [key, value] of Object.entries(attributes)) {
    found.setAttribute(key, value);
  }
  return found;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const platform = typed("platform", HTMLSelectElement);
const example = typed("example", HTMLSelectElement);
const inline = typed("inline", HTMLInputElement);
const content = (tab: Tab): HTMLElement => document.querySelector<HTMLElement>(`#${tab} .content`) ?? element(tab);

let editor: Editor;
let checker: Checker;
let shownTab: Tab = "findings";

/** Why the checker cannot run in this browser, or from here. */
function obstacle(): string | undefined {
  if (location.protocol === "file:") {
    return "This page was opened from a file, and browsers do not let such a page read the files of the checker. Serve its folder, for example with “python3 -m http.server”, and open it from there.";
  }
  if (typeof WebAssembly !== "object") {
    return "This browser has no WebAssembly, or it is switched off. The checker needs it.";
  }
  if (typeof CompressionStream === "undefined" || typeof Worker === "undefined") {
    return "This browser is too old for the checker. Use a newer version of Firefox, Chrome, Edge or Safari.";
  }
  return undefined;
}

function start(): void {
  const problem = obstacle();
  if (problem !== undefined) {
    stopLoading(problem);
    return;
  }
  editor = new Editor(element("editor"), () => {
    notify("");
    void refresh();
  });
  example.append(...EXAMPLES.map(([name]) => new Option(name)), new Option("An empty file"));
  example.addEventListener("change", chooseExample);
  platform.addEventListener("change", () => void refresh());
  inline.addEventListener("change", () => void refresh());
  element("share").addEventListener("click", () => void share());
  element("fix-all").addEventListener("click", () => void fixAll());
  element("copy").addEventListener("click", () => void copyExpanded());
  window.addEventListener("hashchange", () => void openLink());
  for (const tab of TABS) {
    element(`tab-${tab}`).addEventListener("click", () => show(tab));
    element(`tab-${tab}`).addEventListener("keydown", moveBetweenTabs);
  }
  selectTab("findings");
  checker = new Checker(receive);
  void openLink();
}

/** Show the job of the link; without one, the first example. */
async function openLink(): Promise<void> {
  let found,
    problem = "";
  try {
    found = await shared(location.hash);
  } catch {
    problem = "This link is not complete: its job cannot be read. Ask for the link again, or for the file.";
  }
  if (found !== undefined) {
    platform.value = found.platform;
    example.selectedIndex = -1;
    editor.text = found.text;
  } else if (editor.text === "") {
    chooseExample();
  }
  notify(problem);
}

function chooseExample(): void {
  // The last one is an empty file.
  editor.text = EXAMPLES[example.selectedIndex]?.[1] ?? "";
}

// Loading.

function receive(posted: Posted): void {
  if (posted.kind === "progress") {
    const { loaded, total } = posted;
    typed("progress", HTMLProgressElement).value = loaded / total;
    const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
    element("stage").textContent =
      loaded < total
        ? `Loading the checker: ${megabytes(loaded)} of ${megabytes(total)} MB. The browser keeps it for next time.`
        : "Starting the checker…";
  } else if (posted.kind === "ready") {
    element("loading").hidden = true;
    element("loaded").hidden = false;
  } else if (posted.kind === "broken") {
    stopLoading(`The checker cannot run: ${posted.reason}. Load the page again.`);
  }
}

function stopLoading(problem: string): void {
  element("loaded").hidden = true;
  element("loading").hidden = false;
  element("progress").hidden = true;
  element("stage").textContent = problem;
  element("stage").setAttribute("role", "alert");
}

function notify(text: string): void {
  element("notice").textContent = text;
  element("notice").hidden = text === "";
}

// Checking: one question at a time, and after it the newest text.

let isChecking = false;
let isWanted = false;

async function refresh(): Promise<void> {
  isWanted = true;
  if (isChecking) {
    return;
  }
  isChecking = true;
  const slow = window.setTimeout(() => document.body.classList.add("checking"), NOTICEABLE);
  try {
    while (takeWanted()) {
      await answerOnce(editor.text);
    }
  } catch (error) {
    const reason = error instanceof CheckFailure ? error.message : String(error);
    showMessage("findings", `The checker failed on this text: ${reason}`);
  } finally {
    window.clearTimeout(slow);
    document.body.classList.remove("checking");
    isChecking = false;
  }
}

function takeWanted(): boolean {
  const was = isWanted;
  isWanted = false;
  return was;
}

async function answerOnce(text: string): Promise<void> {
  if (text.trim() === "") {
    for (const tab of TABS) {
      showMessage(tab, "The file is empty. Write or paste a job, or choose an example.");
    }
    editor.underline([], () => undefined);
    return;
  }
  const ask = <Kind extends Ask>(kind: Kind): Promise<Answers[Kind]> =>
    checker.ask(kind, text, platform.value as Platform);
  const isNewest = (): boolean => text === editor.text;
  const checked = await ask("check");
  if (!isNewest()) {
    return;
  }
  showFindings(checked, text);
  if (shownTab === "runs") {
    const answer = await ask("runs");
    if (isNewest()) {
      showRuns(answer);
    }
  } else if (shownTab === "expanded") {
    const answer = await ask(inline.checked ? "inline" : "expand");
    if (isNewest()) {
      showExpanded(answer, text);
    }
  } else if (shownTab === "graph") {
    const { dot, places } = await ask("graph");
    if (isNewest()) {
      await showGraph(dot, places);
    }
  }
}

// Findings and fixes.

const SEVERITIES = ["error", "warning", "information", "hint"] as const;
const KINDS = { job: "", definitions: "Checked as a file of definitions. ", MPIJob: "Checked as an MPIJob manifest. " };

function showFindings({ kind, fixable, findings }: Answers["check"], text: string): void {
  const counts = SEVERITIES.map((severity) => [severity, findings.filter((one) => one.severity === severity).length]);
  const words = counts
    .filter(([, count]) => count !== 0)
    .map(([severity, count]) =>
      severity === "information" ? `${count} information` : counted(Number(count), String(severity)),
    );
  const nothing = kind === "job" ? "No findings. “What runs” shows the commands of each task." : "No findings.";
  const summary = words.length > 0 ? `${words.join(", ")}.` : nothing;
  element("summary").textContent = KINDS[kind] + summary;
  element("tab-findings").textContent = findings.length > 0 ? `Findings (${findings.length})` : "Findings";
  const all = element("fix-all");
  all.hidden = fixable === 0;
  all.textContent = fixable === 1 ? "Apply the safe fix" : `Apply ${fixable} safe fixes`;
  const fix = (edits: Edit[]): void => applyFix(edits, text);
  element("list").replaceChildren(...findings.map((one) => listed(one, fix)));
  editor.underline(findings, fix);
}

function listed(finding: Finding, fix?: (edits: Edit[]) => void): HTMLLIElement {
  const item = made("li", "", { class: finding.severity });
  const place = made("button", "", { type: "button", class: "place" });
  place.append(
    made("span", finding.severity, { class: "severity" }),
    made("span", ` line ${finding.line}`, { class: "line" }),
    made("span", finding.message, { class: "message" }),
  );
  place.addEventListener("click", () => editor.select(finding.from, finding.to));
  const more = made("div", "", { class: "more" });
  const rule = made("a", finding.code, { href: `../rules/${finding.code}/`, target: "_blank", rel: "noopener" });
  rule.title = "What this rule is about, in a new tab";
  more.append(rule);
  for (const { title, edits } of fix ? finding.fixes : []) {
    const button = made("button", title, { type: "button" });
    button.addEventListener("click", () => fix?.(edits));
    more.append(button);
  }
  item.append(place, more);
  return item;
}

/** Places count in the text that was checked; a text that has changed since is about to be checked again. */
function applyFix(edits: Edit[], text: string): void {
  if (editor.text === text) {
    editor.apply(edits);
  }
}

async function fixAll(): Promise<void> {
  const text = editor.text;
  try {
    const answer = await checker.ask("fix", text, platform.value as Platform);
    if (editor.text === text) {
      editor.apply([changed(text, answer.text)]);
      notify(`${counted(answer.fixed, "finding")} fixed. Ctrl+Z in the editor takes it back.`);
    }
  } catch (error) {
    notify(`The fixes could not be applied: ${error instanceof Error ? error.message : String(error)}`);
  }
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

// What runs, the expanded job and the graph.

const NO_JOB = "Only a job has this; the file is something else.";

function showRuns({ text, lines }: Answers["runs"]): void {
  if (text === null) {
    showMessage("runs", NO_JOB);
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
        row.addEventListener("click", () => editor.select(at));
      }
      row.classList.toggle("note", line.startsWith("#"));
      shown.append(row);
    });
  content("runs").replaceChildren(text === "" ? made("p", "The job has no task role yet.") : shown);
}

function showExpanded({ text, findings }: Answers["expand"], source: string): void {
  element("copy").hidden = text === null;
  if (text !== null) {
    const note = text === source ? [made("p", "This is the job as it is: it needs no expansion.")] : [];
    content("expanded").replaceChildren(...note, made("pre", text));
    return;
  }
  if (findings.length === 0) {
    showMessage("expanded", NO_JOB);
    return;
  }
  const list = made("ol", "");
  list.append(...findings.map((one) => listed(one)));
  const why = findings.length === 1 ? "an error" : "errors";
  content("expanded").replaceChildren(made("p", `The job cannot be expanded, because it has ${why}:`), list);
}

async function showGraph(dot: string | null, places: Record<string, number>): Promise<void> {
  if (dot === null) {
    showMessage("graph", "There are no task roles and no prerequisites to draw.");
    return;
  }
  if (content("graph").childElementCount === 0) {
    showMessage("graph", "Drawing…");
  }
  try {
    const picture = await drawn(dot, places, (at) => editor.select(at));
    content("graph").replaceChildren(picture);
  } catch (error) {
    showMessage("graph", error instanceof Error ? `${error.message}.` : String(error));
  }
}

function showMessage(tab: Tab, message: string): void {
  if (tab === "findings") {
    element("summary").textContent = message;
    element("tab-findings").textContent = "Findings";
    element("fix-all").hidden = true;
    element("list").replaceChildren();
    return;
  }
  if (tab === "expanded") {
    element("copy").hidden = true;
  }
  content(tab).replaceChildren(made("p", message));
}

async function copyExpanded(): Promise<void> {
  await copied(content("expanded").querySelector("pre")?.textContent ?? "", "The expanded job is in the clipboard.");
}

// Links.

async function share(): Promise<void> {
  const hash = await fragment({ text: editor.text, platform: platform.value as Platform });
  history.replaceState(null, "", hash);
  const link = location.href;
  const secrets = /^secrets:/m.test(editor.text) ? ", its secrets included" : "";
  const long =
    link.length > LONG_LINK
      ? ` It has ${link.length.toLocaleString("en")} characters; some chat and mail programs cut links after ${LONG_LINK.toLocaleString("en")}.`
      : "";
  await copied(
    link,
    `The link is in the clipboard and in the address bar. It contains the whole job${secrets}.${long}`,
  );
}

async function copied(text: string, message: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(message);
  } catch {
    notify(
      message
        .replace("in the clipboard and ", "")
        .replace(/^.* is in the clipboard\.$/, "The browser did not allow this; select the text and copy it."),
    );
  }
}

// Tabs.

function show(tab: Tab): void {
  notify("");
  selectTab(tab);
  void refresh();
}

function selectTab(tab: Tab): void {
  shownTab = tab;
  for (const one of TABS) {
    const button = element(`tab-${one}`);
    button.setAttribute("aria-selected", String(one === tab));
    button.tabIndex = one === tab ? 0 : -1;
    element(one).hidden = one !== tab;
  }
}

function moveBetweenTabs(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) {
    return;
  }
  event.preventDefault();
  const next = TABS[(TABS.indexOf(shownTab) + step + TABS.length) % TABS.length] ?? "findings";
  show(next);
  element(`tab-${next}`).focus();
}

start();
