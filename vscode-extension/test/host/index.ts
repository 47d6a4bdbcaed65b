/** The tests that run inside VS Code: what other extensions and the editor itself see of this one. */

import { cases } from "./cases";

/** VS Code calls this and takes a rejection as failure. */
export async function run(): Promise<void> {
  const failed: string[] = [];
  for (const { name, body } of cases) {
    try {
      await body();
      console.info(`TEST passed: ${name}`);
    } catch (error) {
      failed.push(name);
      console.info(`TEST failed: ${name}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  console.info(`TEST ${cases.length} cases, ${failed.length} failed`);
  if (failed.length > 0) {
    throw new Error(`failed: ${failed.join("; ")}`);
  }
}
