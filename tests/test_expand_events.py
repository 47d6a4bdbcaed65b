"""What runs at which moment: both forms of an expanded job do what docs/protocol.md, "Events", defines."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - hypothesis reads the annotations
from typing import NamedTuple

import pytest
from budgets import generated_cases
from expansion import Ended, job_of, run_of, run_task
from hypothesis import given
from hypothesis import strategies as st
from job_text import HEAD

from pai_lsp.expansion.released_job import expanded
from pai_lsp.source.writing import flow_value

ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: %s
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: %s
"""
EVENTS = ("taskStarts", "taskSucceeds", "taskFails", "containerExit")
FORMS = pytest.mark.parametrize("inline", [False, True], ids=["default", "inline"])

# How a callback ends: its last command, its exit code, and whether `failurePolicy: ignore` makes that a success.
ENDS = {
    "well": ("true", 0, True),
    "failing": ("(exit 3)", 3, True),
    "leaving": ("exit 4", 4, False),
    "left early": ("exit 0", 0, True),
    "unreadable": ("fi", 2, False),
    "unset": ('false "$NOT_SET" | cat', 0, True),
    "replaced": ("exec bash -c :", 0, True),
    "trapping": ("trap 'exit 8' EXIT", 8, False),
    "killed": ("kill -9 $BASHPID", 137, False),
}
# How the commands end: the last of them, and the exit code.
COMMANDS = {
    "well": ("true", 0),
    "failing": ("(exit 5)", 5),
    "leaving": ("exit 6", 6),
    "left early": ("exit 0; echo never", 0),
    "unset": ('echo "$NOT_SET"', 1),
    "unreadable": ("fi", 2),
    "unguarded": ("set +e; (exit 7)", 7),
    "replaced": ("exec bash -c 'exit 8'", 8),
    "trapping": ("trap 'exit 9' EXIT ERR", 9),
    "trap removed": ("trap - EXIT; exit 10", 10),
    "killed": ("kill -9 $$", 137),
    "hiding": ("exit() { :; }; builtin() { :; }; exec() { :; }; echo() { :; }; IFS=eo; set -fv; cd /; exec 3<&-", 0),
}


class Hooks(NamedTuple):
    """A prerequisite: how its callback for each event ends, and whether failures are ignored."""

    ends: dict[str, str]
    ignores: bool


def job(prerequisites: list[Hooks], command: str) -> str:
    definitions = ""
    for number, one in enumerate(prerequisites):
        callbacks = [
            {"event": event, "commands": [f"echo {event} {number}", ENDS[end][0]]} for event, end in one.ends.items()
        ]
        policy = "ignore" if one.ignores else "fail"
        definitions += (
            f"  - {{name: p{number}, type: script, failurePolicy: {policy}, callbacks: {flow_value(callbacks)}}}\n"
        )
    listed = [f"p{number}" for number in range(len(prerequisites))]
    return HEAD + definitions + ROLE % (flow_value(listed), flow_value(["echo run", COMMANDS[command][0]]))


def meant(prerequisites: list[Hooks], command: str) -> Ended:
    """What the definition of the events asks for."""
    printed: list[str] = []

    def run(event: str, number: int) -> int:
        end = prerequisites[number].ends.get(event)
        if end is None:
            return 0
        printed.append(f"{event} {number}")
        _, status, can_be_ignored = ENDS[end]
        return 0 if can_be_ignored and prerequisites[number].ignores else status

    def until_failure(event: str, numbers: list[int]) -> int:
        return next((status for number in numbers if (status := run(event, number))), 0)

    order = list(range(len(prerequisites)))
    status = until_failure("taskStarts", order)
    if not status:
        printed.append("run")
        status = COMMANDS[command][1]
    status = status or until_failure("taskSucceeds", order[::-1])
    if status:
        for number in order[::-1]:
            run("taskFails", number)
    for number in order[::-1]:
        ended = run("containerExit", number)
        status = status or ended
    return Ended("".join(f"{line}\n" for line in printed), status)


def ended(text: str, folder: Path, *, inline: bool) -> Ended:
    result = expanded(job_of(text), ["worker"] if inline else ())
    assert result.text is not None, result.problems
    return run_task(run_of(result.text), folder)


