"""What is wrong with the shape of a job, in one sentence each; and the two ways of checking it agree."""

from __future__ import annotations

import copy
import datetime
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from budgets import generated_cases
from hypothesis import given
from hypothesis import strategies as st
from job_text import SMALL

from pai_lsp.platform._job_validator import PARTS, is_valid
from pai_lsp.platform.job_schema import read_schema, structural, structure_errors
from pai_lsp.platform.platforms import OPENPAI, platform_named
from pai_lsp.platform.structure_errors import schema_check
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.scalar import is_finite_whole, is_whole
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.platform.structure_errors import StructureError

ROOT = Path(__file__).parent.parent

FULL = """\
protocolVersion: "2"
name: everything-at_once
type: job
version: 1.5
contributor: Ada
description: all keys
prerequisites:
  - type: dockerimage
    protocolVersion: 2
    name: image
    version: "1"
    contributor: Ada
    description: the image
    uri: registry.example.com/python:3
    auth: {username: ada, password: <% $secrets.password %>, registryuri: registry.example.com, other: 1}
  - type: data
    name: mnist
    uri: [https://example.com/a, https://example.com/b]
    plugin: cmd
    require: [wget, {name: marketplace://name/curl, template_variables: {version: 8}}]
    template_variables: [{name: dataPath, description: where it goes}]
    plugin_params: {callbacks: [{event: taskStarts, commands: [ls]}]}
    requireStorages: [{name: nfs, mountPath: /mnt/nfs}]
    pathForUser: /data
  - type: script
    name: wget
    uri: somewhere
    plugin: com.microsoft.pai.runtimeplugin.cmd
    failurePolicy: ignore
    callbacks: [{event: taskStarts, commands: [apt-get install wget]}]
    anything: {else: [1, null, 2020-01-02]}
  - {type: output, name: out}
  - {type: storage, name: nfs}
parameters: {1: x, rate: 0.1, empty: }
secrets: {password: hunter2}
jobRetryCount: 1.0
taskRoles:
  worker:
    protocolVersion: 2
    instances: 1e1
    completion: {minFailedInstances: , minSucceededInstances: -1}
    taskRetryCount: -2
    prerequisites: [wget, marketplace://data/mnist]
    dockerImage: image
    data: mnist
    script: wget
    output: out
    extraContainerOptions: {shmMB: 64, infiniband: true, anything: 1}
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: -1, ports: {sync: 1, _a1: 0}}
    commands: [echo hi, ""]
  ps:
    dockerImage: image
    prerequisites: []
    resourcePerInstance: {cpu: .inf, memoryMB: 0x10, gpu: 1:30}
    commands: [echo hi]
deployments:
  - {name: prod, anything: 1, taskRoles: {worker: {preCommands: [a], postCommands: [b]}, ghost: {}}}
defaults: {virtualCluster: , deployment: prod, anything: 1}
extras:
  com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: true}}]
  storages: [{name: nfs}, {mountPath: /x}]
  gangAllocation: "false"
  hivedScheduler: {jobPriorityClass: crit, taskRoles: {worker: {skuType: K80}}}
  jobStatusChangeNotification: {running: true}
  reference_prerequisites: [{name: mnist, require: [marketplace://name/mnist]}]
  anything: 1
"""


def value_of(text: str) -> Any:
    return plain_value(parse(text).root)


def with_line(text: str, line: str, *, instead_of: str = "") -> str:
    """`text` with one line more at its end, or in the place of the line that begins so."""
    if not instead_of:
        return f"{text}{line}\n"
    lines = text.splitlines(keepends=True)
    place = next(number for number, old in enumerate(lines) if old.strip().startswith(instead_of))
    indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    lines[place] = f"{indent}{line}\n" if line else ""
    return "".join(lines)


@pytest.mark.parametrize("text", [SMALL, FULL], ids=["small", "full"])
def test_a_good_job_has_no_errors(text: str) -> None:
    assert structure_errors(value_of(text)) == ()


