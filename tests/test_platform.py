"""The tables about OpenPAI: complete, each entry with its source, and read as values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from job_text import HEAD

from pai_lsp.document import Document
from pai_lsp.expansion.released_job import expanded
from pai_lsp.job.variable_places import platform_names
from pai_lsp.platform.platforms import OPENPAI
from pai_lsp.platform.tables import (
    PLUGIN_PREFIX,
    Event,
    EventForm,
    Moment,
    converted_role_name,
    event_at,
    events,
    exit_codes,
    moments_with,
    released_events,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = Path(__file__).parent.parent / "schemas"

EVENT_STATUS = {"released", "extended", "superseded"}
VARIABLE_STATUS = {"current", "legacy", "deprecated", "internal", "removed"}


@pytest.mark.parametrize(
    ("name", "status", "replacement"),
    [
        ("taskStarts", "released", None),
        ("taskSucceeds", "released", None),
        ("taskFails", "extended", None),
        ("containerExit", "extended", None),
        ("containerStart", "superseded", "taskStarts"),
        ("containerStarts", "superseded", "taskStarts"),
    ],
)
def test_events_are_those_of_the_model(name: str, status: str, replacement: str | None) -> None:
    assert (events()[name].status, events()[name].replacement) == (status, replacement)


def test_there_are_no_other_events() -> None:
    assert len(events()) == 6
    assert {event.status for event in events().values()} == EVENT_STATUS


@pytest.mark.parametrize("row", table("events.json"), ids=lambda row: row["name"])
def test_every_event_has_all_columns(row: dict[str, Any]) -> None:
    assert [column for column in Event.__annotations__ if column not in row] == []
    assert row["moment"] in {moment.value for moment in Moment}
    assert row["released_form"] in {form.value for form in EventForm}
    assert row["replacement"] is None or events()[row["replacement"]].status == "released"


def test_events_of_one_moment_have_one_released_form() -> None:
    forms = {(event.moment, event.released_form) for event in events().values()}
    assert len(forms) == len({moment for moment, _ in forms}) == len(Moment)
    assert [event_at(moment) for moment in Moment] == ["taskStarts", "taskSucceeds", "taskFails", "containerExit"]
    assert {event_at(moment) for moment in moments_with(EventForm.CALLBACK)} == set(released_events())


JOB_WITH_AN_EVENT = (
    HEAD
    + """\
  - name: report
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskPreempted
        commands: [echo preempted]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 1}
    prerequisites: [report]
    commands: [python train.py]
