import assert from "node:assert/strict";
import { test } from "node:test";
import { codesAt } from "../../src/findings";
import { graphPage, messagePage } from "../../src/graphPage";
import { drawn as drawnUntil } from "../../src/graphviz";
import { type State, statusText } from "../../src/server/state";

const drawn = (dot: string) => drawnUntil(dot, new AbortController().signal);

test("the page of a graph loads nothing and runs nothing", () => {
  const page = graphPage("<svg></svg>");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1];
  assert.equal(policy, "default-src 'none'; style-src 'unsafe-inline'");
  assert.ok(page.indexOf("Content-Security-Policy") < page.indexOf("<svg>"));
});

test("a wide graph shrinks to fit, but stays legible", () => {
  assert.match(graphPage('<svg width="1000pt" height="20pt"></svg>'), /svg \{ min-width: 800pt; \}/);
});

test("a node links to the place of its definition, whatever it is named", async () => {
  const range = { start: { line: 3, character: 2 }, end: { line: 3, character: 8 } };
  const place = { uri: "file:///it's%20%22here%22.yaml", range };
  const svg = await drawn(
    'digraph { n0 [tooltip="a" label="<title>n1</title>"]; n1 [tooltip="b"]; n0 -> n1 [tooltip="c"] }',
  );
  const links = [...graphPage(svg, new Map([["n0", place]])).matchAll(/<a href="command:(openpai\.\w+)\?([^"']*)"/g)];
  assert.deepEqual(
    links.map(([, command, words]) => [command, decodeURIComponent(words ?? "")]),
    [["openpai.showPlace", JSON.stringify([place])]],
  );
});

test("the colors of a graph are those of the editor's theme", () => {
  const page = graphPage("<svg></svg>");
  for (const kind of ["role", "extras", "outside", "missing", "cycle"]) {
    assert.match(page, new RegExp(`\\.${kind}\\b[^{]*\\{ --line: var\\(--vscode-charts-`));
  }
});

test("a message on the page stays a message", () => {
  assert.match(messagePage("no <script> & more"), /<p>no &lt;script&gt; &amp; more<\/p>/);
});

test("only the server's own findings have a page", () => {
  const diagnostics = [
    { source: "pai-lsp", code: { value: "unknown-prerequisite", target: {} as never } },
    { source: "pai-lsp", code: "invalid-event" },
    { source: "pai-lsp", code: "invalid-event" },
    { source: "pai-lsp" },
    { source: "YAML", code: 7 },
  ];
  assert.deepEqual(codesAt(diagnostics), ["unknown-prerequisite", "invalid-event"]);
});

const STATES: readonly (readonly [state: State, text: string, severity: string])[] = [
  [{ kind: "starting", message: "looking" }, "OpenPAI: starting", "information"],
  [{ kind: "ready", version: "1.0", origin: "PATH", isRestricted: false }, "OpenPAI: ready", "information"],
  [{ kind: "ready", version: "1.0", origin: "PATH", isRestricted: true }, "OpenPAI: ready", "information"],
  [{ kind: "failed", message: "it is gone" }, "OpenPAI: failed", "error"],
  [{ kind: "restricted", message: "not allowed" }, "OpenPAI: restricted", "warning"],
];
test("the status shows the platform and the cluster that the job is checked for", () => {
  const ready: State = { kind: "ready", version: "1.0", origin: "PATH", isRestricted: false };
  const { text, detail } = statusText(ready, undefined, { platform: "LTP 1.3", cluster: "lab" });
  assert.equal(text, "LTP 1.3: ready");
  assert.equal(detail, "checked for LTP 1.3, cluster lab\npai-lsp 1.0, from PATH");
  assert.match(statusText(ready, undefined, { platform: "OpenPAI", cluster: "" }).detail, /^checked for OpenPAI\n/);
});

test("the status shows that a marketplace cannot be reached, and the reason", () => {
  const ready: State = { kind: "ready", version: "1.0", origin: "PATH", isRestricted: false };
  const { text, detail } = statusText(ready, { state: "unreachable", note: "'https://pai.example.com' is silent" });
  assert.equal(text, "OpenPAI: ready, marketplace unreachable");
  assert.equal(detail, "pai-lsp 1.0, from PATH\nmarketplace unreachable: 'https://pai.example.com' is silent");
  assert.equal(statusText(ready, { state: "ready", note: "3 definitions" }).text, "OpenPAI: ready");
});

for (const [state, text, severity] of STATES) {
  test(`the status shows '${text}'`, () => {
    assert.deepEqual([statusText(state).text, statusText(state).severity], [text, severity]);
  });
}
