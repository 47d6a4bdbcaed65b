/** Draws graphs with Graphviz in a worker, which is loaded when the first graph is drawn. */

import { startWorker } from "./workers";

/** The time limit for a drawing, in milliseconds; the first one loads Graphviz, too. */
const LONGEST = 20_000;

/** A wide picture shrinks so far to fit into its panel; then the panel scrolls, so that words stay legible. */
const LEAST_SCALE = 0.65;

/**
 * The picture of a graph in Graphviz' language. Its nodes are links to `places`, by their identifiers; `go` follows one.
 *
 * @throws Error when it cannot be drawn, or takes too long.
 */
export async function drawn(
  dot: string,
  places: Record<string, number>,
  go: (at: number) => void,
): Promise<SVGElement> {
  const worker = startWorker("graphviz.js");
  let timer: number | undefined;
  try {
    const svg = await new Promise<string>((resolve, reject) => {
      worker.addEventListener("message", ({ data }: MessageEvent<string>) => resolve(data));
      worker.addEventListener("error", () => reject(new Error("the graph could not be drawn")));
      timer = window.setTimeout(() => reject(new Error("the graph is too large to draw here")), LONGEST);
      worker.postMessage(dot);
    });
    return linked(picture(svg), places, go);
  } finally {
    window.clearTimeout(timer);
    worker.terminate();
  }
}

function picture(svg: string): SVGElement {
  const { documentElement } = new DOMParser().parseFromString(svg, "image/svg+xml");
  const found = document.importNode(documentElement, true);
  if (!(found instanceof SVGSVGElement)) {
    throw new Error("the graph could not be drawn");
  }
  found.style.minWidth = `${Math.round(found.width.baseVal.value * LEAST_SCALE)}px`;
  return found;
}

function linked(svg: SVGElement, places: Record<string, number>, go: (at: number) => void): SVGElement {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Prerequisite graph");
  for (const node of svg.querySelectorAll(".node")) {
    const at = places[node.querySelector("title")?.textContent ?? ""];
    const link = node.querySelector("a");
    if (at === undefined || link === null) {
      continue;
    }
    link.setAttribute("tabindex", "0");
    link.setAttribute("role", "link");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(at);
    });
    link.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        // Otherwise the key would reach the editor, which has the focus then.
        event.preventDefault();
        go(at);
      }
    });
  }
  return svg;
}
