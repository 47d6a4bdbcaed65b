/** Runs Graphviz, compiled to WebAssembly: the description of a graph comes in as `workerData`, its SVG goes out. */

import { parentPort, workerData } from "node:worker_threads";

async function draw(dot: string): Promise<void> {
  const { instance } = await import("@viz-js/viz");
  parentPort?.postMessage((await instance()).renderString(dot, { format: "svg_inline" }));
}

void draw(String(workerData));
