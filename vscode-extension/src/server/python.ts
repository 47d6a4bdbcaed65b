/** Finds a Python that is new enough to run the server. */

import type { Interpreter, Surroundings } from "./launch";
import { onSearchPath } from "./launch";
import { runProgram } from "./runProgram";
import { pythonFailure, type SetupFailure } from "./setupFailure";
import { isAtLeast } from "./version";

/** The oldest Python that the server runs on. */
export const OLDEST_PYTHON = "3.10";

/** An interpreter with its version. */
export interface Python {
  readonly path: string;
  readonly version: string;
}

const MILLISECONDS_TO_SAY_VERSION = 15_000;
const NAMES = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python"];
const SCRIPT = "import sys; print('%d.%d.%d' % sys.version_info[:3]); print(sys.executable)";

/** The interpreters on PATH, by the names under which they are installed. */
export function interpretersOnPath(around: Surroundings): Interpreter[] {
  const names = around.platform === "win32" ? ["py", ...NAMES] : NAMES;
  return names
    .map((name) => onSearchPath(name, around))
    .filter((path) => path !== undefined)
    .map((path) => ({ path, origin: "PATH" }));
}

/** The first interpreter that is new enough, or the reason why none is. */
export async function suitablePython(
  interpreters: readonly Interpreter[],
  run = runProgram,
): Promise<Python | SetupFailure> {
  const old: Python[] = [];
  for (const { path } of interpreters) {
    const ended = await run(path, ["-I", "-c", SCRIPT], { milliseconds: MILLISECONDS_TO_SAY_VERSION });
    const [version, executable] = ended.output.trim().split(/\r?\n/);
    if (ended.status !== 0 || !version || !executable) {
      continue;
    }
    if (isAtLeast(version, OLDEST_PYTHON)) {
      return { path: executable, version };
    }
    old.push({ path, version });
  }
  return pythonFailure(old);
}