HOOKS = st.builds(Hooks, st.dictionaries(st.sampled_from(EVENTS), st.sampled_from(sorted(ENDS))), st.booleans())


@generated_cases(40)
@given(st.lists(HOOKS, min_size=1, max_size=3), st.sampled_from(sorted(COMMANDS)))
def test_both_forms_run_what_is_meant(tmp_path: Path, prerequisites: list[Hooks], command: str) -> None:
    text = job(prerequisites, command)
    for inline in (False, True):
        assert ended(text, tmp_path, inline=inline) == meant(prerequisites, command), text


def definition(name: str, rest: str = "", **callbacks: str) -> str:
    listed = [{"event": event, "commands": [command]} for event, command in callbacks.items()]
    return f"  - {{name: {name}, type: script, {rest}callbacks: {flow_value(listed)}}}\n"


def run_job(definitions: str, listed: str, command: str) -> str:
    return HEAD + definitions + ROLE % (f"[{listed}]", flow_value([command]))


@FORMS
def test_what_is_cleaned_up_last_is_there_for_the_upload(tmp_path: Path, inline: bool) -> None:
    scratch = definition("scratch", taskStarts="mkdir scratch", containerExit="rm -r scratch")
    upload = definition("upload", "require: [scratch], ", taskSucceeds="cat scratch/model")
    text = run_job(scratch + upload, "upload", "echo trained > scratch/model")
    assert ended(text, tmp_path, inline=inline) == Ended("trained\n", 0)
    assert not (tmp_path / "scratch").exists()


@FORMS
def test_the_wreck_of_a_failed_download_can_be_looked_at(tmp_path: Path, inline: bool) -> None:
    debug = definition("debug", taskFails="echo debugging", containerExit="echo logs")
    data = definition("data", taskStarts="echo downloading; false")
    text = run_job(debug + data, "debug, data", "echo never")
    assert ended(text, tmp_path, inline=inline) == Ended("downloading\ndebugging\nlogs\n", 1)


@FORMS
@pytest.mark.parametrize(
    "broken", ["if true; then echo x", "echo 'open", "echo a; )", "cat <<PAI_LSP_END\ntext\nPAI_LSP_END\n)", "echo \\"]
)
def test_a_callback_that_bash_cannot_read_harms_nothing_else(tmp_path: Path, broken: str, inline: bool) -> None:
    text = run_job(definition("debug", taskFails=broken, taskSucceeds="echo done"), "debug", "echo run")
    assert ended(text, tmp_path, inline=inline) == Ended("run\ndone\n", 0)


@FORMS
def test_callbacks_start_where_the_task_starts_and_see_no_change_of_the_commands(tmp_path: Path, inline: bool) -> None:
    show = 'echo "$(basename "$PWD") ${SEEN-} ${HIDDEN-}"'
    text = run_job(
        definition("show", taskSucceeds=show, containerExit=show), "show", "export SEEN=seen; HIDDEN=x; cd /; exec 3<&-"
    )
    line = f"{tmp_path.name}  \n"
    assert ended(text, tmp_path, inline=inline) == Ended(line * 2, 0)


@FORMS
def test_only_the_task_roles_with_hooks_run_in_one_shell(tmp_path: Path, inline: bool) -> None:
    definitions = definition("one", taskStarts="echo start", taskFails="echo failed")
    definitions += definition("two", taskStarts="echo two")
    other = (ROLE.partition("\n")[2] % ("[two]", "[echo other]")).replace("worker", "other")
    plugin = "extras: {com.microsoft.pai.runtimeplugin: [{plugin: cmd, parameters: {preCommands: [echo plugin]}}]}\n"
    text = run_job(definitions, "one", "exit 3") + other + plugin
    assert ended(text, tmp_path, inline=inline) == Ended("start\nplugin\nfailed\n", 3)
    released = expanded(job_of(text), ["worker"] if inline else ()).text or ""
    assert run_task(run_of(released, "other"), tmp_path) == Ended("two\nplugin\nother\n", 0)
    assert "taskroles: [other]" in released
