"""Where a fix is offered, and where none is: the examples of rules show only what a fix makes of a job."""

from __future__ import annotations

import pytest

from pai_lsp.document import Document

JOB = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "python:3.11.4"}
  - type: script
    name: setup
    plugin: com.microsoft.pai.runtimeplugin.cmd
PLUGIN
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [setup]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - COMMAND
"""
CALLBACKS = "    callbacks:\n      - event: taskSucceeds\n        commands:\n          - echo bye\n"


def titles(code: str, plugin: str = CALLBACKS, command: str = "python train.py") -> list[str]:
    text = JOB.replace("PLUGIN\n", plugin).replace("COMMAND", command)
    found = [one for one in Document(text).diagnostics if one.code == code]
    assert found, "the finding is there"
    return [fix.title for one in found for fix in one.fixes]


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ("      - echo one\n      - echo two\n", ["Convert to a callback"]),
        ("      - echo one\n      - |\n        echo two\n        echo three\n", []),
        ("      - echo one\n      - [echo, two]\n", []),
        ("      - echo one\n      -\n", []),
        ("      # first this\n      - echo one\n", []),
    ],
)
def test_simple_commands_become_a_callback_only_as_they_are_written(commands: str, expected: list[str]) -> None:
    assert titles("callbacks-with-pre-post-commands", f"    preCommands:\n{commands}{CALLBACKS}") == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep loss train.log", ["Add '|| true'"]),
        ("grep loss train.log > losses.txt", []),
        ("'cat train.log | grep loss | wc -l'", ["Add '|| true'"]),
        ("'cat train.log | grep loss 2> errors.txt | wc -l'", ["Add '|| true'"]),
    ],
)
def test_a_command_that_may_find_nothing(command: str, expected: list[str]) -> None:
    assert titles("command-finds-nothing", command=command) == expected


@pytest.mark.parametrize(
    ("extras", "is_offered"),
    [
        ("", True),
        ("extras:\n", False),
        ("extras: {notes: first}\n", True),
        ("extras: {gangAllocation: true}\n", True),
        ("extras: {gangAllocation: yes}\n", False),
    ],
)
def test_gang_allocation_is_disabled_where_there_is_a_place_for_it(extras: str, *, is_offered: bool) -> None:
    text = JOB.replace("PLUGIN\n", CALLBACKS).replace("COMMAND", "python train.py") + extras
    text = text.replace("instances: 1", "instances: 1\n    taskRetryCount: 2")
    found = [one for one in Document(text).diagnostics if one.code == "task-retry-ignored"]
    assert [fix.title for one in found for fix in one.fixes] == ["Disable gang allocation"] * is_offered
