import assert from "node:assert/strict";
import * as fs from "node:fs";
import { test } from "node:test";
import { instance } from "@viz-js/viz";
import { drawn } from "../../src/graphviz";

const NEVER = new AbortController().signal;

test("a graph becomes an element for a page, with the classes and tooltips of its nodes and edges", async () => {
  const svg = await drawn('digraph { a [class="role" tooltip="one\\ntwo"]; a -> b [class="missing"] }', NEVER);
  assert.match(svg, /<svg width="\d+pt" height="\d+pt"/);
  assert.match(svg, /class="node role"/);
  assert.match(svg, /xlink:title="one&#10;two"/);
  assert.match(svg, /class="edge missing"/);
  assert.doesNotMatch(svg, /<\?xml|<!DOCTYPE/);
});

test("a name is never markup, an escape or a character reference", async () => {
  const svg = await drawn(String.raw`digraph { a [label="<b>\"&amp;lt; \\N </svg>"] }`, NEVER);
  assert.match(svg, />&lt;b&gt;&quot;&amp;lt; \\N &lt;\/svg&gt;<\/text>/);
});

test("a text that is not a graph, and a graph that takes too long, have an error", async () => {
  await assert.rejects(drawn("no graph", NEVER), /syntax error/);
  await assert.rejects(drawn("digraph { a }", NEVER, 0), /the graph is too large to draw/);
});

test("a drawing that is no longer needed is stopped", async () => {
  const stop = new AbortController();
  const picture = drawn("digraph { a }", stop.signal);
  stop.abort();
  await assert.rejects(picture, /the drawing was stopped/);
});

test("the notices name the versions that are carried", async () => {
  const notices = fs.readFileSync("THIRD-PARTY-NOTICES.md", "utf8");
  const { dependencies } = JSON.parse(fs.readFileSync("package.json", "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  assert.ok(notices.includes(`**Viz.js** ${dependencies["@viz-js/viz"]},`));
  assert.ok(notices.includes(`**Graphviz** ${(await instance()).graphvizVersion},`));
});