"""
)


@pytest.fixture
def fresh_tables() -> Iterator[None]:
    events.cache_clear()
    yield
    events.cache_clear()


@pytest.mark.usefixtures("fresh_tables")
@pytest.mark.parametrize("moment", Moment)
def test_a_new_event_needs_nothing_but_its_row(monkeypatch: pytest.MonkeyPatch, moment: Moment) -> None:
    like = next(row for row in table("events.json") if row["moment"] == moment.value)
    new = {**like, "name": "taskPreempted", "status": "extended", "replacement": None}
    rows = [*table("events.json"), new]
    monkeypatch.setattr("pai_lsp.platform.tables.table", lambda name: rows if name == "events.json" else table(name))
    document = Document(JOB_WITH_AN_EVENT, path="a.pai.yaml")
    assert [one.code for one in document.diagnostics] == ["needs-expansion"]
    released = expanded(document.job)
    assert released.problems == ()
    assert released.text is not None
    assert "echo preempted" in released.text
    assert Document(released.text, path="a.pai.yaml").diagnostics == ()


def test_the_released_runtime_has_five_plugins() -> None:
    assert list(OPENPAI.plugins) == ["ssh", "tensorboard", "git", "teamwise_storage", "cmd"]
    assert OPENPAI.plugins["cmd"].full_name == f"{PLUGIN_PREFIX}cmd" == "com.microsoft.pai.runtimeplugin.cmd"
    assert [name for name, plugin in OPENPAI.plugins.items() if plugin.deprecated] == ["teamwise_storage"]


@pytest.mark.parametrize(
    ("plugin", "parameters"),
    [
        ("ssh", ["jobssh", "sshbarrier", "sshbarrierTimeout", "userssh"]),
        ("tensorboard", ["port*", "logdir*"]),
        ("git", ["repo_uri*", "options", "clone_dir"]),
        ("teamwise_storage", ["storageConfigNames"]),
        ("cmd", ["callbacks", "preCommands", "postCommands"]),
    ],
)
def test_plugins_have_their_parameters(plugin: str, parameters: list[str]) -> None:
    found = [parameter.name + "*" * parameter.required for parameter in OPENPAI.plugins[plugin].parameters]
    assert found == parameters


def test_a_parameter_may_have_several_types() -> None:
    assert OPENPAI.plugins["tensorboard"].parameters[0].type == "integer or string"


@pytest.mark.parametrize(
    ("name", "family", "parts"),
    [
        ("PAI_JOB_NAME", "PAI_JOB_NAME", {}),
        ("PAI_HOST_IP_worker_12", "PAI_HOST_IP_{role}_{index}", {"role": "worker", "index": "12"}),
        ("PAI_HOST_IP_ps_server_0", "PAI_HOST_IP_{role}_{index}", {"role": "ps_server", "index": "0"}),
        (
            "PAI_PORT_LIST_worker_0_my_port",
            "PAI_PORT_LIST_{role}_{index}_{label}",
            {"role": "worker", "index": "0", "label": "my_port"},
        ),
        (
            "PAI_worker_0_sync_PORT",
            "PAI_{role}_{index}_{label}_PORT",
            {"role": "worker", "index": "0", "label": "sync"},
        ),
        ("PAI_TASK_ROLE_TASK_COUNT_ps_server", "PAI_TASK_ROLE_TASK_COUNT_{role}", {"role": "ps_server"}),
        ("PAI_TASK_ROLE_worker_HOST_LIST", "PAI_TASK_ROLE_{role}_HOST_LIST", {"role": "worker"}),
        ("PAI_CONTAINER_HOST_PORT_LIST", "PAI_CONTAINER_HOST_PORT_LIST", {}),
        ("PAI_CONTAINER_HOST_http_PORT_LIST", "PAI_CONTAINER_HOST_{label}_PORT_LIST", {"label": "http"}),
        ("FC_TASK_INDEX", "FC_TASK_INDEX", {}),
    ],
)
def test_a_variable_is_recognised(name: str, family: str, parts: dict[str, str]) -> None:
    variable = OPENPAI.environment_variable(name)
    assert variable is not None
    assert variable.name == family
    assert variable.match(name) == parts


@pytest.mark.parametrize(
    "name", ["PAI_JOB_NAMES", "PAI_HOST_IP_worker", "PAI_PORT_LIST_worker_x_http", "HOME", "", "FC_"]
)
def test_other_names_are_not_the_platforms(name: str) -> None:
    assert OPENPAI.environment_variable(name) is None


def test_variables_of_a_role_say_how_the_role_is_spelt() -> None:
    for variable in OPENPAI.environment_variables:
        assert (variable.role_spelling is not None) == ("{role}" in variable.name), variable.name
    assert [v.role_spelling for v in OPENPAI.environment_variables if v.name.startswith("PAI_RESOURCE")] == ["raw"]
    assert [v.role_spelling for v in OPENPAI.environment_variables if v.name.startswith("PAI_HOST_IP")] == ["converted"]


def test_replacements_are_variables_that_are_there() -> None:
    names = {variable.name: variable for variable in OPENPAI.environment_variables}
    replaced = [variable for variable in OPENPAI.environment_variables if variable.replacement is not None]
    assert len(replaced) >= 20
    for variable in replaced:
        assert variable.status in {"legacy", "deprecated", "removed"}
        # `PAI_PORT_LIST_{role}_{index}_http` is one of a family.
        found = names.get(variable.replacement or "") or OPENPAI.environment_variable(
            (variable.replacement or "").replace("{role}", "worker").replace("{index}", "0")
        )
        assert found is not None, variable.replacement
        assert found.status == "current"


def test_names_of_variables_are_unique_and_families_do_not_hide_them() -> None:
    names = [variable.name for variable in OPENPAI.environment_variables]
    assert len(names) == len(set(names))
    for variable in OPENPAI.environment_variables:
        if "{" not in variable.name:
            assert OPENPAI.environment_variable(variable.name) is variable


def test_removed_variables_are_nowhere() -> None:
    removed = [variable for variable in OPENPAI.environment_variables if variable.status == "removed"]
    assert len(removed) == 21
    assert {variable.available for variable in removed} == {"nowhere"}
    assert {variable.status for variable in OPENPAI.environment_variables} == VARIABLE_STATUS


def test_exit_codes() -> None:
    assert list(exit_codes()) == sorted(exit_codes())
    assert exit_codes()[0].retry == "never"
    assert exit_codes()[255].phrase == "PAIRuntimeUnknownFailed"
    assert exit_codes()[254].cause == "user"
    assert exit_codes()[137].retry == "always"
    assert {code.retry for code in exit_codes().values()} == {"always", "backoff", "limited", "never"}
    phrases = [code.phrase for code in exit_codes().values()]
    assert all(phrases)
    assert len(phrases) == len(set(phrases))


@pytest.mark.parametrize(
    ("name", "converted"),
    [("worker", "worker"), ("ps_server", "psserver"), ("Worker_1", "worker1"), ("Ünicode-2", "nicode2"), ("_", "")],
)
def test_converted_role_name(name: str, converted: str) -> None:
    assert converted_role_name(name) == converted


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_tables_are_kept_in_one_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_every_entry_names_a_public_source() -> None:
    sources = [entry["source"] for name in ("events", "environment", "exit_codes") for entry in table(f"{name}.json")]
    sources += [plugin["source"] for plugin in table("plugins.json").values()]
    sources += [one["x-source"] for plugin in table("plugins.json").values() for one in plugin["parameters"].values()]
    for source in sources:
        for one in source.split("; "):
            assert re.match(r"microsoft/[a-z-]+ (v[\d.]+ )?(src|pkg|docs|issue)\b", one), one


def test_every_text_is_a_sentence() -> None:
    entries: list[Any] = [*events().values(), *exit_codes().values()]
    entries += [*OPENPAI.environment_variables, *OPENPAI.plugins.values()]
    texts = [getattr(entry, "description", None) or entry.when for entry in entries]
    texts += [parameter.description for plugin in OPENPAI.plugins.values() for parameter in plugin.parameters]
    for text in texts:
        assert re.fullmatch(r"[A-Z`].*\.", text, re.DOTALL), text


def test_a_platform_has_environment_variables_of_its_own() -> None:
    job = Document("# pai-lsp: platform=ltp\ntaskRoles: {a: {}}\nextras: {allowAzCopy: true}\n").job
    assert "AZCOPY_AUTO_LOGIN_TYPE" in platform_names(job)
    assert job.platform.environment_variable("AZCOPY_AUTO_LOGIN_TYPE") is not None
    assert OPENPAI.environment_variable("AZCOPY_AUTO_LOGIN_TYPE") is None
