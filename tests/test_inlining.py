"""Inlining in the editor: what is offered works; one by one, all at once and `expand --inline` run the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from budgets import generated_cases
from expansion import job_of, run_of, run_task
from hypothesis import given
from hypothesis import strategies as st
from test_expand_events import COMMANDS, ENDS, EVENTS, HOOKS, Hooks
from test_refactorings import document

from pai_lsp.expansion.released_job import expanded
from pai_lsp.ide.refactorings import Refactoring, RefactoringKind, refactorings
from pai_lsp.source.text import Span, apply_edits
from pai_lsp.source.writing import flow_value

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from expansion import Ended

HEAD = """\
protocolVersion: 2
name: inlined
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
"""
ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: %s
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: %s
"""
DEPLOYMENT = """\
deployments:
  - {name: d, taskRoles: {worker: {preCommands: [echo before], postCommands: [echo after]}}}
defaults: {deployment: d}
"""
PLUGIN = """\
extras:
  com.microsoft.pai.runtimeplugin:
    - {plugin: cmd, parameters: {preCommands: [echo plugin starts], postCommands: [echo plugin ends]}}
"""


def inlining(text: str, place: str) -> list[Refactoring]:
    at = text.index(place, text.index("taskRoles:")) + 1
    found = refactorings(document(text), Span(at, at), [RefactoringKind.INLINE])
    return [one for one in found if one.title.startswith("Inline")]


def inline_all(text: str) -> str:
    (found,) = inlining(text, "worker")
    assert found.make is not None, found.disabled_reason
    return apply_edits(text, found.make())


def one_by_one(text: str) -> str:
    """The job after all the single references that can be inlined, the last of them first."""
    while True:
        (worker,) = job_of(text).task_roles
        for reference in reversed(worker.prerequisites):
            here = [one for one in refactorings(document(text), reference.span) if f"'{reference.name}'" in one.title]
            made = next((one.make for one in here if one.title.startswith("Inline") and one.make), None)
            if made is not None:
                text = apply_edits(text, made())
                break
        else:
            return text


def inlined_once(text: str, choose: Random) -> str | None:
    """The job after one of the single references that can be inlined; None without any."""
    (worker,) = job_of(text).task_roles
    for reference in choose.sample(worker.prerequisites, len(worker.prerequisites)):
        here = [one for one in refactorings(document(text), reference.span) if f"'{reference.name}'" in one.title]
        made = next((one.make for one in here if one.title.startswith("Inline") and one.make), None)
        if made is not None:
            return apply_edits(text, made())
    return None


def ended(text: str, folder: Path, *, inline: bool) -> Ended:
    result = expanded(job_of(text), ["worker"] if inline else ())
    assert result.text is not None, result.problems
    return run_task(run_of(result.text), folder)


def job(prerequisites: list[Hooks], required: list[int], command: str, more: str) -> str:
    """Each prerequisite requires, of those before it, the ones whose bit is set."""
    definitions = ""
    for number, (one, bits) in enumerate(zip(prerequisites, required, strict=False)):
        callbacks = [
            {"event": event, "commands": [f"echo {event} {number}", ENDS[end][0]]} for event, end in one.ends.items()
        ]
        value = {
            "name": f"p{number}",
            "type": "script",
            "failurePolicy": "ignore" if one.ignores else "fail",
            "require": [f"p{other}" for other in range(number) if bits & 1 << other],
            "callbacks": callbacks,
        }
        definitions += f"  - {flow_value(value)}\n"
    listed = [f"p{number}" for number in range(len(prerequisites))][::-1]
    return HEAD + definitions + ROLE % (flow_value(listed), flow_value(["echo run", COMMANDS[command][0]])) + more


