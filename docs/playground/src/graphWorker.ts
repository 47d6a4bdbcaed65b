/** Runs Graphviz, compiled to WebAssembly: the description of a graph comes in, its SVG goes out. */

import { instance } from "@viz-js/viz";

declare const self: {
  postMessage: (svg: string) => void;
  addEventListener: (type: "message", listener: (event: MessageEvent<string>) => void) => void;
};

self.addEventListener("message", ({ data }) => {
  void instance().then((viz) => self.postMessage(viz.renderString(data, { format: "svg" })));
});
