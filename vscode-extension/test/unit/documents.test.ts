import assert from "node:assert/strict";
import { test } from "node:test";
import { associations, isConfiguration, isJobInYaml, mayBeJob, mayBeMpiJob } from "../../src/documents";

const CASES: readonly (readonly [why: string, language: string, text: string, isJob: boolean])[] = [
  ["a job by its language", "openpai-job", "", true],
  ["a job by its version", "yaml", "name: a\nprotocolVersion: 2\n", true],
  ["a job with quoted keys", "yaml", '"taskRoles":\n', true],
  ["a job written as JSON", "yaml", '{\n  "jobName": "a",\n  "taskRoles": []\n}\n', true],
  ["definitions in a list", "yaml", "- name: a\n  plugin: com.microsoft.pai.runtimeplugin.cmd\n  callbacks:\n", true],
  ["other YAML", "yaml", "services:\n  web:\n    image: nginx\n", false],
  ["a playbook with prerequisites", "yaml", "- hosts: all\n  prerequisites: [git]\n  callbacks: []\n", false],
  ["a page with prerequisites", "yaml", "title: Setup\nprerequisites:\n  - docker\n", false],
  ["a resource with task roles", "yaml", "kind: Framework\nspec:\n  taskRoles:\n    - name: worker\n", false],
  ["YAML that only mentions the keys", "yaml", "# protocolVersion: 2\ntext: taskRoles\n", false],
  ["another language", "json", '{\n"protocolVersion": 2}', false],
];

for (const [why, language, text, isJob] of CASES) {
  test(`${why} is ${isJob ? "" : "not "}ours`, () => {
    assert.equal(
      mayBeJob(language, () => text),
      isJob,
    );
  });
}

for (const [language, text, isPlain] of [
  ["yaml", "protocolVersion: 2\nname: a\n", true],
  ["yaml", "- name: a\n  plugin: com.microsoft.pai.runtimeplugin.cmd\n", false],
  ["yaml", "prerequisites: []\n", false],
  ["openpai-job", "protocolVersion: 2\n", false],
] as const) {
  test(`${JSON.stringify(text)} in ${language} is ${isPlain ? "" : "not "}a job in a YAML file`, () => {
    assert.equal(
      isJobInYaml(language, () => text),
      isPlain,
    );
  });
}

test("the job language is for one file, or for all of a folder below the root", () => {
  assert.deepEqual(associations("team/jobs/train.yml"), [
    { label: "Always for 'train.yml'", pattern: "**/team/jobs/train.yml" },
    { label: "Always for All .yml Files in 'team/jobs'", pattern: "**/team/jobs/*.yml" },
  ]);
  assert.deepEqual(associations("train.yaml"), [{ label: "Always for 'train.yaml'", pattern: "**/train.yaml" }]);
  assert.deepEqual(associations(undefined), []);
});

for (const [language, text, isMpiJob] of [
  ["yaml", "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n", true],
  ["yaml", "kind: ConfigMap\n---\nkind: 'MPIJob' # training\n", true],
  ["yaml", "data:\n  a: |\n    kind: MPIJob\n", false],
  ["yaml", "kind: MPIJobList\n", false],
  ["json", "kind: MPIJob\n", false],
] as const) {
  test(`${JSON.stringify(text)} in ${language} is ${isMpiJob ? "" : "not "}an MPIJob`, () => {
    assert.equal(
      mayBeMpiJob(language, () => text),
      isMpiJob,
    );
  });
}

test("the configuration is known by its name", () => {
  assert.ok(isConfiguration("/jobs/.pai-lsp.yaml"));
  assert.ok(isConfiguration("C:\\jobs\\.pai-lsp.yaml"));
  assert.ok(!isConfiguration("/jobs/pai-lsp.yaml"));
});