# Each row: a line, the line of the small job that it replaces (or none: it is added); the error: kind, place, key,
# message, expected.
WRONG: list[tuple[str, str, str, str, str | None, str, tuple[str, ...]]] = [
    # keys
    ("foo: 1", "", "unknown-key", "", "foo", "'foo' is not a key of a job", ()),
    ("extra: {}", "", "unknown-key", "", "extra", "'extra' is not a key of a job; did you mean 'extras'?", ("extras",)),
    ("gangAllocation: false", "", "unknown-key", "", "gangAllocation",
     "'gangAllocation' is not a key of a job but of 'extras'", ()),
    ("commands: [ls]", "", "unknown-key", "", "commands", "'commands' is not a key of a job but of a task role", ()),
    ("jobName: x", "name:", "v1-job-key", "", "jobName",
     "'jobName' is a key of protocol version 1; version 2 has 'name'", ("name",)),
    ("virtualCluster: x", "", "v1-job-key", "", "virtualCluster",
     "'virtualCluster' is a key of protocol version 1; version 2 has 'defaults.virtualCluster'", ()),
    ("dockerimage: image", "dockerImage:", "unknown-key", "taskRoles.worker", "dockerimage",
     "'dockerimage' is not a key of a task role; did you mean 'dockerImage'?", ("dockerImage",)),
    ("command: echo hi", "commands:", "v1-job-key", "taskRoles.worker", "command",
     "'command' is a key of protocol version 1; version 2 has 'commands'", ("commands",)),
    ("completion: {minFailedInstance: 1}", "", "unknown-key", "taskRoles.worker.completion", "minFailedInstance",
     "'minFailedInstance' is not a key of 'completion'; did you mean 'minFailedInstances'?",
     ("minFailedInstances",)),
    ("- {type: dockerimage, name: image, uri: a, plugin: b}", "- {type", "dockerimage-extra-key", "prerequisites.0",
     "plugin", "'plugin' is not a key of a dockerimage prerequisite", ()),
    ("extraContainerOptions: {additionalProperties: 1}", "", "unknown-key", "taskRoles.worker.extraContainerOptions",
     "additionalProperties", "'additionalProperties' is not a key of 'extraContainerOptions'", ()),
    ("", "name:", "missing-key", "", "name", "a job needs the key 'name'", ()),
    ("", "commands:", "missing-key", "taskRoles.worker", "commands", "task role 'worker' needs the key 'commands'", ()),
    ("resourcePerInstance: {cpu: 1, memoryMB: 1}", "resourcePerInstance:", "missing-key",
     "taskRoles.worker.resourcePerInstance", "gpu", "'resourcePerInstance' needs the key 'gpu'", ()),
    ("- {type: dockerimage, name: image}", "- {type", "missing-key", "prerequisites.0", "uri",
     "dockerimage prerequisite 'image' needs the key 'uri'", ()),
    ("- {name: image, uri: python}", "- {type", "missing-key", "prerequisites.0", "type",
     "prerequisite 'image' needs the key 'type'", ()),
    ("deployments: [{taskRoles: {worker: {}}}]", "", "missing-key", "deployments.0", "name",
     "a deployment needs the key 'name'", ()),
    # types
    ('resourcePerInstance: {cpu: "4", memoryMB: 1, gpu: 0}', "resourcePerInstance:", "type-mismatch",
     "taskRoles.worker.resourcePerInstance.cpu", None, "'cpu' must be an integer, not the string '4'", ("4",)),
    ("resourcePerInstance: {cpu: 0.5, memoryMB: 1, gpu: 0}", "resourcePerInstance:", "type-mismatch",
     "taskRoles.worker.resourcePerInstance.cpu", None, "'cpu' must be an integer, not the number 0.5", ()),
    ("resourcePerInstance: {cpu: true, memoryMB: 1, gpu: 0}", "resourcePerInstance:", "type-mismatch",
     "taskRoles.worker.resourcePerInstance.cpu", None, "'cpu' must be an integer, not true", ()),
    ("resourcePerInstance: {cpu: .nan, memoryMB: 1, gpu: 0}", "resourcePerInstance:", "type-mismatch",
     "taskRoles.worker.resourcePerInstance.cpu", None, "'cpu' must be an integer, not the number nan", ()),
    ("instances: 'two'", "", "type-mismatch", "taskRoles.worker.instances", None,
     "'instances' must be an integer, not the string 'two'", ()),
    ("instances:", "", "type-mismatch", "taskRoles.worker.instances", None,
     "'instances' has no value; it must be an integer", ()),
    ("commands: echo hi", "commands:", "type-mismatch", "taskRoles.worker.commands", None,
     "'commands' must be a list, not the string 'echo hi'", ()),
    ("commands: [1]", "commands:", "type-mismatch", "taskRoles.worker.commands.0", None,
     "a command must be a string, not the number 1; quote it", ()),
    ('commands: ["ls", {echo a: b}]', "commands:", "type-mismatch", "taskRoles.worker.commands.1", None,
     "a command must be a string, not a mapping; quote all of it", ()),
    ("commands: [2020-01-02]", "commands:", "type-mismatch", "taskRoles.worker.commands.0", None,
     "a command must be a string, not a date; quote it", ()),
    ("commands: [[ls]]", "commands:", "type-mismatch", "taskRoles.worker.commands.0", None,
     "a command must be a string, not a list", ()),
    ("version: 2020-01-02", "", "type-mismatch", "version", None,
     "'version' must be a string or a number, not a date; quote it", ()),
    ("- {type: data, name: image, uri: [ok, 1]}", "- {type", "type-mismatch", "prerequisites.0.uri.1", None,
     "item 2 of 'uri' must be a string, not the number 1; quote it", ()),
    ("- {type: data, name: image, uri: python}", "- {type", "type-mismatch", "prerequisites.0.uri", None,
     "'uri' must be a list, not the string 'python'", ()),
    ("- {type: dockerimage, name: image, uri: [python]}", "- {type", "type-mismatch", "prerequisites.0.uri", None,
     "'uri' must be a string, not a list", ()),
    ("extras: {storages: {nfs: /mnt}}", "", "type-mismatch", "extras.storages", None,
     "'storages' must be a list, not a mapping", ()),
    # sections
    ("parameters:", "", "empty-section", "parameters", None, "'parameters' has no value; it must be a mapping", ()),
    ("deployments: []", "", "empty-section", "deployments", None,
     "'deployments' is empty; it needs at least one item", ()),
    ("resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0, ports: {}}", "resourcePerInstance:", "empty-section",
     "taskRoles.worker.resourcePerInstance.ports", None, "'ports' is empty; it needs at least one key", ()),
    ("resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0, ports: [http]}", "resourcePerInstance:", "ports-not-mapping",
     "taskRoles.worker.resourcePerInstance.ports", None, "'ports' must be a mapping, not a list", ()),
    ("deployments: [{name: a, taskRoles: [worker]}]", "", "taskroles-not-mapping", "deployments.0.taskRoles", None,
     "'taskRoles' must be a mapping, not a list", ()),
    # choices, names, ranges
    ("protocolVersion: 3", "protocolVersion:", "invalid-enum", "protocolVersion", None,
     "'protocolVersion' must be 2, not the number 3", ("2",)),
    ("type: jobs", "type: job", "invalid-enum", "type", None, "'type' must be 'job', not the string 'jobs'", ("job",)),
    ("- {type: docker, name: image, uri: [1], plugin: 5}", "- {type", "invalid-enum", "prerequisites.0.type", None,
     ("'type' must be 'dockerimage', 'data', 'script' or 'output' ('storage' needs expansion), "
      "not the string 'docker'; did you mean 'dockerimage'?"), ("dockerimage", "data", "script", "output", "storage")),
    ("name: a.b", "name:", "invalid-job-name", "name", None,
     "'name' may contain only letters, digits, '_' and '-', unlike 'a.b'", ("a-b",)),
    ("name: ''", "name:", "invalid-job-name", "name", None, "'name' is empty", ()),
    (f"name: {'x' * 256}", "name:", "invalid-job-name", "name", None,
     "'name' has 256 characters; at most 255 are allowed", ()),
    ("- {type: dockerimage, name: my image, uri: python}", "- {type", "invalid-prerequisite-name",
     "prerequisites.0.name", None, "'name' may contain only letters, digits, '_' and '-', unlike 'my image'",
     ("my-image",)),
    ("resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0, ports: {a-b: 1}}", "resourcePerInstance:", "invalid-name",
     "taskRoles.worker.resourcePerInstance.ports", "a-b",
     "the port label 'a-b' may contain only letters, digits and '_', without a digit first", ("a_b",)),
    ("resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0, ports: {__proto__: 1}}", "resourcePerInstance:",
     "invalid-name", "taskRoles.worker.resourcePerInstance.ports", "__proto__",
     "the port label '__proto__' is lost when the server reads the file", ()),
    ("deployments: [{name: d, taskRoles: {__proto__: {preCommands: [ls]}}}]", "",
     "invalid-name", "deployments.0.taskRoles", "__proto__",
     "the task role '__proto__' is lost when the server reads the file", ()),
    ("instances: 0", "", "out-of-range", "taskRoles.worker.instances", None,
     "'instances' must be at least 1, not 0", ("1",)),
    ("jobRetryCount: -1", "", "out-of-range", "jobRetryCount", None,
     "'jobRetryCount' must be at least 0, not -1", ("0",)),
    # the extension's own keys
    ("- {type: script, name: image, require: python}", "- {type", "type-mismatch", "prerequisites.0.require", None,
     "'require' must be a list, not the string 'python'", ()),
    ("- {type: script, name: image, require: [{nam: a}]}", "- {type", "unknown-key", "prerequisites.0.require.0", "nam",
     "'nam' is not a key of a requirement; did you mean 'name'?", ("name",)),
    ("- {type: script, name: image, template_variables: {a: b}}", "- {type", "type-mismatch",
     "prerequisites.0.template_variables", None, "'template_variables' must be a list, not a mapping", ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "instead_of", "kind", "place", "key", "message", "expected"),
    WRONG,
    ids=[row[0][:60] or f"no {row[1]}" for row in WRONG],
)
def test_one_mistake_gives_one_error(
    line: str, instead_of: str, kind: str, place: str, key: str | None, message: str, expected: tuple[str, ...]
) -> None:
    # The content of the task role ends at its last line, the end of the small job.
    within = place.startswith("taskRoles.worker") and not instead_of
    errors = structure_errors(value_of(with_line(SMALL, f"    {line}" if within else line, instead_of=instead_of)))
    path = tuple(int(step) if step.isdigit() else step for step in place.split(".") if step)
    assert [(e.kind, e.path, e.key, e.message, e.expected) for e in errors] == [(kind, path, key, message, expected)]


