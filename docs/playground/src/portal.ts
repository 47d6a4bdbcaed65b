/** The page in the portal: the workbench, the facts of this cluster, Submit, and why a job failed. */

import type { Suggestion } from "./answers";
import { Cluster, LoggedOut } from "./cluster";
import { element, made, typed } from "./elements";
import { labels, LANGUAGES, speak, type Language } from "./labels";
import { READY, type Opening } from "./messages";
import { workbench, type Workbench } from "./workbench";

const language = typed("language", HTMLSelectElement);
const sending = typed("sending", HTMLDialogElement);
const sendButton = typed("send", HTMLButtonElement);
const template = typed("template", HTMLSelectElement);

let opening: Opening | undefined;
let cluster: Cluster | undefined;
/** What the cluster knows: its facts as the checker takes them, and the user. */
let facts: { profile: string; user: string } | undefined;
/** Whether the checker knows the definitions of the marketplace, and why not. */
let hasDefinitions = false;
let withoutDefinitions = (): (string | Node)[] => [];
/** The jobs to start with. */
let templates: Suggestion[] = [];
/** A job of the cluster to begin with that is not read yet. */
let submitted: Opening["resubmit"];
/** The text that is lost without harm: the one to begin with, or the one that was sent. */
let safeText = "";
/** Why the facts are not known, in the language that is chosen. */
let withoutFacts = (): (string | Node)[] => [labels.fitUnknown];

function start(): void {
  const preferred = navigator.languages.map((one) => one.slice(0, 2)).find((one) => one in LANGUAGES);
  language.value = preferred ?? "en";
  speak(language.value as Language);
  const bench = workbench({
    question: () => ({
      platform: opening?.platform ?? "openpai",
      plugin: opening?.plugin ?? "",
      expands: true,
      ...(opening?.marketplace === undefined ? {} : { marketplace: opening.marketplace }),
      ...(facts ? { cluster: facts.profile, user: facts.user } : {}),
    }),
    empty: () => labels.emptyJob,
    checked: showFit,
  });
  if (bench === undefined) {
    return;
  }
  language.addEventListener("change", () => {
    speak(language.value as Language);
    bench.editor.rename();
    void bench.refresh();
  });
  template.addEventListener("change", () => begin(bench));
  void offerTemplates(bench);
  element("again").addEventListener("click", () => cluster && void askCluster(bench, cluster));
  element("submit").addEventListener("click", () => void prepare(bench));
  window.addEventListener("beforeunload", (event) => {
    if (bench.editor.text !== safeText) {
      event.preventDefault();
    }
  });
  element("cancel").addEventListener("click", () => sending.close());
  window.addEventListener("message", ({ data, source, ports }: MessageEvent<Opening>) => {
    if (source === window.parent && opening === undefined && ports[0] !== undefined) {
      opening = data;
      submitted = data.resubmit;
      void open(bench, data, ports[0]);
    }
  });
  if (window.parent === window) {
    withoutFacts = () => [labels.notInPortal];
    void bench.refresh();
  } else {
    // The page around this one is not known yet, and this is no secret.
    window.parent.postMessage(READY, "*");
  }
}

/** Offer jobs to start with: those that completion offers in an empty file. */
async function offerTemplates(bench: Workbench): Promise<void> {
  // Where the checker cannot run, that is shown already.
  const offered = await bench.ask("complete", { text: "", at: 0 }).catch(() => []);
  templates = offered.filter(({ kind }) => kind === "snippet");
  const options = templates.map(({ label, detail }) => made("option", `${label}: ${detail}`, { lang: "en" }));
  // The first one asks to choose.
  template.replaceChildren(...[...template.options].slice(0, 1), ...options);
}

function begin(bench: Workbench): void {
  const former = bench.editor.text;
  bench.editor.text = templates[template.selectedIndex - 1]?.edit.insert ?? former;
  template.selectedIndex = 0;
  bench.notify(former.trim() === "" ? "" : labels.replaced);
}

async function open(bench: Workbench, { cluster: addresses, text }: Opening, port: MessagePort): Promise<void> {
  bench.editor.text = safeText = text;
  if (addresses === undefined) {
    withoutFacts = () => [labels.notLoggedIn];
    await bench.refresh();
    return;
  }
  cluster = new Cluster(bench, addresses, port);
  withoutFacts = () => [labels.asking];
  void bench.refresh();
  await askCluster(bench, cluster);
}

/** Ask for all that is not known yet. */
async function askCluster(bench: Workbench, asked: Cluster): Promise<void> {
  element("again").hidden = true;
  // What has been written since is not replaced.
  const wanted = bench.editor.text === safeText ? submitted : undefined;
  const isRead = wanted === undefined || (await showSubmitted(bench, asked, wanted));
  const known = await Promise.all([
    facts !== undefined || askFacts(bench, asked),
    hasDefinitions || opening?.marketplace === undefined || readDefinitions(bench, asked),
  ]);
  element("again").hidden = isRead && known.every(Boolean);
}

