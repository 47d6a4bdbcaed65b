/**
 * Draws graphs with Graphviz in its own thread, which is loaded when a graph is drawn, so that a slow drawing does not
 * block the extension.
 */

import path from "node:path";
import { Worker } from "node:worker_threads";

/** The bundle of `graphvizWorker.ts`. */
const WORKER = path.join(__dirname, "graphviz.js");

/** The time limit for a drawing, in milliseconds. */
const LONGEST = 10_000;

/**
 * The graph (in Graphviz' language) as an `<svg>` element.
 *
 * @throws Error when it cannot be drawn, takes too long, or is stopped.
 */
export async function drawn(dot: string, stop: AbortSignal, longest: number = LONGEST): Promise<string> {
  const worker = new Worker(WORKER, { workerData: dot });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("Graphviz ended without a picture")));
      stop.addEventListener("abort", () => reject(new Error("the drawing was stopped")));
      timer = setTimeout(() => reject(new Error("the graph is too large to draw")), longest);
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
