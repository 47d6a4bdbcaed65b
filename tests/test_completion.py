"""Completion: what is offered where, in whole, half-typed and broken text, and the text after accepting it."""

# ruff: noqa: E501 - a table reads best in long lines

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from budgets import some
from marks import read_cursor

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.completion.complete import complete
from pai_lsp.source.text import apply_edits

if TYPE_CHECKING:
    from pai_lsp.ide.completion.suggestion import Suggestion

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
  - type: script
    name: prepare
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskStarts
        commands: [echo hello]
  - type: data
    name: dataset
    uri: [https://example.com/a.zip, https://example.com/b.zip]
parameters:
  epochs: 10
  nested: {rate: '0.1'}
secrets:
  token: very-secret
deployments:
  - name: prod
    taskRoles:
      worker:
        preCommands: [echo before]
"""

ROLE = """\
taskRoles:
  worker:
    instances: 2
    data: dataset
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0, ports: {sync: 1}}
"""


def in_role(line: str) -> str:
    return f"{JOB}{ROLE}    {line}\n    commands: [echo hi]\n"


def in_commands(line: str) -> str:
    return f"{JOB}{ROLE}    dockerImage: image\n    commands:\n{line}\n"


def at_end(text: str) -> str:
    return f"{JOB}{ROLE}    dockerImage: image\n    commands: [echo hi]\n{text}\n"


def requiring(item: str) -> str:
    """A definition that requires `prepare`: both it and `dataset`, which is not required, have template variables."""
    job = JOB.replace(
        "    name: prepare\n", "    name: prepare\n    template_variables: [{name: path}, {name: mode}]\n"
    )
    job = job.replace("    name: dataset\n", "    name: dataset\n    template_variables: [{name: other}]\n")
    definition = f"  - type: output\n    name: result\n    require:\n      - {item}\n"
    return job.replace("parameters:\n", f"{definition}parameters:\n") + ROLE


# name, text, what must be offered, what must not
CONTEXTS = [
    ("option", in_commands("      - torchrun --nn$0 train.py"), ["--nnodes"], ["--node-rank"]),
    ("option, other program", in_commands("      - mpirun -np 2 --hos$0"), ["--hostfile", "--host"], ["-hostfile", "--nnodes"]),
    ("option, of two letters", in_commands("      - mpirun --n$0"), ["--np"], ["-np", "-n"]),
    ("option after a line", in_commands("      - |\n        cd a\n        pip install --no-c$0"), ["--no-cache-dir"], []),
    ("option of the script", in_commands("      - torchrun train.py --nn$0"), [], ["--nnodes"]),
    ("option of another program", in_commands("      - echo --nn$0"), [], ["--nnodes"]),
    ("rank", in_commands("      - torchrun --node_rank $0 train.py"), ["$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"], ["2"]),
    ("rank, begun", in_commands("      - torchrun --node_rank=$PAI$0 train.py"), ["$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"], []),
    ("nodes", in_commands("      - torchrun --nnodes $0"), ["2", "$PAI_TASK_ROLE_TASK_COUNT_worker"], []),
    ("master", in_commands("      - accelerate launch --main_process_ip $0"), ["$PAI_HOST_IP_worker_0"], []),
    ("master's port", in_commands("      - torchrun --master_port $0"), ["$PAI_PORT_LIST_worker_0_sync"], []),
    ("hosts", in_commands("      - mpirun -np 2 -H $0"), ["worker-0,worker-1"], []),
    ("role keys", in_role("$0"), ["dockerImage", "prerequisites", "completion"], ["data", "instances", "gpu"]),
    ("role keys, typing", in_role("docker$0"), ["dockerImage"], ["instances"]),
    ("role keys, changing", in_role("dockerIm$0: x"), ["dockerImage"], ["instances"]),
    ("top keys", at_end("$0"), ["extras", "defaults"], ["name", "taskRoles", "dockerImage"]),
    ("nested keys, own line", in_role("completion:\n      $0"), ["minFailedInstances"], ["instances"]),
    ("nested keys, same line", in_role("completion: $0"), ["minSucceededInstances"], []),
    ("nested keys, at the colon", in_role("completion:$0"), ["minSucceededInstances"], []),
    ("nested keys, flow", in_role("completion: {$0}"), ["minFailedInstances"], []),
    ("image", in_role("dockerImage: $0"), ["image"], ["dataset", "prepare"]),
    ("image, at the colon", in_role("dockerImage:$0"), ["image"], ["dataset"]),
    ("image, quoted", in_role("dockerImage: 'im$0'"), ["image"], []),
    ("image, open quote", in_role("dockerImage: 'im$0"), ["image"], []),
    ("script", in_role("script: $0"), ["prepare"], ["image", "dataset"]),
    ("prerequisites, flow", in_role("prerequisites: [$0]"), ["prepare", "dataset"], ["image"]),
    ("prerequisites, open flow", in_role("prerequisites: [$0"), ["prepare", "dataset"], ["image"]),
    ("prerequisites, dash", in_role("prerequisites:\n      - $0"), ["prepare"], ["image"]),
    ("prerequisites, next line", in_role("prerequisites:\n      - prepare\n      $0"), ["dataset"], ["image"]),
    ("prerequisites, no list yet", in_role("prerequisites: $0"), ["prepare"], ["image"]),
    ("require", JOB.replace("  - type: data", "  - require: [$0]\n    type: data") + ROLE, ["prepare"], ["dataset", "image"]),
    ("event", JOB.replace("taskStarts", "task$0"), ["taskStarts", "taskSucceeds", "taskFails"], []),
    ("plugin of a prerequisite", JOB.replace("plugin: com.microsoft.pai.runtimeplugin.cmd", "plugin: $0"),
     ["com.microsoft.pai.runtimeplugin.cmd"], ["cmd"]),
    ("plugin of extras", at_end("extras:\n  com.microsoft.pai.runtimeplugin:\n    - plugin: $0"), ["ssh", "cmd"], []),
    ("plugins of extras", at_end("extras:\n  com.microsoft.pai.runtimeplugin:\n    $0"), ["ssh plugin"], []),
    ("plugin parameters",
     at_end("extras:\n  com.microsoft.pai.runtimeplugin:\n    - plugin: ssh\n      parameters:\n        $0"),
     ["jobssh", "sshbarrier"], ["repo_uri"]),
    ("roles of a plugin", at_end("extras:\n  com.microsoft.pai.runtimeplugin:\n    - {plugin: ssh, taskroles: [$0]}"),
     ["worker"], []),
    ("deployment", at_end("defaults:\n  deployment: $0"), ["prod"], []),
    ("boolean", at_end("extras:\n  gangAllocation: $0"), ["true", "false"], []),
    ("type", JOB.replace("  - type: data", "  - type: $0"), ["dockerimage", "data", "script", "output"], []),
    ("prerequisite", JOB.replace("parameters:", "  - $0\nparameters:"), ["type", "docker image", "data", "script"], []),
    ("task role", f"{JOB}{ROLE}  $0\n", ["task role"], ["worker"]),
    ("parameter in commands", in_commands("      - python <% $parameters.$0 %>"),
     ["$parameters.epochs", "$parameters.nested.rate", "$data.uri[0]", "$secrets.token"], ["$script.name"]),
    ("parameter in a block", in_commands("      - |\n        cd x\n        python <% $0"), ["$parameters.epochs"], []),
    ("template, nothing to name", "prerequisites: []\ntaskRoles:\n  worker:\n    commands:\n      - ls <% $0\n",
     ["$parameters", "$secrets"], []),
    ("this", JOB.replace("  - type: script", "  - {name: base, type: data, folder: /x, gone: }\n  - type: script", 1)
     .replace("commands:", "commands: [ls <% this.$0 %>]\n        more:", 1)
     .replace("    plugin: com", "    require: [base]\n    server: {host: a}\n    plugin: com", 1),
     ["this.server.host", "this.folder"], ["this.gone", "this.callbacks"]),
    ("secret in auth", JOB.replace("  - type: script", "    auth: {password: <% $0 %>}\n  - type: script"),
     ["$secrets.token"], ["$parameters.epochs"]),
    ("variable", in_commands("      - echo $PAI_$0"),
     ["PAI_HOST_IP_worker_1", "PAI_PORT_LIST_worker_0_sync", "PAI_PORT_LIST_worker_0_ssh", "PAI_JOB_NAME"],
     ["PAI_HOST_IP_worker_2", "PAI_DATA_DIR"]),
    ("variable in braces", in_commands("      - echo ${PAI_$0}"), ["PAI_TASK_ROLE_COUNT"], []),
    ("undefined parameter", (in_commands("      - echo <% $parameters.rate %>")).replace("parameters:", "parameters:\n  $0", 1),
     ["rate"], ["epochs"]),
    ("template variable",
     at_end("extras:\n  reference_prerequisites:\n    - name: x\n      plugin: cmd\n      template_variables: [{name: path}]\n"
            "      plugin_params:\n        callbacks:\n          - event: taskStarts\n            commands: ['ls {{ $0 }}']"),
     ["path"], []),
    ("template variables to fill", requiring("{name: prepare, template_variables: {$0}}"), ["path", "mode"], ["other"]),
    ("template variables to fill, own lines", requiring("name: prepare\n        template_variables:\n          $0"),
     ["path", "mode"], ["other"]),
    ("template variables to fill, one filled", requiring("{name: prepare, template_variables: {path: /x, $0}}"),
     ["mode"], ["path"]),
    ("template variables to fill, no name", requiring("{template_variables: {$0}}"), [], ["path", "mode", "other"]),
    ("empty file", "$0", ["job", "pytorch job", "distributed job", "protocolVersion"], []),
]  # fmt: skip
BROKEN = "broken: [\n"


def offered(text: str) -> tuple[str, list[Suggestion]]:
    plain, offset = read_cursor(text)
    return plain, complete(Document(plain), offset)


def variants(text: str) -> dict[str, str]:
    """The text as it is, cut after the cursor's line, and with a fault somewhere else."""
    end = text.index("\n", text.index("$0")) if "\n" in text[text.index("$0") :] else len(text)
    return {"whole": text, "half-typed": text[:end], "with a fault elsewhere": BROKEN + text}


