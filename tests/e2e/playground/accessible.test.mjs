// Pages of the site and the playground in light colors, and in dark ones as wide as a phone: axe finds nothing serious.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, openPage, picture, serious, serve } from "./site.mjs";

/** A page of each kind: text with a picture, tables, long code, a rule, a list of all rules. E2E_PAGES names others. */
const PAGES = process.env.E2E_PAGES?.split(" ") ?? [
  "",
  "what-happens/",
  "command-line/",
  "configuration/",
  "rules/",
  "rules/unknown-prerequisite/",
  "exit-codes/",
];

const PLAYGROUND = "check/";

let site, browser;

before(async () => {
  site = await serve(process.env.E2E_SITE);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  site?.close();
});

for (const [colorScheme, width, height] of [
  ["light", 1280, 900],
  ["dark", 390, 844],
]) {
  test(`${colorScheme}, ${width} wide`, async () => {
    const found = {};
    const { page, wrong } = await openPage(browser, site.address, { colorScheme, viewport: { width, height } });
    for (const name of [...PAGES, PLAYGROUND]) {
      await page.goto(site.address + name);
      if (name === PLAYGROUND) {
        await page.locator("#list li").first().waitFor({ timeout: 120_000 });
        await picture(page, `playground-${colorScheme}-${width}`);
      }
      found[name] = await serious(page);
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      if (needed > width) {
        found[name].push(`it is ${needed} wide`);
      }
    }
    await page.context().close();
    assert.deepEqual(
      Object.entries(found).filter(([, lines]) => lines.length > 0),
      [],
    );
    assert.deepEqual(wrong, []);
  });
}
