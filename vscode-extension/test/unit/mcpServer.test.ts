import assert from "node:assert/strict";
import { test } from "node:test";
import { type McpApi, type McpChoice, offerMcpServer } from "../../src/mcpServer";

class Definition {
  constructor(
    readonly label: string,
    readonly command: string,
    readonly words: string[],
  ) {}
}

type Provider = Parameters<NonNullable<NonNullable<McpApi["lm"]>["registerMcpServerDefinitionProvider"]>>[1];

/** What the editor is offered for a choice; undefined where it is not told of a provider. */
function offered(choice: Partial<McpChoice>): Provider | undefined {
  let provider: Provider | undefined;
  const registerMcpServerDefinitionProvider = (id: string, given: Provider) => {
    assert.equal(id, "openpai.mcp");
    provider = given;
    return { dispose: () => undefined };
  };
  const launch = { program: "/python", words: ["-m", "pai_lsp"], origin: "PATH" };
  const api = { lm: { registerMcpServerDefinitionProvider }, McpStdioServerDefinition: Definition };
  offerMcpServer(api, {
    isChosen: () => true,
    launch: () => Promise.resolve(launch),
    cluster: () => "",
    onDidChange: () => ({ dispose: () => undefined }),
    ...choice,
  });
  return provider;
}

test("the installed server is offered where it is chosen", async () => {
  assert.deepEqual(await offered({})?.provideMcpServerDefinitions(), [
    new Definition("pai-lsp", "/python", ["-m", "pai_lsp", "mcp"]),
  ]);
  assert.deepEqual(await offered({ cluster: () => "lab" })?.provideMcpServerDefinitions(), [
    new Definition("pai-lsp", "/python", ["-m", "pai_lsp", "mcp", "--cluster", "lab"]),
  ]);
});

test("nothing is offered, and nothing looked for, where it is not chosen; nor where nothing is installed", async () => {
  const launch = () => assert.fail("nobody has chosen it");
  assert.deepEqual(await offered({ isChosen: () => false, launch })?.provideMcpServerDefinitions(), []);
  const none = offered({ launch: () => Promise.resolve(undefined) });
  assert.deepEqual(await none?.provideMcpServerDefinitions(), []);
});

test("an older VS Code starts no servers", () => {
  const registerMcpServerDefinitionProvider = () => {
    throw new Error("Extension CANNOT use API proposal: mcpConfigurationProvider.");
  };
  const refusing: McpApi = { lm: { registerMcpServerDefinitionProvider }, McpStdioServerDefinition: Definition };
  for (const api of [{}, { lm: {} }, refusing]) {
    offerMcpServer(api, {} as McpChoice).dispose();
  }
});