CASES = [
    pytest.param(variant, wanted, unwanted, id=f"{name}, {kind}")
    for name, text, wanted, unwanted in CONTEXTS
    for kind, variant in variants(text).items()
    if not (name == "empty file" and kind != "whole")
    # These offer names that are defined after the cursor, where the half-typed text ends.
    if not (name in {"secret in auth", "undefined parameter"} and kind == "half-typed")
]


@pytest.mark.parametrize(("text", "wanted", "unwanted"), CASES)
def test_offers(text: str, wanted: list[str], unwanted: list[str]) -> None:
    _, found = offered(text)
    labels = [suggestion.label for suggestion in found]
    assert [label for label in wanted if label not in labels] == []
    assert [label for label in unwanted if label in labels] == []
    assert len(labels) == len(set(labels)) or len({(s.label, s.kind) for s in found}) == len(found)


def faults(text: str) -> int:
    return sum(d.severity is Severity.ERROR and d.code == "yaml-syntax" for d in Document(text).diagnostics)


@pytest.mark.parametrize(("text", "wanted", "unwanted"), some(CASES))
def test_accepting_leaves_valid_yaml(text: str, wanted: list[str], unwanted: list[str]) -> None:
    del unwanted
    plain, found = offered(text)
    before = faults(plain)
    for suggestion in found:
        if suggestion.label in wanted:
            after = apply_edits(plain, [suggestion.edit])
            assert faults(after) <= before, f"{suggestion.label} leaves\n{after}"


