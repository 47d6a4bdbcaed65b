// What a person does in VS Code, as verbs; everything is seen and done in the page, nothing behind it.
import fs from "node:fs";
import path from "node:path";
import { SCREENSHOTS } from "./codeServer.mjs";

/**
 * Keep a picture of the page, or of what lies around some elements; the names are those of files in the documentation. For these
 * (with E2E_DARK) the same is taken in dark colors, as NAME-dark.
 */
export async function picture(page, name, ...elements) {
  fs.mkdirSync(SCREENSHOTS, { recursive: true });
  await page.mouse.move(1199, 300);
  const clip = elements.length > 0 ? await around(page, elements) : undefined;
  const taken = (file) =>
    page.screenshot({
      path: path.join(SCREENSHOTS, `${file}.png`),
      animations: "disabled",
      ...(clip === undefined ? {} : { clip }),
    });
  await taken(name);
  if (process.env.E2E_DARK) {
    await colors(page, "dark");
    await taken(`${name}-dark`);
    await colors(page, "light");
  }
}

/** The part of the page with some elements, large enough to show where they are; if possible with whole lines. */
async function around(page, elements) {
  const { width, height } = page.viewportSize();
  const boxes = await Promise.all(elements.map((element) => element.first().boundingBox()));
  const margin = 24;
  const span = (place, size, least, most, edge) => {
    const begin = Math.min(...boxes.map((box) => box[place])) - margin;
    const end = Math.min(most, Math.max(...boxes.map((box) => box[place] + box[size])) + margin);
    const first = Math.max(0, Math.min(begin, end - least));
    return begin >= edge && end <= edge + least ? [edge, least] : [first, Math.max(end, first + least) - first];
  };
  const [x, clipWidth] = span("x", "width", 900, width, ACTIVITY_BAR);
  const [y, clipHeight] = span("y", "height", 430, height, 0);
  return { x, y, width: clipWidth, height: clipHeight };
}

/** The width of the icons at the left of the editor. */
const ACTIVITY_BAR = 48;

/** Let the editor follow a system with light or dark colors. */
export async function colors(page, scheme) {
  await page.emulateMedia({ colorScheme: scheme });
  await page.locator(`.monaco-workbench.${scheme === "dark" ? "vs-dark" : "vs"}`).waitFor();
}

/** The language status of the active editor, if it contains a text: its label has the texts of all extensions. */
export function status(page, text) {
  const labelled = `[aria-label*="${text}"]`;
  return page.locator(`[id="status.languageStatus"]${labelled}, [id="status.languageStatus"] ${labelled}`);
}

/** Wait until the language status contains a text. */
export async function statusShows(page, text, timeout = 60_000) {
  await status(page, text).first().waitFor({ timeout });
}

/** Run a command by its title, as a person finds it; the list has what applied to the editor when it was opened. */
export async function run(page, title) {
  const box = page.locator(".quick-input-widget input");
  for (let opened = 0; opened < 8; opened++) {
    await untilDone(page, "F1", () => box.isVisible());
    await box.fill(`>${title}`);
    const isOffered = await chosen(page, title)
      .waitFor({ timeout: 4000 })
      .then(
        () => true,
        () => false,
      );
    if (isOffered) {
      await page.keyboard.press("Enter");
      return;
    }
    await untilDone(page, "Escape", async () => !(await box.isVisible()));
  }
  throw new Error(`the command '${title}' is not offered`);
}

/** Open a file of the folder by its name. */
export async function open(page, name) {
  const box = page.locator(".quick-input-widget input");
  await untilDone(page, "Control+P", () => box.isVisible());
  await box.fill(name);
  await chosen(page, name).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".tab.active", { hasText: name }).waitFor();
  await page.locator(".editor-group-container.active .monaco-editor .view-lines").first().waitFor();
}

/** The entry of a list of choices that Enter takes. */
export function chosen(page, text) {
  return page.locator(".quick-input-list .monaco-list-row.focused", {
    hasText: text,
  });
}

/** Close the tab with a title. */
export async function close(page, title) {
  const tab = page.locator(".tab", { hasText: title });
  await tab.hover();
  await tab.locator(".codicon-close").click();
  await tab.waitFor({ state: "detached" });
}

/** Take all notifications away. */
export async function dismiss(page) {
  // Some go by themselves, so they are not closed one by one.
  await run(page, "Notifications: Clear All Notifications");
  await page.locator(".notification-toast").first().waitFor({ state: "detached" });
}

/** Click something that the editor draws anew after an edit, once it stands still; then wait for the effect. */
export async function clickWhenStill(page, target, effect) {
  for (let isStill = false; !isStill;) {
    const drawn = await target.elementHandle();
    await page.waitForTimeout(800);
    isStill = await drawn.evaluate((element) => element.isConnected);
  }
  await target.click();
  await effect.waitFor();
}

