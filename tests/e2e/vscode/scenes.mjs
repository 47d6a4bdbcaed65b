// Tests that follow each other in one editor.
import { test } from "node:test";
import * as workbench from "./workbench.mjs";

/**
 * A function that makes tests in the page that `page` returns. A test that fails leaves a picture; those after it are
 * not tried, for they would begin at a place that nobody has thought of.
 */
export function scenes(page, context = { test }) {
  let failed;
  return (name, body, timeout = 60_000) =>
    context.test(name, { timeout }, async () => {
      if (failed !== undefined) {
        throw new Error(`not tried, because '${failed}' has failed`);
      }
      try {
        await body();
      } catch (error) {
        failed = name;
        await workbench.picture(page(), `failed-${name.replace(/\W+/g, "-")}`);
        throw error;
      }
    });
}