@pytest.mark.parametrize(
    ("text", "label", "line"),
    [
        (in_role("dockerIm$0"), "dockerImage", "    dockerImage: "),
        (in_role("dockerIm$0: image"), "dockerImage", "    dockerImage: image"),
        (in_role("prerequisi$0"), "prerequisites", "    prerequisites: []"),
        (in_role("dockerImage:$0"), "image", "    dockerImage: image"),
        (in_role("prerequisites: [prepare, $0"), "dataset", "    prerequisites: [prepare, dataset]"),
        (in_role("prerequisites: [prepare,$0]"), "dataset", "    prerequisites: [prepare, dataset]"),
        (in_role("prerequisites: [other,$0 prepare]"), "dataset", "    prerequisites: [other, dataset, prepare]"),
        (in_role("prerequisites: [$0 prepare]"), "dataset", "    prerequisites: [dataset, prepare]"),
        (in_role("prerequisites: [$0prep]"), "prepare", "    prerequisites: [prepare]"),
        (in_role("prerequisites:\n      - prepare\n      $0"), "dataset", "      - dataset"),
        (in_role("prerequisites: $0"), "prepare", "    prerequisites: [prepare]"),
        (in_role("dockerImage: 'im$0"), "image", "    dockerImage: 'image'"),
        (in_commands("      - python <% $par$0"), "$parameters.epochs", "      - python <% $parameters.epochs %>"),
        (
            "taskRoles:\n  worker:\n    commands:\n      - ls <% $par$0",
            "$parameters",
            "      - ls <% $parameters.name %>",
        ),
        (in_commands("      - python <%$0 %>"), "$parameters.epochs", "      - python <% $parameters.epochs %>"),
        (in_commands("      - echo ${PAI_J$0"), "PAI_JOB_NAME", "      - echo ${PAI_JOB_NAME}"),
        (in_commands("      - echo $$0"), "<% $parameters.epochs %>", "      - echo <% $parameters.epochs %>"),
    ],
)
def test_the_line_after_accepting(text: str, label: str, line: str) -> None:
    plain, found = offered(text.replace("$$0", "$\0").replace("$0", "\1").replace("$\0", "$$0").replace("\1", "$0"))
    suggestion = next(one for one in found if one.label == label)
    after = apply_edits(plain, [suggestion.edit])
    assert line in after.split("\n")


