"""The schemas: what they say of each key, and that they are whole and right themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from job_text import SMALL
from jsonschema import Draft202012Validator

from pai_lsp.platform.job_schema import (
    Field,
    Kind,
    field,
    fields,
    published_schema,
    structure_errors,
)
from pai_lsp.platform.platforms import OPENPAI
from pai_lsp.platform.tables import events, table
from pai_lsp.source.nodes import plain_value
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PLUGINS = "com.microsoft.pai.runtimeplugin"


class Beside(TypedDict, total=False):
    """The keys beside a key that decide its meaning."""

    prerequisite_type: str
    plugin: str


def keys(found: list[Field]) -> str:
    return " ".join(f"{entry.key}{'*' * entry.required}" for entry in found)


JOB = "version contributor description jobRetryCount prerequisites parameters secrets deployments defaults extras"
ROLE = "instances completion taskRetryCount prerequisites data script output extraContainerOptions protocolVersion"
GIT: Beside = {"prerequisite_type": "script", "plugin": f"{PLUGINS}.git"}
COMMON = "protocolVersion version contributor description"
ACTING = "plugin require failurePolicy plugin_params template_variables requireStorages pathForUser"
CMD = "callbacks preCommands postCommands"


@pytest.mark.parametrize(
    ("path", "beside", "expected"),
    [
        ((), {}, f"protocolVersion* name* type* taskRoles* {JOB}"),
        (("taskRoles", "any"), {}, f"dockerImage* resourcePerInstance* commands* {ROLE}"),
        (("taskRoles", "any", "resourcePerInstance"), {}, "cpu* memoryMB* gpu* ports"),
        (("taskRoles", "any", "extraContainerOptions"), {}, "shmMB infiniband"),
        (("prerequisites", 3), {"prerequisite_type": "dockerimage"}, f"type* name* uri* {COMMON} auth"),
        (("prerequisites", 0), {"prerequisite_type": "data"}, f"type* name* {COMMON} uri {ACTING} {CMD}"),
        (("prerequisites", 0), GIT, f"type* name* {COMMON} uri {ACTING} repo_uri options clone_dir"),
        (("prerequisites", 0), {}, f"type* name* {COMMON} uri auth {ACTING} {CMD}"),
        (("prerequisites", 0, "callbacks", 1), {"prerequisite_type": "script"}, "event* commands*"),
        (("prerequisites", 0, "plugin_params", "callbacks", 1), {"prerequisite_type": "script"}, "event* commands*"),
        (("prerequisites", 0, "require", 0), {"prerequisite_type": "output"}, "name* template_variables"),
        (("extras", PLUGINS, 0), {}, "plugin* parameters failurePolicy taskroles hook"),
        (("extras", PLUGINS, 0, "parameters"), {"plugin": "tensorboard"}, "port* logdir*"),
        (("extras", PLUGINS, 0, "parameters", "userssh"), {"plugin": "ssh"}, "type value"),
        (("extras", "reference_prerequisites", 0, "require", 0, "template_variables"), {}, ""),
        (("parameters",), {}, ""),
        (("nowhere", 1, "to", "be"), {}, ""),
        (("deployments", 0, "taskRoles", "any"), {}, "preCommands postCommands"),
    ],
)
def test_keys_of_a_mapping(path: tuple[str | int, ...], beside: Beside, expected: str) -> None:
    assert keys(fields(path, **beside)) == expected


def test_keys_of_a_definition() -> None:
    expected = f"name* type title summary {COMMON} {ACTING} {CMD}"
    assert keys(fields((), prerequisite_type="", kind="definition")) == expected
    assert keys(fields((4,), prerequisite_type="", kind="definition")) == expected
    assert keys(fields((4, "callbacks", 0), kind="definition")) == "event* commands*"


@pytest.mark.parametrize(
    ("path", "beside", "attribute", "expected"),
    [
        (("taskRoles", "a", "resourcePerInstance", "cpu"), {}, "type", "integer"),
        (("taskRoles", "a", "commands"), {}, "type", "list of strings"),
        (("taskRoles", "a", "completion", "minFailedInstances"), {}, "type", "integer or null"),
        (("taskRoles", "a", "completion", "minFailedInstances"), {}, "default", "1"),
        (("taskRoles", "a", "extraContainerOptions", "infiniband"), {}, "values", ("true", "false")),
        (("taskRoles", "a"), {}, "title", "Task role"),
        (("protocolVersion",), {}, "values", ("2",)),
        (("version",), {}, "type", "string or number"),
        (("prerequisites", 0, "uri"), {"prerequisite_type": "data"}, "type", "list of strings"),
        (("prerequisites", 0, "uri"), {"prerequisite_type": "dockerimage"}, "title", "Image"),
        (("prerequisites", 0, "type"), {}, "values", ("dockerimage", "data", "script", "output", "storage")),
        (("prerequisites", 0, "name"), {"prerequisite_type": "dockerimage"}, "title", "Name"),
        (("prerequisites", 0, "require"), {}, "type", "list of strings or mappings"),
        (("prerequisites", 0, "require"), {}, "is_extension", True),
        (("prerequisites", 0, "failurePolicy"), {"prerequisite_type": "script"}, "values", ("fail", "ignore")),
        (("prerequisites", 0, "failurePolicy"), {"prerequisite_type": "script"}, "enforced_by", "runtime"),
        (("prerequisites", 0, "failurePolicy"), {"prerequisite_type": "script"}, "is_extension", False),
        (("extras", "hivedScheduler", "jobPriorityClass"), {}, "values", ("prod", "test", "oppo")),
        (("extras", PLUGINS, 0, "hook"), {}, "deprecated", True),
        (("extras", PLUGINS, 0, "parameters", "jobssh"), {"plugin": "ssh"}, "values", ("true", "false")),
        (("defaults", "virtualCluster"), {}, "default", '"default"'),
    ],
)
def test_what_is_said_of_a_key(path: tuple[str | int, ...], beside: Beside, attribute: str, expected: object) -> None:
    found = field(path, **beside)
    assert found is not None
    assert found.key == path[-1]
    assert getattr(found, attribute) == expected


@pytest.mark.parametrize(
    "path", [(), ("parameters", "x"), ("foo",), ("name", "x"), ("taskRoles", 0), ("extras", "mine")]
)
def test_nothing_is_said_of_what_nobody_knows(path: tuple[str | int, ...]) -> None:
    assert field(path) is None


def schemas_of_keys(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of a key, with its place; references are followed."""
    if isinstance(schema, list):
        for part in schema:
            yield from schemas_of_keys(part, path)
    elif isinstance(schema, dict):
        for key, value in schema.get("properties", {}).items():
            if isinstance(value, dict) and "$ref" not in value and "if" not in path.split("/"):
                yield f"{path}/{key}", value
        for keyword, value in schema.items():
            for key, part in value.items() if keyword in {"properties", "$defs"} else [(keyword, value)]:
                yield from schemas_of_keys(part, f"{path}/{key}")