@generated_cases(25)
@given(
    st.lists(HOOKS, min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.sampled_from(sorted(COMMANDS)),
    st.sampled_from(["", DEPLOYMENT, PLUGIN]),
)
def test_one_by_one_and_all_at_once_run_the_same(
    tmp_path: Path, prerequisites: list[Hooks], required: list[int], command: str, more: str
) -> None:
    text = job(prerequisites, required, command, more)
    meant = ended(text, tmp_path, inline=True)
    if any(one.ends for one in prerequisites):
        assert ended(inline_all(text), tmp_path, inline=False) == meant, text
    assert ended(one_by_one(text), tmp_path, inline=False) == meant, text


PARAMETERS = "parameters: {'one': &one \"1\", two: *one}\n"


@generated_cases(40)
@given(
    st.lists(HOOKS, min_size=1, max_size=4),
    st.lists(st.integers(0, 7), min_size=4, max_size=4),
    st.sampled_from(sorted(COMMANDS)),
    st.sampled_from([PARAMETERS, PARAMETERS + PLUGIN]),
    st.randoms(use_true_random=False),
)
def test_any_order_runs_what_expansion_runs_and_keeps_everything_else(
    tmp_path: Path, prerequisites: list[Hooks], required: list[int], command: str, more: str, choose: Random
) -> None:
    lines = job(prerequisites, required, command, more).splitlines()
    text = "".join(f"{line}  # {number}\n" for number, line in enumerate(lines))
    meant = ended(text, tmp_path, inline=True)
    # The lists of the role change, and a plugin goes along; a definition with a comment stays.
    changed = ("    prerequisites:", "    commands:", "extras:", "  com.", "    - {plugin:")
    kept = [line for line in text.splitlines() if not line.startswith(changed)]
    while (after := inlined_once(text, choose)) is not None:
        assert [line for line in after.splitlines() if line in kept] == kept, after
        assert [f"# {number}" in after for number in range(len(lines))] == [True] * len(lines), after
        text = after
        assert ended(text, tmp_path, inline=True) == meant, text
    assert ended(text, tmp_path, inline=False) == meant, text


@pytest.mark.parametrize("command", ["well", "leaving", "replaced"])
def test_the_second_one_joins_what_the_first_one_brought(tmp_path: Path, command: str) -> None:
    hooks = [Hooks(dict.fromkeys(EVENTS, "well"), ignores=False) for _ in range(2)]
    text = job(hooks, [0, 0], command, "")
    after = one_by_one(text)
    assert after.count(" pai_lsp_commands,") == 1
    assert after == inline_all(text)
    assert ended(after, tmp_path, inline=False) == ended(text, tmp_path, inline=False)


DIAMOND = """\
  - name: base
    type: script
    callbacks: [{event: taskStarts, commands: [echo base]}, {event: taskFails, commands: [ls]}]
  - {name: left, type: script, require: [base], callbacks: [{event: taskStarts, commands: [echo left]}]}
  - {name: right, type: script, require: [base], callbacks: [{event: containerExit, commands: [echo right]}]}
  - {name: top, type: script, require: [left, right], callbacks: [{event: taskStarts, commands: [echo top]}]}
"""
VALUES = """\
  - name: sleep
    type: script
    template_variables: [{name: n}]
    callbacks: [{event: taskFails, commands: ["echo {{ n }}"]}]
  - {name: one, type: script, require: [{name: sleep, template_variables: {n: 1}}]}
  - {name: two, type: script, require: [{name: sleep, template_variables: {n: 2}}]}
"""
STORAGE = """\
extras:
  reference_prerequisites:
    - name: photos
      require: [{name: "marketplace://name/photos", template_variables: {dataPath: /data}}]
"""


@pytest.mark.parametrize(
    ("definitions", "listed", "more"),
    [(DIAMOND, "[top, base]", ""), (VALUES, "[two, one]", ""), ("", "[photos]", STORAGE)],
    ids=["diamond", "two values", "storage"],
)
def test_all_at_once(tmp_path: Path, definitions: str, listed: str, more: str) -> None:
    text = HEAD + definitions + ROLE % (listed, "[echo run, (exit 3)]") + more
    after = inline_all(text)
    assert ended(after, tmp_path, inline=False) == ended(text, tmp_path, inline=True)
    assert "prerequisites: [" not in after
    assert job_of(after).prerequisites[1:] == ()


def test_a_storage_goes_along_and_a_used_up_reference_goes() -> None:
    text = HEAD + ROLE % ("[photos]", "[echo run]") + STORAGE
    after = inline_all(text)
    assert after.endswith("extras:\n  storages:\n    - name: shared\n      mountPath: /mnt/shared\n")
    last = text.replace("extras:\n", "extras:\n  hivedScheduler: {}\n")
    assert "reference_prerequisites" not in inline_all(last)


def test_the_cmd_plugin_of_extras_goes_along_and_stays_for_the_others() -> None:
    other = "  other: {instances: 1, dockerImage: image, commands: [ls]}\n"
    text = job([Hooks({"taskStarts": "well"}, ignores=False)], [0], "well", other + PLUGIN)
    after = inline_all(text)
    assert "taskroles: [other]" in after
    assert after.index("echo taskStarts 0") < after.index("echo plugin starts") < after.index("echo run")


def test_plugins_stay_in_the_list() -> None:
    before = (
        HEAD + "  - {name: keys, type: script, plugin: com.microsoft.pai.runtimeplugin.ssh, jobssh: true}\n" + DIAMOND
    )
    after = inline_all(before + ROLE % ("[top, keys]", "[echo run]"))
    assert "prerequisites: [keys]" in after
    (found,) = inlining(before + ROLE % ("[keys]", "[echo run]"), "keys")
    assert found.disabled_reason == "'keys' is a plugin 'ssh', which is not a command"


IDLE = "  - {name: idle, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: []}\n"


@pytest.mark.parametrize(
    ("listed", "place", "reason"),
    [
        ("[top, base]", "base", "'base' is also required by another prerequisite of this task role"),
        ("[base, base]", "base", "'base' is listed twice, and runs twice until it is expanded"),
        ("[base, idle]", "idle", "'idle' runs nothing"),
    ],
)
def test_what_cannot_be_inlined_alone_is_disabled(listed: str, place: str, reason: str) -> None:
    text = HEAD + DIAMOND + IDLE + ROLE % (listed, "[echo run]")
    single, *_ = inlining(text, place)
    assert single.disabled_reason == reason