@pytest.mark.parametrize("text", ["", "[]", "just text", "~"])
def test_a_file_that_is_no_mapping(text: str) -> None:
    (error,) = structure_errors(value_of(text))
    assert (error.kind, error.path, error.types) == ("type-mismatch", (), ("object",))


def test_a_wrong_type_says_which_would_be_right() -> None:
    (error,) = structure_errors(value_of(with_line(SMALL, "version: true")))
    assert error.types == ("string", "number")


def test_task_roles_that_are_no_mapping() -> None:
    job = value_of(SMALL)
    for wrong in ([], ["worker"], "worker", 1):
        (error,) = structure_errors({**job, "taskRoles": wrong})
        assert error.kind == "taskroles-not-mapping"


def test_several_mistakes_are_all_found() -> None:
    text = with_line(with_line(SMALL, "foo: 1"), "commands: ls", instead_of="commands:")
    text = with_line(text, "- {type: docker, name: image, uri: python}", instead_of="- {type")
    assert {error.kind for error in structure_errors(value_of(text))} == {
        "unknown-key",
        "type-mismatch",
        "invalid-enum",
    }


@pytest.mark.parametrize(
    ("line", "instead_of"),
    [
        ("secrets: s3cret", ""),
        ("- {type: dockerimage, name: image, uri: a, auth: 's3cret'}", "- {type"),
        ("- {type: dockerimage, name: image, uri: a, auth: {password: {s3cret: 1}}}", "- {type"),
        ("- {type: dockerimage, name: image, uri: a, auth: {password: 12345}}", "- {type"),
    ],
)
def test_a_secret_is_never_shown(line: str, instead_of: str) -> None:
    errors = structure_errors(value_of(with_line(SMALL, line, instead_of=instead_of)))
    assert len(errors) == 1
    assert not re.search("s3cret|12345", repr(errors))