KINDS: tuple[Kind, ...] = ("job", "definition")
ENFORCERS = {"rest-server", "runtime", "portal", "database-controller", "none", "expansion"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_documented(kind: Kind) -> None:
    found = dict(schemas_of_keys(published_schema(kind)))
    documented = {path: schema for path, schema in found.items() if "title" in schema}
    # What is not documented says more of a key that another part documents.
    assert all(
        set(schema) <= {"enum", "properties", "allOf", "not"}
        for path, schema in found.items()
        if path not in documented
    )
    assert len(documented) > 90
    for path, schema in documented.items():
        assert re.fullmatch(r"[A-Z].*[^.]", schema["title"]), path
        assert re.fullmatch(r"[A-Z`].*\.", schema["description"], re.DOTALL), path
        assert 1 <= len(re.findall(r"[.!?](?= [A-Z`<0-9]|$)", schema["description"])) <= 5, path
        assert schema["x-source"].startswith("microsoft/"), path
        assert schema["x-enforced-by"] in ENFORCERS, path


def test_every_key_of_the_configuration_is_documented() -> None:
    found = dict(schemas_of_keys(table("configuration.schema.json")))
    assert {path.rsplit("/", 1)[1] for path, schema in found.items() if "title" in schema} == {
        "rules", "exclude", "platform", "plugins", "cluster", "marketplace", "sources", "directory", "url", "token_env",
        "token_command", "allowed_hosts", "per_file_ignores", "shellcheck", "baseline", "preview",
    }  # fmt: skip


def all_parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for part in schema:
            yield from all_parts(part)
    elif isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from all_parts(value)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_and_defaults_are_right(kind: Kind) -> None:
    schema = published_schema(kind)
    resolver = Draft202012Validator(schema)
    seen = 0
    for path, part in schemas_of_keys(schema):
        for example in [*part.get("examples", ()), *([part["default"]] if "default" in part else ())]:
            seen += 1
            assert list(resolver.evolve(schema=part).iter_errors(example)) == [], path
    assert seen > 40


@pytest.mark.parametrize("name", ["job", "definition", "configuration"])
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(table(f"{name}.schema.json"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_published_schemas_stand_alone(kind: Kind) -> None:
    schema = published_schema(kind)
    Draft202012Validator.check_schema(schema)
    for part in all_parts(schema):
        if isinstance(reference := part.get("$ref"), str):
            assert reference.removeprefix("#/$defs/") in schema["$defs"]


def test_another_editor_sees_what_the_rules_say() -> None:
    """The published schema also holds what rules report here in better words."""
    job = plain_value(parse(SMALL).root)
    validator = Draft202012Validator(published_schema("job"))
    assert list(validator.iter_errors(job)) == []
    job["taskRoles"]["ps_server"] = job["taskRoles"].pop("worker")
    job["prerequisites"] += [{"type": "script", "name": "s", "plugin": "cmd", "callbacks": [{"event": "taskStart"}]}]
    job["extras"] = {PLUGINS: [{"plugin": "tensorboard", "parameters": {"port": 1}}]}
    assert {"/".join(map(str, error.absolute_path)) for error in validator.iter_errors(job)} == {
        "taskRoles", "prerequisites/1/callbacks/0", "prerequisites/1/callbacks/0/event",
        f"extras/{PLUGINS}/0/parameters",
    }  # fmt: skip
    assert structure_errors(job) == ()


def test_events_and_plugins_are_told_once() -> None:
    event = field(("prerequisites", 0, "callbacks", 0, "event"), prerequisite_type="script")
    assert event is not None
    assert event.values == tuple(events())
    for plugin in OPENPAI.plugins.values():
        known = {entry.key for entry in fields(("extras", PLUGINS, 0, "parameters"), plugin=plugin.name)}
        assert known == {parameter.name for parameter in plugin.parameters}


def test_schemas_are_json_that_repeats_no_key() -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    for path in (ROOT / "schemas").glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)
