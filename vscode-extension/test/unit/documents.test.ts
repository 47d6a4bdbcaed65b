import assert from "node:assert/strict";
import { test } from "node:test";
import { mayBeOurs } from "../../src/documents";

const CASES: readonly (readonly [why: string, language: string, name: string, text: string, isOurs: boolean])[] = [
  ["a job by its language", "openpai-job", "/jobs/a.pai.yaml", "", true],
  ["a job by its version", "yaml", "/jobs/a.yaml", "name: a\nprotocolVersion: 2\n", true],
  ["a job with quoted keys", "yaml", "/jobs/a.yaml", '"taskRoles":\n', true],
  ["definitions in a list", "yaml", "/market/a.yaml", "- name: a\n  callbacks:\n", true],
  ["the configuration", "yaml", "/jobs/.pai-lsp.yaml", "", true],
  ["the configuration on Windows", "yaml", "C:\\jobs\\.pai-lsp.yaml", "", true],
  ["other YAML", "yaml", "/jobs/compose.yaml", "services:\n  web:\n    image: nginx\n", false],
  ["YAML that only speaks of it", "yaml", "/jobs/a.yaml", "# protocolVersion: 2\ntext: taskRoles\n", false],
  ["another language", "json", "/jobs/a.json", '{\n"protocolVersion": 2}', false],
];

for (const [why, language, name, text, isOurs] of CASES) {
  test(`${why} is ${isOurs ? "" : "not "}ours`, () => {
    assert.equal(
      mayBeOurs(language, name, () => text),
      isOurs,
    );
  });
}