async function askFacts(bench: Workbench, asked: Cluster): Promise<boolean> {
  try {
    const { user, profile } = await asked.ask("profile");
    facts = { user, profile: JSON.stringify(profile) };
    typed("submit", HTMLButtonElement).disabled = false;
  } catch (error) {
    withoutFacts = () => [labels.factsFailed, " ", ...reason(error)];
  }
  await bench.refresh();
  return facts !== undefined;
}

async function readDefinitions(bench: Workbench, asked: Cluster): Promise<boolean> {
  try {
    await asked.ask("definitions");
    hasDefinitions = true;
    withoutDefinitions = () => [];
    void offerTemplates(bench);
  } catch (error) {
    // Who is logged out is told so once.
    const isTold = () => facts === undefined && error instanceof LoggedOut;
    withoutDefinitions = () => (isTold() ? [] : [labels.definitionsFailed, " ", ...reason(error)]);
  }
  await bench.refresh();
  return hasDefinitions;
}

/** Why something is not known or done, and the way on. */
function reason(error: unknown): (string | Node)[] {
  if (error instanceof LoggedOut) {
    const address = opening?.cluster?.portal ?? "";
    return [labels.loggedOut, " ", made("a", labels.logIn, { href: address, target: "_blank", rel: "noopener" })];
  }
  return [error instanceof Error ? error.message : String(error)];
}

/** Below the title: whether the job fits, and the first reason; the others are details. */
async function showFit(text: string): Promise<void> {
  const [summary, details, list] = ["p", "details", "ul"].map((name) =>
    document.querySelector<HTMLElement>(`#fit ${name}`),
  );
  if (!summary || !details || !list) {
    return;
  }
  const lines = facts && cluster ? (await cluster.ask("fit", { text })).lines : [];
  const [outcome, first, ...more] = lines;
  const short = first === undefined ? outcome : `${outcome} · ${first}`;
  summary.replaceChildren(...(short === undefined ? (facts ? [labels.fitUnknown] : withoutFacts()) : [short]));
  summary.lang = outcome === undefined ? document.documentElement.lang : "en";
  list.replaceChildren(...more.map((line) => made("li", line)));
  details.hidden = more.length === 0;
  element("definitions").replaceChildren(...withoutDefinitions());
  element("definitions").hidden = hasDefinitions || withoutDefinitions().length === 0;
}

/** Show the job that failed, and why, with its line marked; whether it could be read. */
async function showSubmitted(
  bench: Workbench,
  asked: Cluster,
  { user, job }: NonNullable<Opening["resubmit"]>,
): Promise<boolean> {
  bench.notify(labels.reading(job));
  try {
    const { text, hasSecrets, why, line } = await asked.ask("submitted", { text: "", user, job });
    submitted = undefined;
    bench.editor.text = safeText = text;
    bench.notify(hasSecrets ? labels.secretsHidden : "");
    const [summary, words] = ["summary", "pre"].map((name) => document.querySelector<HTMLElement>(`#why ${name}`));
    if (why === null || !summary || !words) {
      return true;
    }
    summary.textContent = labels.whyTitle(job);
    words.textContent = why;
    element("why").hidden = false;
    const go = element("go");
    go.hidden = line === null;
    if (line !== null) {
      go.textContent = labels.goToLine(line);
      go.addEventListener("click", () => bench.editor.selectLine(line));
      bench.editor.markLine(line);
      bench.editor.selectLine(line);
    }
    return true;
  } catch (error) {
    bench.notify(labels.notRead, " ", ...reason(error));
    return false;
  }
}

/** Show all that would be sent, and to whom; only the button below it sends it. */
async function prepare(bench: Workbench): Promise<void> {
  const { text } = bench.editor;
  if (cluster === undefined) {
    return;
  }
  try {
    const found = await cluster.ask("submission", { text });
    if (found.text === null) {
      bench.show("expanded");
      bench.notify(labels.cannotSend);
      return;
    }
    element("sending-errors").hidden = found.errors === 0;
    element("sending-errors").textContent = labels.sendErrors(found.errors);
    element("sending-where").textContent = found.lines.join("\n");
    element("sending-fit").replaceChildren(...found.fit.map((line) => made("li", line)));
    element("sending-text").textContent = found.text;
    sendButton.textContent = found.errors === 0 && found.fits !== false ? labels.send : labels.sendAnyway;
    sendButton.onclick = () => {
      sending.close();
      void send(bench, text);
    };
    sending.showModal();
    element("cancel").focus();
  } catch (error) {
    bench.notify(...reason(error));
  }
}

async function send(bench: Workbench, text: string): Promise<void> {
  const button = typed("submit", HTMLButtonElement);
  button.disabled = true;
  bench.notify(labels.sending);
  try {
    const { name, page, note } = (await cluster?.ask("submit", { text })) ?? { name: "", page: null, note: "" };
    safeText = text;
    const link = page === null ? "" : made("a", labels.openJob, { href: page, target: "_top" });
    bench.notify(labels.sent(name), " ", link, note === "" ? "" : ` (${note})`);
  } catch (error) {
    bench.notify(...(error instanceof LoggedOut ? [labels.notSent, " "] : []), ...reason(error));
  } finally {
    button.disabled = false;
  }
}

start();
