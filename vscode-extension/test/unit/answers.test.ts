import assert from "node:assert/strict";
import { test } from "node:test";
import {
  conversion,
  expansion,
  failureAnswer,
  graph,
  imageAnswers,
  jobFailure,
  jobStates,
  jobStatus,
  listing,
  marketplaceStatus,
  templates,
  textAnswer,
} from "../../src/answers";

/** What no answer of ours looks like. */
const NONSENSE: readonly unknown[] = [null, undefined, 7, "text", true, {}, { text: 7, dot: 7, findings: 7, items: 7 }];

test("answers of another form are no answers", () => {
  for (const answer of NONSENSE) {
    assert.equal(textAnswer(answer), undefined);
    assert.equal(graph(answer), undefined);
    assert.equal(expansion(answer), undefined);
    assert.equal(conversion(answer), undefined);
    assert.equal(imageAnswers(answer), undefined);
    assert.equal(jobStatus(answer), undefined);
    assert.equal(failureAnswer(answer)?.place, undefined);
    assert.equal(listing(answer), undefined);
    assert.equal(templates(answer), undefined);
    assert.equal(marketplaceStatus(answer), undefined);
  }
});

test("the jobs on a cluster, and why one failed", () => {
  const job = { name: "train", state: "FAILED", retries: 1, virtualCluster: "vc1" };
  assert.deepEqual(jobStates([{ ...job, gpus: 4 }, {}, 7, { name: "a", state: "RUNNING" }]), [
    job,
    { name: "a", state: "RUNNING", retries: 0, virtualCluster: "" },
  ]);
  const evidence = { line: 5, text: "No module named 'x'" };
  const answer = { cause: "python-import", explanation: "A module is missing.", do: "Install it.", line: 3, evidence };
  const detail = "Install it.\n\nLog line 5: No module named 'x'";
  assert.deepEqual(jobFailure({ ...answer, notes: [] }), { title: "A module is missing.", detail, line: 3 });
  const waiting = { cause: "no-failure", job: "train", state: "WAITING", waitsFor: ["a", "b"] };
  const title = "train has not failed: WAITING";
  assert.deepEqual(jobFailure(waiting), { title, detail: "a\nb", line: undefined });
  for (const answer of NONSENSE) {
    assert.equal(jobFailure(answer), undefined);
    assert.ok((jobStates(answer) ?? []).length === 0);
  }
});

test("how a job is checked, and why it failed", () => {
  assert.deepEqual(jobStatus({ platform: "LTP", cluster: null }), { platform: "LTP", cluster: "" });
  const start = { line: 3, character: 2 };
  const place = { uri: "file:///train.pai.yaml", range: { start, end: start } };
  assert.deepEqual(failureAnswer({ text: "137", place }), { text: "137", place });
  assert.deepEqual(imageAnswers([{ role: "worker", image: "a", answer: "there", explanation: "b" }, 7]), [
    { role: "worker", image: "a", answer: "there", explanation: "b" },
    { role: "", image: "", answer: "", explanation: "" },
  ]);
});

test("a text without a language is a shell script", () => {
  assert.deepEqual(textAnswer({ text: "ls" }), { text: "ls", languageId: "shellscript", places: new Map() });
  assert.equal(textAnswer({ text: "{}", languageId: "json" })?.languageId, "json");
});

test("places have a file and a range; others are left out", () => {
  const start = { line: 3, character: 2 };
  const end = { line: 3, character: 8 };
  const train = { uri: "file:///train.pai.yaml", range: { start, end } };
  const answer = {
    dot: "digraph {}",
    places: { n0: train, n1: { uri: 7 }, n2: { uri: "file:///a", range: { start } } },
  };
  assert.deepEqual(graph(answer), { dot: "digraph {}", places: new Map([["n0", train]]) });
});

test("a conversion is a text with what it lost, or the reason against it", () => {
  const lost = [{ field: "spec.runPolicy.suspend", reason: "no such key" }, { field: 7 }];
  assert.deepEqual(conversion({ text: "name: a\n", languageId: "openpai-job", lost }), {
    text: "name: a\n",
    languageId: "openpai-job",
    lost: ["spec.runPolicy.suspend"],
  });
  assert.deepEqual(conversion({ error: "no-launcher", message: "no launcher" }), { message: "no launcher" });
});

test("an expansion is a text with its errors, or the reasons against it", () => {
  assert.deepEqual(expansion({ text: "name: a\n" }), { text: "name: a\n", errors: [] });
  const findings = [
    { message: "wrong", severity: 1 },
    { message: "odd", severity: 2 },
  ];
  assert.deepEqual(expansion({ text: "name: a\n", findings }), { text: "name: a\n", errors: ["wrong"] });
  assert.deepEqual(expansion({ findings: ["a cycle", { message: "not there" }, 7] }), {
    text: undefined,
    errors: ["a cycle", "not there"],
  });
});

test("a marketplace is listed with what is known of its definitions", () => {
  const variable = { name: "path", description: "Where it goes", default: "/data" };
  const answer = [
    {
      reference: "marketplace://data/mnist",
      name: "mnist",
      type: "data",
      summary: "Digits",
      variables: ["user", variable],
    },
    { reference: "marketplace://script/x", variables: [{ name: "n", default: 0 }, 7, {}] },
    { name: "without a reference" },
  ];
  assert.deepEqual(listing(answer), [
    {
      reference: "marketplace://data/mnist",
      name: "mnist",
      type: "data",
      summary: "Digits",
      variables: [
        { name: "user", description: "", value: "", isRequired: true },
        { name: "path", description: "Where it goes", value: "/data", isRequired: false },
      ],
    },
    {
      reference: "marketplace://script/x",
      name: "marketplace://script/x",
      type: "",
      summary: "",
      variables: [{ name: "n", description: "", value: "0", isRequired: false }],
    },
  ]);
  assert.deepEqual(listing([]), []);
});

test("templates without a text are left out", () => {
  assert.deepEqual(templates([{ name: "single", text: "a" }, { name: "none" }, 7]), [
    { name: "single", description: "", text: "a" },
  ]);
});
