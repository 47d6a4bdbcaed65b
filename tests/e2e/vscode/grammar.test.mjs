// How a job is coloured: the extension's grammar with VS Code's own grammars of YAML and of the shell.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { before, test } from "node:test";

const VSCODE = path.join(process.env.E2E_CODE_SERVER, "node_modules/code-server/lib/vscode");
const require = createRequire(`${VSCODE}/`);
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

/** A job, and under some lines marks with what the words above them are. */
const JOB = `\
protocolVersion: 2
# <% $comment %>
# ^ comment
prerequisites:
  - type: data
#   ^^^^ entity.name.tag.yaml
    uri: <% $data.uri[0] %>
#        ^^ punctuation.definition.template-expression.begin
#           ^^^^^ variable.language
#                     ^ constant.numeric
    callbacks:
      - event: taskStarts
        commands:
#       ^^^^^^^^ entity.name.tag.yaml
          # a comment
#           ^^^^^^^^^ comment
          - mkdir -p "$DIR" # more
#           ^^^^^ entity.name.command
#                     ^^^ variable.other.normal.shell
#                             ^^^^ comment.line.number-sign.shell
          - |
#           ^ keyword.control.flow.block-scalar
            for f in *.zip; do
#           ^^^ keyword.control.for.shell
              unzip "$f" <% $parameters.flag %>
#             ^^^^^ entity.name.command
#                             ^^^^^^^ variable.language
            done

            ls && cat {{ path }}
#           ^^ entity.name.command
#                 ^^^ entity.name.command
#                        ^^^^ variable.other.property
          - "echo <% $secrets.key %>"
#             ^^^ string.quoted.double.yaml
#                     ^^^^^^^ variable.language
      - event: taskFails
#       ^^^^^ entity.name.tag.yaml
taskRoles:
  worker:
    commands:
    - python train.py
#     ^^^^^^ entity.name.command
    - >-
      cat <<EOF
#         ^^ keyword.operator.heredoc.shell
    - echo 'open
#           ^^^^ string.quoted.single.shell
    - ls
#     ^^ entity.name.command
    instances: 1
#   ^^^^^^^^^ entity.name.tag.yaml
#              ^ constant.numeric
  other:
#   ^^^ entity.name.tag.yaml
    commands: [ls, "<% $output.uri %>"]
#             ^ punctuation.definition.sequence.begin
#                      ^^^^^^ variable.language
`;

let grammar;

before(async () => {
  await oniguruma.loadWASM(fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: (scope) => {
      const file = grammars()[scope];
      return Promise.resolve(file ? textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file) : null);
    },
  });
  grammar = await registry.loadGrammar("source.openpai-job");
});

test("every mark in the job says what the words above it are", () => {
  let stack = textmate.INITIAL;
  let tokens = [];
  let line = "";
  let marks = 0;
  for (const text of JOB.split("\n")) {
    const mark = /^#( *)(\^+) (\S+)$/.exec(text);
    if (mark === null) {
      line = text;
      ({ tokens, ruleStack: stack } = grammar.tokenizeLine(line, stack));
      continue;
    }
    const [begin, end] = [1 + mark[1].length, 1 + mark[1].length + mark[2].length];
    const over = tokens.filter((token) => token.startIndex < end && token.endIndex > begin);
    for (const { scopes, startIndex, endIndex } of over) {
      const words = line.slice(startIndex, endIndex);
      assert.ok(
        scopes.some((scope) => scope.split(" ").some((name) => name.startsWith(mark[3]))),
        `'${words}' in '${line}' is ${scopes.join(" ")} and not ${mark[3]}`,
      );
    }
    assert.ok(over.length > 0, `nothing stands over the mark ${text}`);
    marks += 1;
  }
  assert.equal(marks, JOB.match(/\^+/g).length);
});

/** The files of grammars by their scopes. */
function grammars() {
  const found = {};
  const folders = ["yaml", "shellscript"].map((name) => path.join(VSCODE, "extensions", name));
  for (const folder of [...folders, process.env.E2E_STAGE]) {
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    for (const { scopeName, path: file } of manifest.contributes.grammars) {
      found[scopeName] = path.join(folder, file);
    }
  }
  return found;
}
