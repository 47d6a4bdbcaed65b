"""The order in which rules are asked: a later one is silent about words with an earlier error, and only about them."""

from __future__ import annotations

import pytest
from job_text import HEAD

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Order, Settings, Severity
from pai_lsp.rules import BY_CODE, RULES

EXTENDED = (
    HEAD
    + """\
  - name: note
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - event: taskFails
        commands: [echo failed]
parameters: {rate: 1}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [note]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - python train.py --rate <% $parameters.rate %>
"""
)
# Before its first task, the runtime looks for the plugin of the definition.
NEVER_STARTS = EXTENDED.replace(
    "  - name: note", "  - {name: odd, type: script, plugin: com.microsoft.pai.runtimeplugin.odd, x: 1}\n  - name: note"
).replace("[note]", "[note, odd]")


def errors(text: str) -> list[str]:
    return [one.code for one in Document(text).diagnostics if one.severity is Severity.ERROR]


def test_rules_are_asked_in_their_order() -> None:
    orders = [one.order for one in RULES]
    assert orders == sorted(orders)
    assert {one.order for one in RULES} == set(Order)
    names = ["yaml-syntax", "unknown-key", "unknown-prerequisite", "invalid-task-role-name", "cannot-be-expanded"]
    read, structure, name, _, expansion = (BY_CODE[one].order for one in names)
    assert read < structure < name < expansion < BY_CODE["task-never-starts"].order < BY_CODE["shell-syntax"].order


def test_a_job_of_the_extended_protocol_is_asked_whether_it_starts() -> None:
    """Another rule explains why not, so that `check` does not repeat it."""
    assert errors(NEVER_STARTS) == ["unknown-plugin"]
    (found,) = BY_CODE["task-never-starts"].check(Document(NEVER_STARTS).job)
    assert found.message == "the task never starts: the runtime has no plugin 'odd'"
    # Whoever switched that rule off wants to hear nothing of it.
    silent = Document(NEVER_STARTS, Settings({"unknown-plugin": None}))
    assert not [one.code for one in silent.diagnostics if one.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("right", "wrong"), [("commands:\n      - p", "commans:\n      - p"), ("$parameters.rate", "$parameters.rat")]
)
def test_what_comes_later_is_silent_while_a_name_is_misspelt(right: str, wrong: str) -> None:
    assert len(errors(EXTENDED.replace(right, wrong))) == 1


def test_a_mistake_in_the_commands_does_not_silence_the_expansion() -> None:
    """The list of commands is shared with a task role that needs other commands at its end."""
    shared = EXTENDED.replace("commands:\n      - p", "commands: &list\n      - p") + (
        "  other:\n    instances: 1\n    dockerImage: image\n"
        "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n    commands: *list\n"
    )
    (found,) = errors(shared)
    assert found in {"cannot-be-expanded", "cannot-be-expressed"}
    beside = errors(shared.replace("python train.py", "echo $PAI_HOST_IP_worker_7"))
    assert sorted(beside) == sorted([found, "env-index-out-of-range"])