def test_long_values_are_cut_short() -> None:
    (error,) = structure_errors(value_of(with_line(SMALL, f"jobRetryCount: '{'many ' * 50}'")))
    assert len(error.message) < 120


def test_a_name_may_not_end_with_a_line_end() -> None:
    assert [e.kind for e in structure_errors({**value_of(SMALL), "name": "mnist\n"})] == ["invalid-job-name"]


@pytest.mark.parametrize("name", ["toString", "constructor", "__proto__"])
def test_keys_of_javascript_objects_are_unknown_like_others(name: str) -> None:
    assert [e.kind for e in structure_errors({**value_of(SMALL), name: 1})] == ["unknown-key"]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("name: mnist", []),
        ("- name: mnist\n- name: wget\n  plugin: cmd\n  callbacks: []", []),
        ("{name: mnist, type: data, uri: [a], title: MNIST, summary: digits}", []),
        ("{type: data}", ["a definition needs the key 'name'"]),
        ("[{name: mnist, type: datum}]",
         [("'type' must be 'data', 'script', 'output', 'dockerimage' or 'storage', not the string 'datum'; "
           "did you mean 'data'?")]),
        ("{name: a, requireStorages: [{name: 1}]}", ["'name' must be a string, not the number 1; quote it"]),
        ("{name: a, type: dockerimage}", ["a dockerimage definition needs the key 'uri'"]),
        ("[mnist]", ["a definition must be a mapping, not the string 'mnist'"]),
        ("mnist", ["a definition file must be a mapping or a list, not the string 'mnist'"]),
    ],
)  # fmt: skip
def test_definitions(text: str, errors: list[str]) -> None:
    assert [error.message for error in structure_errors(value_of(text), "definition")] == errors


