/** The page around a drawn graph. */

/**
 * Nothing may be loaded from anywhere and no script runs; colours come from the editor. The picture itself was drawn
 * from a job, whose author may be anybody: this line is what keeps it a picture.
 */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

const STYLE = `
  html { color-scheme: light dark; }
  body { margin: 0; padding: 16px; background: var(--vscode-editor-background); color: var(--vscode-editor-foreground); }
  svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
  svg .page { fill: none; }
  p { font-family: var(--vscode-font-family); }
`;

/** A wide picture shrinks so far to fit into a narrow panel; then the panel scrolls, so that words stay legible. */
const LEAST_SCALE = 0.8;

/** In the picture's style: what holds on dark screens. */
const DARK_SCREEN = /\(\s*prefers-color-scheme\s*:\s*dark\s*\)/g;

/**
 * The page with a picture, which is an `<svg>` element.
 *
 * The picture has colours for dark and for light screens, and a browser chooses by the system; here the editor's theme
 * decides.
 */
export function graphPage(svg: string, isDark: boolean): string {
  const width = Number(/^\s*<svg\b[^>]*\bwidth="(\d+)/.exec(svg)?.[1] ?? 0);
  const legible = `<style>svg { min-width: ${Math.round(width * LEAST_SCALE)}px; }</style>`;
  return page(legible + svg.replace(DARK_SCREEN, isDark ? "(min-width: 0)" : "(max-width: 0)"));
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
