/** Tries the candidate programs and takes the first that is a server and new enough. */

import { commandLine, type Launch } from "./launch";
import { type Ended, runProgram } from "./runProgram";
import { isAtLeast, OLDEST_SERVER, versionIn } from "./version";

/** A program with its version. */
export interface Server {
  readonly launch: Launch;
  readonly version: string;
}

/** Why a program is not used; the message is for the user. */
export class Unusable extends Error {}

/** A first start reads Python's modules from a cold disk. */
const MILLISECONDS_TO_SAY_VERSION = 15_000;

/**
 * The version of the server that a launch starts.
 *
 * @throws Unusable when it is not pai-lsp, or too old.
 */
export async function checkedServer(launch: Launch, folder: string, run = runProgram): Promise<Server> {
  const words = [...launch.words, "--version"];
  const ended = await run(launch.program, words, { milliseconds: MILLISECONDS_TO_SAY_VERSION, folder });
  const version = ended.status === 0 ? versionIn(ended.output) : undefined;
  if (version === undefined) {
    throw new Unusable(`'${commandLine(launch)}' (${launch.origin}) is not pai-lsp: ${whatWentWrong(ended)}`);
  }
  if (!isAtLeast(version, OLDEST_SERVER)) {
    throw new Unusable(
      `'${commandLine(launch)}' (${launch.origin}) is pai-lsp ${version}; this extension needs ${OLDEST_SERVER} or later`,
    );
  }
  return { launch, version };
}

/** The first usable launch; the reasons against the launches before it go to `tell`. */
export async function firstUsable(
  launches: readonly Launch[],
  folder: string,
  tell: (reason: string) => void,
  run = runProgram,
): Promise<Server | undefined> {
  for (const launch of launches) {
    try {
      return await checkedServer(launch, folder, run);
    } catch (error) {
      if (!(error instanceof Unusable)) {
        throw error;
      }
      tell(error.message);
    }
  }
  return undefined;
}

function whatWentWrong(ended: Ended): string {
  if (ended.reason !== undefined) {
    return ended.reason;
  }
  const line = lastLine(ended.errors) || lastLine(ended.output);
  return line ? `it printed '${line}'` : `it exited with status ${ended.status} and printed nothing`;
}

/** The last line that is not empty, cut to a length that fits into a message. */
export function lastLine(text: string): string {
  const line = text.trim().split(/\r?\n/).at(-1) ?? "";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