/** Click until the target has gone: a button of a notification or an entry of a menu that has just come may lose a click. */
export async function clickAway(target) {
  for (let clicked = 0; clicked < 10; clicked++) {
    await target.click();
    const isGone = await target.waitFor({ state: "detached", timeout: 2000 }).then(
      () => true,
      () => false,
    );
    if (isGone) {
      return;
    }
  }
  throw new Error("clicking has no effect");
}

/** Click on the first word of a line; all lines are as wide as the longest, so that the middle may be out of sight. */
export function clickLine(line) {
  const word = line.locator("> span > span").first();
  // The cursor may stand in it, and would be in the way.
  return word.click({ force: true });
}

/** Wait until the terminal shows a text; its lines are as wide as the panel, so a longer text is broken. */
export async function inTerminal(page, text, timeout = 30_000) {
  const rows = page.locator(".terminal-wrapper.active .xterm-rows");
  const end = Date.now() + timeout;
  for (;;) {
    const lines = await rows.locator("> div").allTextContents();
    const shown = lines.map((line) => line.replaceAll("\u00a0", " ").trimEnd());
    if (shown.join("").includes(text)) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(`the terminal does not show '${text}', but:\n${shown.join("\n")}`);
    }
    await page.waitForTimeout(100);
  }
}

/** The entries of the Problems view, each as one line. */
export function problems(page) {
  return page.locator(".markers-panel .monaco-list-row");
}

/** Show the Problems view. */
export async function showProblems(page) {
  if (!(await page.locator(".markers-panel").isVisible())) {
    await run(page, "View: Focus Problems");
  }
  await page.locator(".markers-panel").waitFor();
}

/** The editor that has the focus, or had it last. */
export function editor(page) {
  return page.locator(".editor-group-container.active .monaco-editor").first();
}

/** The lines of an editor that are in view, with plain spaces and without what is shown between the words. */
export async function textOf(locator) {
  const lines = await locator.locator(".view-line").evaluateAll((elements) =>
    elements
      .map((element) => {
        const words = element.cloneNode(true);
        words.querySelectorAll("[class*=dyn-rule]").forEach((hint) => hint.remove());
        return { top: parseFloat(element.style.top), text: words.textContent };
      })
      .sort((one, other) => one.top - other.top)
      .map(({ text }) => text),
  );
  return lines.join("\n").replaceAll("\u00a0", " ").replaceAll("\u200c", "");
}

/** Put the cursor behind an occurrence of a text in the active file; every step is seen to be done before the next. */
export async function cursorBehind(page, text) {
  await editor(page).locator(".view-lines").click();
  const find = page.locator(".find-widget.visible");
  await untilDone(page, "Control+F", () => find.isVisible());
  // The words of the last search may be the same ones, and then nothing would be searched for.
  await find.locator("textarea").first().fill("");
  await find.locator("textarea").first().fill(text);
  const selected = page.locator(".statusbar-item", { hasText: `(${text.length} selected)` });
  await selected.waitFor();
  // The first Escape may close a list of suggestions that has come up late.
  await untilDone(page, "Escape", async () => !(await find.isVisible()));
  await untilDone(page, "ArrowRight", async () => !(await selected.isVisible()));
}

/** Press a key until its effect is seen: one that is pressed while the editor is at something else may be lost. */
async function untilDone(page, key, isDone) {
  for (let pressed = 0; pressed < 10; pressed++) {
    await page.keyboard.press(key);
    for (let looked = 0; looked < 20; looked++) {
      if (await isDone()) {
        return;
      }
      await page.waitForTimeout(100);
    }
  }
  throw new Error(`'${key}' has no effect`);
}

/** Type so slowly that the editor follows; the delay is in milliseconds. */
export async function type(page, text, delay = 20) {
  await page.keyboard.type(text, { delay });
}

/** The column of the cursor, from 1, once it is in a line; if need be wait for a column. */
export async function columnIn(page, line, column = "\\d+") {
  const place = page.locator(".statusbar-item", { hasText: new RegExp(`Ln ${line}, Col ${column}$`) });
  try {
    await place.waitFor();
  } catch {
    throw new Error(`the cursor is not in line ${line}, column ${column}; the text is:\n${await textOf(editor(page))}`);
  }
  return Number(/\d+$/.exec((await place.innerText()).trim())[0]);
}

/** Take a line, in whose end the cursor is, to the left by some levels, as a person does who ends a list or a mapping. */
export async function stepOut(page, number, line) {
  const levels = ((await columnIn(page, number)) - (line.length + 1)) / 2;
  await page.keyboard.press("Escape");
  await page.keyboard.press("Home");
  for (let pressed = 0; pressed < levels; pressed++) {
    await page.keyboard.press("Backspace");
  }
  await page.keyboard.press("End");
}

/** Wait for a condition on the text of an editor. */
export async function textBecomes(page, locator, condition, what, timeout = 20_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const text = await textOf(locator);
    if (condition(text)) {
      return text;
    }
    if (Date.now() > end) {
      throw new Error(`${what}; the text is:\n${text}`);
    }
    await page.waitForTimeout(100);
  }
}
