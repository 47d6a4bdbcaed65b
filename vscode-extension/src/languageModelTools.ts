/**
 * The server's tools for assistants as language model tools, for chat in VS Code, where it has them (since 1.95).
 *
 * They are described in package.json, by which VS Code offers them unless the user chooses otherwise, and answered by the
 * server that already runs. The types are written here, because those of the oldest supported VS Code do not have them.
 */

/** What the names in package.json have before those of the server's tools. */
const PREFIX = "openpai_";

interface Disposable {
  dispose(): unknown;
}

interface Invocation {
  readonly input: object;
}

interface Tool<Token> {
  invoke(options: Invocation, token: Token): Promise<unknown>;
}

/** What a newer VS Code has. */
export interface ToolApi<Token> {
  readonly lm?: { readonly registerTool?: (name: string, tool: Tool<Token>) => Disposable };
  readonly LanguageModelTextPart?: new (text: string) => unknown;
  readonly LanguageModelToolResult?: new (parts: readonly unknown[]) => unknown;
}

/** Whether the workspace is trusted, now and later. */
export interface Trust {
  readonly isTrusted: boolean;
  readonly onDidGrantWorkspaceTrust: (granted: () => void) => Disposable;
}

/** Answers a tool with parts of text; what it throws has a message for the model. */
export type Answer<Token> = (tool: string, input: object, token: Token) => Promise<readonly string[]>;

/**
 * Register the tools as soon as the workspace is trusted; nothing where VS Code has no such tools.
 *
 * `names` are those in package.json.
 */
export function offerTools<Token>(
  api: ToolApi<Token>,
  names: readonly string[],
  trust: Trust,
  answer: Answer<Token>,
): Disposable {
  const { lm, LanguageModelTextPart: Text, LanguageModelToolResult: Result } = api;
  if (lm?.registerTool === undefined || Text === undefined || Result === undefined) {
    return { dispose: () => undefined };
  }
  const registerTool = lm.registerTool.bind(lm);
  const registered: Disposable[] = [];
  const register = () => {
    for (const name of names) {
      const invoke = async ({ input }: Invocation, token: Token) =>
        new Result((await answer(name.slice(PREFIX.length), input, token)).map((part) => new Text(part)));
      registered.push(registerTool(name, { invoke }));
    }
  };
  if (trust.isTrusted) {
    register();
  } else {
    registered.push(trust.onDidGrantWorkspaceTrust(register));
  }
  return { dispose: () => registered.forEach((one) => one.dispose()) };
}
