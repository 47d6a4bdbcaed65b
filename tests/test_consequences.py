"""What becomes of a job: the consequence of a finding, where it differs from that of its rule."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Consequence, Severity, Stage, consequence_of
from pai_lsp.rules import all_rules

ROLE = "    instances: 1\n    dockerImage: image\n    resourcePerInstance: {cpu: 1, memoryMB: 4096, gpu: 0}\n"
JOB = f"""\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {{type: dockerimage, name: image, uri: "python:3.12"}}
taskRoles:
  worker:
{ROLE}    commands: [python train.py]
"""
PLUGIN = """\
prerequisites:
  - type: script
    name: a
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: [{event: taskStarts, commands: ["<% $parameters.lr %>"]}]
"""
LTP = "[ls]\n# pai-lsp: platform=ltp\n"
CMD = (
    "{{com.microsoft.pai.runtimeplugin: [{{plugin: cmd, parameters: {{callbacks: "
    "[{{event: taskStarts, commands: ['<% {} %>']}}]}}}}]}}"
)
PLUGIN_OF_EXTRAS = "[ls]\nextras:\n  com.microsoft.pai.runtimeplugin:\n    - "
SHORT = "    plugin: com.microsoft.pai.runtimeplugin.cmd\n"
MEMBER = "undefined-template-member"
DUPLICATE = "duplicate-prerequisite"
DEPLOYMENT = "[ls]\ndeployments: [{{name: a, taskRoles: {}}}]\ndefaults: {{deployment: a}}\n"


@pytest.mark.parametrize(
    ("before", "after", "code", "consequence"),
    [
        ("name: train", "name: train\nowner: me", "unknown-key", "refused"),
        ("name: image,", "?name: image,", "dockerimage-extra-key", "refused"),
        ("prerequisites:\n", PLUGIN.replace(SHORT, "") + "    failurePolicy: []\n", "failure-policy-not-text", "fails"),
        ("cpu: 1,", "?cpu: 1,", "unknown-key", "refused"),
        ("[python train.py]", "[?ls]", "unquoted-question-mark", "fails"),
        ("[python train.py]", "[ls ?]", "unquoted-question-mark", "dies"),
        ("worker:", "Worker:", "invalid-task-role-name", "dies"),
        ("worker:", "a-b:", "invalid-task-role-name", "refused"),
        ("[python train.py]", "[echo <% $parameters.lr %>]", "undefined-parameter", "fails"),
        (
            "prerequisites:\n",
            PLUGIN,
            "undefined-parameter",
            "dies",
        ),
        ("[python train.py]\n", "[ls]\nextras: {com.microsoft.pai.runtimeplugin: ssh}\n", "plugin-not-list", "dies"),
        ("[python train.py]\n", "[ls]\nextras: {com.microsoft.pai.runtimeplugin: }\n", "plugin-not-list", "refused"),
        (
            "[python train.py]\n",
            "[ls]\nextras: {com.microsoft.pai.runtimeplugin: [null]}\n",
            "plugin-not-list",
            "refused",
        ),
        (
            "[python train.py]\n",
            f"{LTP}extras: {{com.microsoft.pai.runtimeplugin: ssh}}\n",
            "plugin-not-list",
            "refused",
        ),
        ("[python train.py]\n", "[ls]\nextras: {storages: nfs}\n", "type-mismatch", "fails"),
        ("  worker:", "  __proto__:", "invalid-task-role-name", "refused"),
        ("    dockerImage: image", "    completion: 2026-11-01\n    dockerImage: image", "type-mismatch", "fails"),
        ("    dockerImage: image", "    completion: 2026-11-31\n    dockerImage: image", "type-mismatch", "dies"),
        ("[python train.py]\n", "[ls]\nextras: {a: [b, , c]}\n", "yaml-syntax", "dies"),
        ("[python train.py]\n", f"{LTP}extras: {{a: [b, , c]}}\n", "yaml-syntax", "refused"),
        ("[python train.py]\n", f"{LTP}extras: {{: c}}\n", "yaml-syntax", "dies"),
        ("gpu: 0", "gpu: none", "type-mismatch", "refused"),
        ("gpu: 0", "gpu: 2147483648", "number-too-large", "refused"),
        ("[python train.py]", "[echo <% $parameters.n.toFixed %>]\nparameters: {n: 1}", MEMBER, "refused"),
        ("[python train.py]", "[echo <% $parameters.n.fixed %>]\nparameters: {n: 1}", MEMBER, "fails"),
        (f"\n  worker:\n{ROLE}    commands: [python train.py]", " ls", "taskroles-not-mapping", "refused"),
        ("[python train.py]\n", DEPLOYMENT.format("[worker]"), "taskroles-not-mapping", "fails"),
        ("[python train.py]\n", DEPLOYMENT.format("worker"), "taskroles-not-mapping", "refused"),
        ("[python train.py]\n", DEPLOYMENT.format("null"), "empty-section", "refused"),
        ("[python train.py]\n", DEPLOYMENT.format("null").rpartition("defaults")[0], "empty-section", "fails"),
        (
            "[python train.py]\n",
            DEPLOYMENT.format("[worker]") + "# pai-lsp: platform=ltp\n",
            "taskroles-not-mapping",
            "refused",
        ),
        ("    dockerImage: image", "    dockerImage: toString", "unknown-docker-image", "dies"),
        ("    dockerImage: image", "    dockerImage: image\n    script: toString", "unknown-script", "fails"),
        (
            "[python train.py]\n",
            f"[ls]\n    data: toString\nextras: {CMD.format('$data.uri')}\n",
            "unknown-data",
            "dies",
        ),
        ("name: train", "name: train  # \u2028 x", "unicode-line-end", "dies"),
        ("[python train.py]\n", "[ls]\nextras:\n  a\u2028b: 1\n", "unicode-line-end", "fails"),
        ("[python train.py]\n", "[ls]\nparameters:\n \trate: 1\n", "yaml-syntax", "dies"),
        ("[python train.py]\n", f"{LTP}parameters:\n \trate: 1\n", "yaml-syntax", "refused"),
        ("[python train.py]\n", "[ls]\nsecrets: {{ key }}\n", "job-template", "fails"),
        ("[python train.py]\n", f"{LTP}extras: {{__proto__: 1, __proto__: 2}}\n", "duplicate-key", "refused"),
        ("[python train.py]\n", "[ls]\nextras: {hivedscheduler: {}}\n", "hived-key-misspelled", "ignored"),
        ("prerequisites:\n", "prerequisites:\n" + 2 * "  - {type: script, name: a}\n", DUPLICATE, "refused"),
        ("prerequisites:\n", "prerequisites:\n" + 2 * "  - {type: script, name: __proto__}\n", DUPLICATE, "fails"),
    ],
)
def test_consequences(before: str, after: str, code: str, consequence: str) -> None:
    text = JOB.replace(before, after, 1)
    assert text != JOB
    if code == "undefined-parameter" and consequence == "dies":
        text = text.replace("    instances: 1", "    prerequisites: [a]\n    instances: 1")
    assert {one.consequence.value for one in Document(text).diagnostics if one.code == code} == {consequence}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("plugin: com.microsoft.pai.runtimeplugin.cmd", "plugin: <% $parameters.lr %>"),
        ("plugin: com.microsoft.pai.runtimeplugin.cmd", "plugin: com.example.cmd"),
        ("callbacks:", "failurePolicy: <% $parameters.lr %>\n    callbacks:"),
        ("prerequisites: [a]", "taskRetryCount: 0"),
    ],
)
def test_what_the_runtime_does_not_fill_does_not_end_a_task(old: str, new: str) -> None:
    text = JOB.replace("prerequisites:\n", PLUGIN, 1).replace(
        "    instances: 1", "    prerequisites: [a]\n    instances: 1"
    )
    text = text.replace("<% $parameters.lr %>", "echo 1") if "failurePolicy" in new else text
    assert old in text
    assert not [one.code for one in Document(text.replace(old, new)).diagnostics if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "plugins",
    [
        "[{plugin: tensorboard, parameters: text, taskroles: [server]}]",
        "[{plugin: cmd, parameters: {callbacks: [{event: taskStarts, commands: [ls]}]}, failurePolicy: !!binary YQ==}]",
    ],
)
def test_what_the_runtime_takes_does_not_end_a_task(plugins: str) -> None:
    text = JOB + f"  server:\n{ROLE}    commands: [ls]\nextras:\n  com.microsoft.pai.runtimeplugin: {plugins}\n"
    assert not [one.code for one in Document(text).diagnostics if one.severity is Severity.ERROR]


ACCOUNT = "{username: me, password: '<% $secrets.key %>'}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[python train.py]\n", "[ls]\nsecrets: !!map\n"),
        ("[python train.py]\n", "[ls]\nsecrets:\n  a: b\n  <<: {{ x }}\n"),
        ("[python train.py]\n", "[ls]\nsecrets:\n \tkey: a\n  other: b\n"),
        ("[python train.py]\n", "[ls]\nextras: {__proto__: 1, __proto__: 2}\n"),
        # YAML reads a text of two lines, not a key that is half typed.
        ("[python train.py]\n", "[ls]\nextras:\n  a:\n    skuNum:\u200b 1\n    skuT\n"),
        ("[python train.py]\n", "[ls]\nextras:\n  a:\n    -\u200b plugin: x\n    b: y\n"),
        # The image checker finds no account, and asks as anybody.
        ('uri: "python:3.12"}\n', f'uri: "python:3.12", auth: {ACCOUNT}}}\nsecrets: {{other: a}}\n'),
    ],
)
def test_what_the_cluster_takes_is_not_refused(before: str, after: str) -> None:
    text = JOB.replace(before, after, 1)
    assert text != JOB
    ends = {Consequence.REFUSED, Consequence.DIES}
    assert not [one.code for one in Document(text).diagnostics if one.consequence in ends]
    if "$secrets" in after:
        assert "auth-without-registryuri" in {one.code for one in Document(text.replace("other", "key")).diagnostics}


def test_a_failure_policy_that_no_task_reads_does_not_end_a_task() -> None:
    text = JOB.replace("prerequisites:\n", PLUGIN.replace("<% $parameters.lr %>", "ls").replace("lr", "a"), 1)
    text = text.replace("    callbacks:", "    failurePolicy: true\n    callbacks:")
    for listed, severity in (
        ("    instances", Severity.WARNING),
        ("    prerequisites: [a]\n    instances", Severity.ERROR),
    ):
        found = Document(text.replace("    instances", listed, 1)).diagnostics
        assert [one.severity for one in found if one.code == "failure-policy-not-text"] == [severity]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("prerequisites:\n", PLUGIN.replace("com.microsoft", "con.microsoft") + "    failurePolicy:\n"),
        (
            "[python train.py]\n",
            PLUGIN_OF_EXTRAS.replace("extras", "  other: *worker\nextras")
            + "{plugin: tensorboard, taskroles: [other], parameters: text, failurePolicy: }\n",
        ),
    ],
)
def test_a_failure_policy_that_no_plugin_reads_does_not_end_a_task(before: str, after: str) -> None:
    text = JOB.replace("  worker:", "  worker: &worker").replace(before, after, 1)
    found = [one for one in Document(text).diagnostics if one.consequence in {Consequence.REFUSED, Consequence.DIES}]
    assert not [one.code for one in found if one.code == "failure-policy-not-text" and one.severity is Severity.ERROR]
    text = text.replace("con.", "com.").replace("taskroles: [other]", "taskroles: [worker]")
    text = text.replace("    instances: 1", "    prerequisites: [a]\n    instances: 1") if "script" in text else text
    assert "failure-policy-not-text" in {one.code for one in Document(text).diagnostics}


def test_an_unknown_plugin_that_never_runs_does_not_end_a_task() -> None:
    text = JOB.replace("prerequisites:\n", PLUGIN, 1).replace("runtimeplugin.cmd", "runtimeplugin.cdm")
    found = {one.code: one.severity for one in Document(text).diagnostics}
    assert found["unknown-plugin"] is Severity.WARNING


@pytest.mark.parametrize("plugin", ["''", "other"])
def test_commands_of_what_is_no_runtime_plugin_never_run(plugin: str) -> None:
    text = JOB.replace("prerequisites:\n", PLUGIN, 1).replace("com.microsoft.pai.runtimeplugin.cmd", plugin)
    text = text.replace("    instances: 1", "    prerequisites: [a]\n    instances: 1")
    text = text.replace("commands: [", "commands: [<% $secrets.unknown %>, ", 1)
    found = {one.code: one.consequence for one in Document(text).diagnostics}
    assert "undefined-secret" not in found
    assert found["prerequisite-without-effect"] is Consequence.IGNORED


@pytest.mark.parametrize(
    ("key", "code", "consequence"),
    [
        ("require: 1", "type-mismatch", "refused"),
        ("template_variables: 1", "type-mismatch", "fails"),
        ("template_variables: [{}]", "missing-key", "fails"),
        ("requireStorages:", "empty-section", "fails"),
        ("plugin_params: [1]", "type-mismatch", "fails"),
        ("uri: 1", "type-mismatch", "refused"),
    ],
)
def test_what_only_expansion_reads_is_not_refused(key: str, code: str, consequence: str) -> None:
    text = JOB.replace("prerequisites:\n", f"prerequisites:\n  - {{type: script, name: a, {key}}}\n", 1)
    found = {one.consequence.value for one in Document(text).diagnostics if one.code == code}
    assert found == {consequence}


def test_what_is_refused_is_an_error_unless_the_rule_says_so() -> None:
    for rule in all_rules():
        usual = consequence_of(rule.severity, rule.stage)
        if rule.consequence is Consequence.REFUSED and usual is not Consequence.REFUSED:
            assert rule.severity is Severity.WARNING  # another cluster, or another account, may accept it
        if rule.stage is Stage.CHECKER:
            assert rule.consequence in {Consequence.IGNORED, Consequence.STYLE}


def test_an_error_does_not_hide_that_the_task_never_starts() -> None:
    text = JOB.replace("[python train.py]", "\n      - |\n        echo <% $paramet\u2028ers.lr %>")
    found = {one.code: one.consequence.value for one in Document(text).diagnostics if one.severity is Severity.ERROR}
    assert found == {"unknown-template-root": "fails", "unicode-line-end": "dies"}


def test_a_milder_finding_has_a_milder_consequence() -> None:
    rule = next(rule for rule in all_rules() if rule.code == "unknown-key")
    assert rule.consequence_at(None) is Consequence.REFUSED
    assert rule.consequence_at(Severity.WARNING) is Consequence.FAILS
    assert rule.consequence_at(Severity.HINT) is Consequence.STYLE
    explicit = next(rule for rule in all_rules() if rule.code == "unknown-plugin-parameter")
    assert explicit.consequence_at(Severity.HINT) is Consequence.IGNORED


@pytest.mark.parametrize(
    ("after", "code", "severity", "consequence"),
    [
        ("[ls]\nextras: words\n", "type-mismatch", Severity.ERROR, "refused"),
        ("[ls]\nextras: 2026-01-01\n", "type-mismatch", Severity.ERROR, "dies"),
        ("[ls]\ndefaults: {virtualCluster: 1080}\n", "type-mismatch", Severity.ERROR, "refused"),
        ("[ls]\nextras: {reference_prerequisites: 1}\n", "type-mismatch", Severity.ERROR, "fails"),
        ("[ls]\nextras: {reference_prerequisites: }\n", "empty-section", Severity.ERROR, "fails"),
        ("[ls]\nextras: {reference_prerequisites: [{}]}\n", "missing-key", Severity.ERROR, "fails"),
        ("[ls]\nextras: {storages: 1}\n", "type-mismatch", Severity.ERROR, "refused"),
        ("[ls]\nextras: {storages: [a]}\n", "type-mismatch", Severity.ERROR, "fails"),
        ("[ls]\ndefaults: 2026-01-01\n", "type-mismatch", Severity.ERROR, "fails"),
        ("[ls]\ndefaults: !!binary aGk=\n", "type-mismatch", Severity.ERROR, "fails"),
        ("[ls]\n    completion: !!binary aGk=\n", "type-mismatch", Severity.ERROR, "refused"),
        ("[ls]\n    completion: 2026-01-01\n", "type-mismatch", Severity.ERROR, "fails"),
        ("[ls]\n  other: 2026-01-01\n", "type-mismatch", Severity.ERROR, "refused"),
        ("[ls]\n  __proto__: 1\n", "invalid-task-role-name", Severity.ERROR, "fails"),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: {userssh: [type]}}\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "dies",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: {userssh: a}}\n",
            "plugin-parameter-type",
            Severity.WARNING,
            "ignored",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: {userssh: .nan}}\n",
            "plugin-parameter-type",
            Severity.WARNING,
            "ignored",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: {userssh: 1}}\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "dies",
        ),
        ('["echo a %>"]\n', "template-syntax", Severity.ERROR, "fails"),
        ('["<% $parameters.lr ", "<% $parameters.lr %>"]\n', "template-syntax", Severity.ERROR, "fails"),
        ("['<%=']\n", "template-syntax", Severity.ERROR, "refused"),
        (
            PLUGIN_OF_EXTRAS
            + "{plugin: cmd, parameters: {preCommands: ['<% $parameters.lr.a %>']}}\nparameters: {lr: 1}\n",
            "undefined-template-member",
            Severity.ERROR,
            "dies",
        ),
        ("[ls]\nextras: {com.microsoft.pai.runtimeplugin: ''}\n", "plugin-not-list", Severity.WARNING, "ignored"),
        ("[ls]\nextras: {com.microsoft.pai.runtimeplugin: 'a'}\n", "plugin-not-list", Severity.ERROR, "dies"),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: [jobssh: true]}\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "fails",
        ),
        (PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: [jobssh]}\n", "plugin-parameter-type", Severity.ERROR, "dies"),
        (PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: jobssh}\n", "plugin-parameter-type", Severity.ERROR, "dies"),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: jobssh}\n  gangAllocation: false\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "fails",
        ),
        (PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: a userssh}\n", "plugin-parameter-type", Severity.ERROR, "dies"),
        (PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: a}\n", "plugin-parameter-type", Severity.ERROR, "fails"),
        (
            PLUGIN_OF_EXTRAS + '{plugin: ssh, parameters: "\\ud83d\\ude00"}\n',
            "plugin-parameter-type",
            Severity.ERROR,
            "dies",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: ssh, parameters: '\\ud83d\\ude00'}\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "fails",
        ),
        (PLUGIN_OF_EXTRAS + "{plugin: tensorboard, parameters: a}\n", "plugin-parameter-type", Severity.ERROR, "dies"),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, parameters: {preCommands: [1]}}\n",
            "callback-command-not-text",
            Severity.ERROR,
            "dies",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, failurePolicy: ignore, parameters: {preCommands: [1]}}\n",
            "callback-command-not-text",
            Severity.WARNING,
            "fails",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, failurePolicy: ignore, parameters: {callbacks: [{event: taskStarts}]}}\n",
            "callback-incomplete",
            Severity.WARNING,
            "fails",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, parameters: {preCommands: ls}}\n",
            "callback-command-not-text",
            Severity.ERROR,
            "fails",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, parameters: {preCommands: [null, .inf]}}\n",
            "callback-command-not-text",
            Severity.ERROR,
            "fails",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, parameters: {callbacks: [{event: never}]}}\n",
            "callback-incomplete",
            Severity.ERROR,
            "fails",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: cmd, parameters: {callbacks: [{event: taskStarts}]}}\n",
            "callback-incomplete",
            Severity.ERROR,
            "dies",
        ),
        (
            "[ls]\nextras: {storages: [{name: nfs, mountPath: {a: b}}]}\n",
            "type-mismatch",
            Severity.ERROR,
            "fails",
        ),
        ("[ls]\nsecrets:\n  key: {{ key }}\n", "unquoted-template", Severity.ERROR, "fails"),
        ("[ls]\nparameters:\n  rate: {{ rate }}\n", "unquoted-template", Severity.ERROR, "dies"),
        ("[ls]\nparameters:\n  rate: {{ rate: {{ rate }} }}\n", "unquoted-template", Severity.ERROR, "dies"),
        ("[ls, {{ file }}]\n", "unquoted-template", Severity.ERROR, "refused"),
        (
            PLUGIN_OF_EXTRAS + "{plugin: teamwise_storage, parameters: }\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "refused",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: teamwise_storage, parameters: nfs}\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "fails",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: teamwise_storage, parameters: {storageConfigNames: [{name: nfs}]}}\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "refused",
        ),
        (
            PLUGIN_OF_EXTRAS + "{plugin: teamwise_storage, parameters: {storageConfigNames: nfs}}\n  storages: []\n",
            "plugin-parameter-type",
            Severity.ERROR,
            "fails",
        ),
    ],
)
def test_what_the_platform_does_with_it(after: str, code: str, severity: Severity, consequence: str) -> None:
    text = JOB.replace("[python train.py]\n", after, 1)
    found = {(one.severity, one.consequence.value) for one in Document(text).diagnostics if one.code == code}
    assert found == {(severity, consequence)}