def test_names_already_listed_come_last() -> None:
    _, found = offered(in_role("prerequisites: [prepare, $0]"))
    assert [one.label for one in found][:2] == ["dataset", "prepare"]


def test_a_name_comes_before_those_that_begin_with_it() -> None:
    _, found = offered(in_role("prerequisites: [$0]").replace("name: prepare", "name: dataset_small", 1))
    assert [one.label for one in found] == ["dataset", "dataset_small"]


def test_a_whole_role_is_sound_as_it_comes() -> None:
    plain, found = offered(f"{JOB}taskRoles:\n  $0\n")
    role = next(one for one in found if one.label == "task role")
    after = Document(apply_edits(plain, [role.edit]))
    assert [d.message for d in after.diagnostics if d.severity is Severity.ERROR] == []


@pytest.mark.parametrize("name", ["job", "pytorch job", "distributed job"])
def test_a_whole_job_is_sound_as_it_comes(name: str) -> None:
    plain, found = offered("$0")
    job = next(one for one in found if one.label == name)
    after = Document(apply_edits(plain, [job.edit]))
    assert [d.message for d in after.diagnostics if d.severity <= Severity.WARNING] == []
    assert job.snippet is not None


def test_no_secret_is_shown() -> None:
    _, found = offered(in_commands("      - echo <% $secrets.$0 %>"))
    assert found
    assert "very-secret" not in repr(found)


@pytest.mark.parametrize("text", ["# com$0", in_role("# dockerI$0"), "[$0"])
def test_nothing_is_offered(text: str) -> None:
    assert offered(text)[1] == []


PATHS = """\
protocolVersion: 2
name: paths
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "ubuntu:20.04"}
  - name: mnist
    type: data
    pathForUser: "/dataset/{{ name }}"
    template_variables: [{name: name}]
  - {name: top, type: script, require: [{name: mnist, template_variables: {name: digits}}]}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [top]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - LINE
  other:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - OTHER
"""


@pytest.mark.parametrize("typed", ["ls /", "ls /da", "ls --from=/dataset", "ls '/dataset/d"])
def test_the_path_of_a_prerequisite_in_a_command(typed: str) -> None:
    closing = "'" if "'" in typed else ""
    text = PATHS.replace("LINE", f"{typed}$0{closing}").replace("OTHER", "ls")
    plain, offset = read_cursor(text)
    (one,) = complete(Document(plain, path="a.pai.yaml"), offset)
    assert (one.label, one.detail) == ("/dataset/digits", "content of mnist")
    begin = typed[: typed.index("/")]
    assert f"      - {begin}/dataset/digits{closing}\n" in apply_edits(plain, [one.edit])


@pytest.mark.parametrize("typed", ["ls a/da", "ls /tmp", "ls /dataset/digits", "ls $HOME/da"])
def test_no_path_where_none_fits(typed: str) -> None:
    plain, offset = read_cursor(PATHS.replace("LINE", f"{typed}$0").replace("OTHER", "ls"))
    assert complete(Document(plain, path="a.pai.yaml"), offset) == []


def test_no_path_in_a_role_without_the_prerequisite() -> None:
    plain, offset = read_cursor(PATHS.replace("OTHER", "ls /da$0").replace("LINE", "ls"))
    assert complete(Document(plain, path="a.pai.yaml"), offset) == []
