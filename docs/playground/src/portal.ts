/** The page in the portal: the workbench, the facts of this cluster, Submit, and why a job failed. */

import { Cluster } from "./cluster";
import { element, made, typed } from "./elements";
import { labels, LANGUAGES, speak, type Language } from "./labels";
import { READY, type Opening } from "./messages";
import { workbench, type Workbench } from "./workbench";

const language = typed("language", HTMLSelectElement);
const sending = typed("sending", HTMLDialogElement);
const sendButton = typed("send", HTMLButtonElement);

let opening: Opening | undefined;
let cluster: Cluster | undefined;
/** What the cluster knows: its facts as the checker takes them, and the user. */
let facts: { profile: string; user: string } | undefined;
/** The text that is lost without harm: the one to begin with, or the one that was sent. */
let safeText = "";
/** Why the facts are not known, in the language that is chosen. */
let withoutFacts = (): string => labels.fitUnknown;

function start(): void {
  const preferred = navigator.languages.map((one) => one.slice(0, 2)).find((one) => one in LANGUAGES);
  language.value = preferred ?? "en";
  speak(language.value as Language);
  const bench = workbench({
    question: () => ({
      platform: opening?.platform ?? "openpai",
      plugin: opening?.plugin ?? "",
      expands: true,
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
  void offerTemplates(bench);
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
      void open(bench, data, ports[0]);
    }
  });
  if (window.parent === window) {
    withoutFacts = () => labels.notInPortal;
    void bench.refresh();
  } else {
    // The page around this one is not known yet, and this is no secret.
    window.parent.postMessage(READY, "*");
  }
}

/** Jobs to start with: those that completion offers in an empty file. */
async function offerTemplates(bench: Workbench): Promise<void> {
  const template = typed("template", HTMLSelectElement);
  // Where the checker cannot run, that is shown already.
  const offered = await bench.ask("complete", { text: "", at: 0 }).catch(() => []);
  const jobs = offered.filter(({ kind }) => kind === "snippet");
  template.append(...jobs.map(({ label, detail }) => made("option", `${label}: ${detail}`, { lang: "en" })));
  template.addEventListener("change", () => {
    const former = bench.editor.text;
    // The first one asks to choose.
    bench.editor.text = jobs[template.selectedIndex - 1]?.edit.insert ?? former;
    template.selectedIndex = 0;
    bench.notify(former.trim() === "" ? "" : labels.replaced);
  });
}

async function open(
  bench: Workbench,
  { cluster: addresses, text, resubmit }: Opening,
  port: MessagePort,
): Promise<void> {
  bench.editor.text = safeText = text;
  if (addresses === undefined) {
    withoutFacts = () => labels.notLoggedIn;
    await bench.refresh();
    return;
  }
  cluster = new Cluster(bench, addresses, port);
  withoutFacts = () => labels.asking;
  void bench.refresh();
  if (resubmit !== undefined) {
    await showSubmitted(bench, cluster, resubmit);
  }
  try {
    const { user, profile } = await cluster.ask("profile");
    facts = { user, profile: JSON.stringify(profile) };
    typed("submit", HTMLButtonElement).disabled = false;
  } catch (error) {
    const reason = message(error);
    withoutFacts = () => labels.factsFailed(reason);
  }
  await bench.refresh();
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Below the title: whether the job fits, and the first reason; the others are details. */
async function showFit(text: string): Promise<void> {
  const [summary, details, list] = ["p", "details", "ul"].map((name) =>
    document.querySelector<HTMLElement>(`#fit ${name}`),
  );
  if (!summary || !details || !list) {
    return;
  }
  const lines = facts && cluster ? (await cluster.ask("fit", { text })).lines : [];
  const [outcome, reason, ...more] = lines;
  const short = reason === undefined ? outcome : `${outcome} · ${reason}`;
  summary.textContent = short ?? (facts ? labels.fitUnknown : withoutFacts());
  summary.lang = outcome === undefined ? document.documentElement.lang : "en";
  list.replaceChildren(...more.map((line) => made("li", line)));
  details.hidden = more.length === 0;
}

/** The job that failed, and why; its line is marked. */
async function showSubmitted(
  bench: Workbench,
  asked: Cluster,
  { user, job }: NonNullable<Opening["resubmit"]>,
): Promise<void> {
  bench.notify(labels.reading(job));
  try {
    const { text, hasSecrets, why, line } = await asked.ask("submitted", { text: "", user, job });
    bench.editor.text = safeText = text;
    bench.notify(hasSecrets ? labels.secretsHidden : "");
    const [summary, words] = ["summary", "pre"].map((name) => document.querySelector<HTMLElement>(`#why ${name}`));
    if (why === null || !summary || !words) {
      return;
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
  } catch (error) {
    bench.notify(labels.notRead(message(error)));
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
    bench.notify(message(error));
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
    bench.notify(message(error));
  } finally {
    button.disabled = false;
  }
}

start();