# The generated check and jsonschema, which must always agree.


PLATFORMS = [OPENPAI, platform_named("ltp")]
CHECK = schema_check(structural(read_schema("job")), is_finite_whole)
CHECKS = [
    schema_check(structural(read_schema("job", one)), is_whole if one.takes_infinite_integers else is_finite_whole)
    for one in PLATFORMS
]
STARTS = [value_of(SMALL), value_of(FULL)]
NAMES = [
    "name",
    "type",
    "uri",
    "job",
    "data",
    "dockerimage",
    "cpu",
    "worker",
    "__proto__",
    "foo",
    "a-b",
    "x\n",
    "1a",
    "",
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([1.0, 0.5, -1.0, 1e300, float("inf"), float("-inf"), float("nan"), 2.0, 10**30]),
    st.sampled_from([*NAMES, "2", "script", "output", "storage", "echo hi", "ünï", "x" * 256, "\U0001f600"]),
    st.just(datetime.date(2020, 1, 2)),
    st.builds(object),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


def containers(value: Any) -> Iterator[Any]:
    """All mappings and lists in a value that hold something."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


@st.composite
def edited_jobs(draw: st.DrawFn) -> Any:
    """A good job after a few random changes: values replaced, keys and items removed or added."""
    job = copy.deepcopy(draw(st.sampled_from(STARTS)))
    for _ in range(draw(st.integers(1, 3))):
        container = draw(st.sampled_from(list(containers(job)) or [job]))
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if isinstance(container, dict):
            key = draw(st.sampled_from([*container, *NAMES[:1]]))
            if change == "remove":
                container.pop(key, None)
            else:
                container[key if change == "replace" else draw(st.sampled_from(NAMES))] = draw(VALUES)
        elif change == "remove":
            container.pop()
        else:
            container.append(draw(VALUES))
    return job


def place_of(value: Any, error: StructureError) -> Any:
    for step in error.path:
        value = value[step]
    return value


def check_agreement(value: Any) -> None:
    assert is_valid(value, "#/$defs/openpai") == (
        not list(CHECK(value))
    )  # it never takes an infinite number for an integer
    for platform, check in zip(PLATFORMS, CHECKS, strict=True):
        check_errors(value, structure_errors(value, platform=platform), is_right=not list(check(value)))


def check_errors(value: Any, errors: tuple[StructureError, ...], *, is_right: bool) -> None:
    assert (errors == ()) == is_right
    assert len({(error.path, error.key) for error in errors}) == len(errors)
    for error in errors:
        place = place_of(value, error)
        assert error.key is None or (error.key in place) == (error.kind != "missing-key")
        assert re.match(r"('|[a-z])", error.message)
        assert not error.message.endswith(".")


@generated_cases(300)
@given(edited_jobs())
def test_both_ways_agree_on_edited_jobs(job: Any) -> None:
    check_agreement(job)


@generated_cases(100)
@given(VALUES)
def test_both_ways_agree_on_anything(value: Any) -> None:
    check_agreement(value)


def test_every_definition_has_a_fast_check() -> None:
    assert set(PARTS) == {f"#/$defs/{name}" for name in (*read_schema("job")["$defs"], "openpai", "ltp")}


def test_without_the_generated_check_the_answers_are_the_same() -> None:
    code = (
        "import sys; sys.modules['pai_lsp.platform._job_validator'] = None\n"
        "from pai_lsp.platform.job_schema import structure_errors\n"
        "print(structure_errors({'name': 'a', 'taskRoles': {'w': {'commands': 1.5}}}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == str(structure_errors({"name": "a", "taskRoles": {"w": {"commands": 1.5}}}))
    assert "'commands'" in run.stdout


def test_what_stands_for_the_compiled_part_of_jsonschema_in_the_browser_gives_the_same() -> None:
    code = (
        "import sys; sys.path.insert(0, 'docs/playground'); import rpds; assert 'playground' in rpds.__file__\n"
        "from pai_lsp.platform.job_schema import structure_errors\n"
        "print(structure_errors({'name': 'a', 'taskRoles': {'w': {'commands': 1.5}}}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)
    assert run.stdout.strip() == str(structure_errors({"name": "a", "taskRoles": {"w": {"commands": 1.5}}}))


def test_the_generated_check_is_cheap_to_import() -> None:
    text = (ROOT / "pai_lsp" / "platform" / "_job_validator.py").read_text(encoding="utf-8")
    imports = re.findall(r"^ *(?:import|from) .*$", text, re.MULTILINE)
    assert imports == ["import re"]
