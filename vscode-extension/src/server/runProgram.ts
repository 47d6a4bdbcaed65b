/** Runs a program to its end and takes what it prints, with limits on its time and its output. */

import { spawn } from "node:child_process";

/** How a program ended. */
export interface Ended {
  /** Its exit status; undefined when it could not be started, was stopped, or took too long. */
  readonly status: number | undefined;
  readonly output: string;
  readonly errors: string;
  /** Why it has no status. */
  readonly reason: string | undefined;
}

export interface RunOptions {
  readonly milliseconds: number;
  readonly folder?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Stops the program. */
  readonly signal?: AbortSignal;
  /** Gets everything that is printed, as it comes. */
  readonly onText?: (text: string) => void;
}

const MOST_CHARACTERS = 200_000;

/** Run a program; this never rejects. */
export function runProgram(program: string, words: readonly string[], options: RunOptions): Promise<Ended> {
  return new Promise((resolve) => {
    let output = "";
    let errors = "";
    const end = (status: number | undefined, reason: string | undefined) => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", stop);
      resolve({ status, output, errors, reason });
    };
    if (options.signal?.aborted) {
      resolve({ status: undefined, output, errors, reason: "it was stopped" });
      return;
    }
    const child = spawn(program, words, {
      cwd: options.folder,
      env: options.environment ?? process.env,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    const stop = () => {
      child.kill("SIGKILL");
      end(undefined, "it was stopped");
    };
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      end(undefined, `no response in ${options.milliseconds / 1000} seconds`);
    }, options.milliseconds);
    options.signal?.addEventListener("abort", stop);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-MOST_CHARACTERS);
      options.onText?.(text);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-MOST_CHARACTERS);
      options.onText?.(text);
    });
    child.on("error", (error) => end(undefined, error.message));
    child.on("close", (status, signal) =>
      end(status ?? undefined, status === null ? `it was ended by ${signal}` : undefined),
    );
  });
}
