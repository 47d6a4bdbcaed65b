/** The page around a drawn graph. */

import type { Places } from "./answers";

/** The command of a link: shows the place that is its argument. */
export const SHOW_PLACE = "openpai.showPlace";

/**
 * Nothing may be loaded from anywhere and no script runs. The picture itself was drawn from a job, whose author may be
 * anybody: this line is what keeps it a picture.
 */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** The colors are those of the editor's theme; the classes are those that the server's description of the graph has. */
const STYLE = `
  body { margin: 0; padding: 16px; background: var(--vscode-editor-background); color: var(--vscode-editor-foreground); }
  a { cursor: pointer; text-decoration: none; }
  a:hover text { text-decoration: underline; }
  p { font-family: var(--vscode-font-family); }
  svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
  text {
    font-family: var(--vscode-editor-font-family), monospace;
    fill: color-mix(in srgb, var(--vscode-editor-foreground) 75%, var(--vscode-editor-background));
  }
  .graph { --line: color-mix(in srgb, var(--vscode-editor-foreground) 60%, var(--vscode-editor-background)); }
  .role { --line: var(--vscode-charts-blue); }
  .extras { --line: var(--vscode-charts-yellow); }
  .outside { --line: var(--vscode-charts-purple); }
  .missing, .cycle { --line: var(--vscode-charts-red); }
  .node text:first-of-type { fill: var(--vscode-editor-foreground); font-weight: bold; }
  .node :is(path, polygon) {
    stroke: var(--line); fill: color-mix(in srgb, var(--line) 12%, var(--vscode-editor-background));
  }
  .node [fill="none"], .unknown polygon { fill: none; }
  .edge :is(path, polygon) { stroke: var(--line); }
  .edge polygon { fill: var(--line); }
`;

/** A wide picture shrinks so far to fit into a narrow panel; then the panel scrolls, so that words stay legible. */
const LEAST_SCALE = 0.8;

/**
 * The page with a picture, which is an `<svg>` element as Graphviz writes it, its size in points. The nodes link to the
 * places of their definitions.
 */
export function graphPage(svg: string, places: Places = new Map()): string {
  const width = Number(/<svg\b[^>]*\bwidth="(\d+)pt"/.exec(svg)?.[1] ?? 0);
  return page(`<style>svg { min-width: ${Math.round(width * LEAST_SCALE)}pt; }</style>${linked(svg, places)}`);
}

/** A node with a tooltip, as Graphviz writes it: its title is its identifier, and an `<a>` is around what is drawn. */
const NODE = /(<title>(\w+)<\/title>\s*<g id="a_node\d+"><a) /g;

function linked(svg: string, places: Places): string {
  return svg.replace(NODE, (found, begin: string, identifier: string) => {
    const place = places.get(identifier);
    const words = place && encodeURIComponent(JSON.stringify([place])).replaceAll("'", "%27");
    return words === undefined ? found : `${begin} href="command:${SHOW_PLACE}?${words}" `;
  });
}

/** The page with a sentence in place of a picture. */
export function messagePage(message: string): string {
  return page(`<p>${escaped(message)}</p>`);
}

function page(body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<style>${STYLE}</style>
</head>
<body>${body}</body>
</html>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
