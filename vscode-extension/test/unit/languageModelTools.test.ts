import assert from "node:assert/strict";
import { test } from "node:test";
import { toolAnswer } from "../../src/answers";
import { offerTools, type ToolApi, type Trust } from "../../src/languageModelTools";

class Text {
  constructor(readonly value: string) {}
}

class Result {
  constructor(readonly content: readonly unknown[]) {}
}

type Registered = Map<string, Parameters<NonNullable<NonNullable<ToolApi<string>["lm"]>["registerTool"]>>[1]>;

function editor(registered: Registered): ToolApi<string> {
  const registerTool = (name: string, tool: Registered extends Map<string, infer Tool> ? Tool : never) => {
    registered.set(name, tool);
    return { dispose: () => registered.delete(name) };
  };
  return { lm: { registerTool }, LanguageModelTextPart: Text, LanguageModelToolResult: Result };
}

const NAMES = ["openpai_check", "openpai_fix"];
const TRUSTED: Trust = { isTrusted: true, onDidGrantWorkspaceTrust: () => ({ dispose: () => undefined }) };

test("each tool asks the server, and hands the parts of the answer on", async () => {
  const registered: Registered = new Map();
  const tools = offerTools(editor(registered), NAMES, TRUSTED, (tool, input, token) =>
    Promise.resolve([tool, JSON.stringify(input), token]),
  );
  assert.deepEqual([...registered.keys()], NAMES);
  const answer = await registered.get("openpai_fix")?.invoke({ input: { text: "a" } }, "token");
  assert.deepEqual(answer, new Result([new Text("fix"), new Text('{"text":"a"}'), new Text("token")]));
  tools.dispose();
  assert.equal(registered.size, 0);
});

test("a failure reaches the model", async () => {
  const registered: Registered = new Map();
  offerTools(editor(registered), NAMES, TRUSTED, () => Promise.reject(new Error("'x' is not below /jobs")));
  await assert.rejects(async () => registered.get("openpai_check")?.invoke({ input: {} }, ""), /not below/);
});

test("there are no tools before the workspace is trusted", () => {
  const registered: Registered = new Map();
  let grant = () => assert.fail("nobody waits for trust");
  const trust: Trust = {
    isTrusted: false,
    onDidGrantWorkspaceTrust: (granted) => {
      grant = granted as () => never;
      return { dispose: () => undefined };
    },
  };
  offerTools(editor(registered), NAMES, trust, () => Promise.resolve([]));
  assert.equal(registered.size, 0);
  grant();
  assert.deepEqual([...registered.keys()], NAMES);
});

test("an older VS Code has no tools", () => {
  for (const api of [{}, { lm: {} }, { lm: editor(new Map()).lm }]) {
    offerTools(api as ToolApi<string>, NAMES, TRUSTED, () => Promise.resolve([])).dispose();
  }
});

test("an answer of another form is none", () => {
  assert.deepEqual(toolAnswer(["a", "b"]), ["a", "b"]);
  for (const answer of [null, "a", [1], { text: "a" }]) {
    assert.equal(toolAnswer(answer), undefined);
  }
});
