/** The page of the playground: examples, links, and the workbench. */

import type { Platform } from "./answers";
import { element, typed } from "./elements";
import { labels } from "./labels";
import { fragment, shared } from "./link";
import { workbench, type Workbench } from "./workbench";

/** The examples, each with its name and its text; the build puts them in. */
declare const EXAMPLES: [string, string][];

/** Messages, chat and mail programs are known to cut links of this length. */
const LONG_LINK = 2_000;

const platform = typed("platform", HTMLSelectElement);
const example = typed("example", HTMLSelectElement);

function start(): void {
  const bench = workbench({
    question: () => ({ platform: platform.value as Platform }),
    ruleAddress: (code) => `../rules/${code}/`,
    empty: () => labels.emptyFile,
  });
  if (bench === undefined) {
    return;
  }
  example.append(...EXAMPLES.map(([name]) => new Option(name)), new Option("An empty file"));
  example.addEventListener("change", () => chooseExample(bench));
  platform.addEventListener("change", () => void bench.refresh());
  element("share").addEventListener("click", () => void share(bench));
  window.addEventListener("hashchange", () => void openLink(bench));
  void openLink(bench);
}

/** Show the job of the link; without one, the first example. */
async function openLink(bench: Workbench): Promise<void> {
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
    bench.editor.text = found.text;
  } else if (bench.editor.text === "") {
    chooseExample(bench);
  }
  bench.notify(problem);
}

function chooseExample(bench: Workbench): void {
  // The last one is an empty file.
  bench.editor.text = EXAMPLES[example.selectedIndex]?.[1] ?? "";
}

async function share(bench: Workbench): Promise<void> {
  const { text } = bench.editor;
  const hash = await fragment({ text, platform: platform.value as Platform });
  history.replaceState(null, "", hash);
  const link = location.href;
  const secrets = /^secrets:/m.test(text) ? ", its secrets included" : "";
  const long =
    link.length > LONG_LINK
      ? ` It has ${link.length.toLocaleString("en")} characters; some chat and mail programs cut links after ${LONG_LINK.toLocaleString("en")}.`
      : "";
  const what = `It contains the whole job${secrets}.${long}`;
  await bench.copied(
    link,
    `The link is in the clipboard and in the address bar. ${what}`,
    `The link is in the address bar. ${what}`,
  );
}

start();
