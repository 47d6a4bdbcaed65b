"""Expanded jobs, run with a real bash as the runtime runs them: they print what their authors wrote."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - hypothesis reads the annotations

import pytest
from budgets import generated_cases
from expansion import Ended, job_of, run_of, run_task
from hypothesis import given
from hypothesis import strategies as st

from pai_lsp.expansion.released_job import expanded
from pai_lsp.source.writing import flow_value, indented, item_lines

HEAD = """\
protocolVersion: 2
name: run
type: job
parameters: {x: "111", count: 3, quote: it's, empty: null}
secrets: {y: "222", odd: "a\\\\b"}
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
"""

ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [%s]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - %s
"""

SECRETS = {"y": "222"}


def job(definitions: str, listed: str, command: str = "echo run", more: str = "") -> str:
    return HEAD + definitions + ROLE % (listed, command) + more


def ended(text: str, folder: Path, *, inline: bool = False) -> Ended:
    """Expand a job and run a task of its role."""
    result = expanded(job_of(text), ["worker"] if inline else ())
    assert result.text is not None, result.problems
    return run_task(run_of(result.text), folder, SECRETS)


FIRST = """\
  - name: first
    type: script
    callbacks:
      - {event: taskStarts, commands: [echo 111, echo 222]}
      - {event: taskSucceeds, commands: [echo 333, echo 444]}
"""
LATER = """\
  - name: later
    type: script
    callbacks:
      - {event: taskStarts, commands: [echo aaa]}
      - {event: taskSucceeds, commands: [echo bbb]}
"""


@pytest.mark.parametrize("inline", [False, True])
def test_callbacks_run_around_the_commands(tmp_path: Path, inline: bool) -> None:
    assert ended(job(FIRST, "first"), tmp_path, inline=inline) == Ended("111\n222\nrun\n333\n444\n", 0)


@pytest.mark.parametrize("inline", [False, True])
def test_what_ends_runs_in_reverse(tmp_path: Path, inline: bool) -> None:
    text = job(FIRST + LATER, "first, later")
    assert ended(text, tmp_path, inline=inline) == Ended("111\n222\naaa\nrun\nbbb\n333\n444\n", 0)


@pytest.mark.parametrize("inline", [False, True])
def test_what_is_required_runs_first(tmp_path: Path, inline: bool) -> None:
    text = job(FIRST + LATER.replace("type: script", "type: script\n    require: [first]"), "later")
    assert ended(text, tmp_path, inline=inline) == Ended("111\n222\naaa\nrun\nbbb\n333\n444\n", 0)


def callbacks(*commands: str, event: str = "taskStarts", policy: str = "fail") -> str:
    lines = "\n".join(f"          - {command}" for command in commands)
    return (
        f"  - name: one\n    type: script\n    failurePolicy: {policy}\n    callbacks:\n      - event: {event}\n"
        f"        commands:\n{lines}\n"
    )


@pytest.mark.parametrize("inline", [False, True])
def test_parameters_and_secrets_are_filled(tmp_path: Path, inline: bool) -> None:
    text = job(callbacks("echo <% $parameters.x %>", "echo <% $secrets.y %> <% $parameters.empty %>."), "one")
    assert ended(text, tmp_path, inline=inline) == Ended("111\n222 .\nrun\n", 0)


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ('''"echo \\"it's\\" <% $parameters.x %>"''', "it's 111\n"),
        ("echo <% $parameters.count %> times", "3 times\n"),
        ('echo "<% $parameters.quote %>"', "it's\n"),
        ("printf 'a\\tb\\n' \"$NOTHING\"", "a\tb\n"),
        ('|\n            cat <<"E"\n            it\'s "here" $HOME\n            E', 'it\'s "here" $HOME\n'),
        ("|\n            echo a \\\n              b 'c' \"d\"", "a b c d\n"),
        ("|\n            for i in 1 2; do\n              echo $i\n            done", "1\n2\n"),
        ("|\n            python3 -c '\n            print(\"x\\ty\")\n            '", "x\ty\n"),
        ('"printf \'<%s>\\\\n\' \\"a b\\""', "<a b>\n"),
        ("\"echo '<% no reference %>'\"", "<% no reference %>\n"),
        ("yes | head -n 1", "y\n"),
        ("echo 中文 😀", "中文 😀\n"),
    ],
)
def test_a_command_runs_as_it_was_written(tmp_path: Path, command: str, printed: str, inline: bool) -> None:
    assert ended(job(callbacks(command), "one"), tmp_path, inline=inline) == Ended(f"{printed}run\n", 0)


def test_exports_and_folders_reach_the_commands_only_when_inlined(tmp_path: Path) -> None:
    text = job(callbacks("export NAME=value", "cd /"), "one", 'echo "${NAME-unset}" "$PWD"')
    assert ended(text, tmp_path) == Ended(f"unset {tmp_path}\n", 0)
    assert ended(text, tmp_path, inline=True) == Ended("value /\n", 0)


@pytest.mark.parametrize("inline", [False, True])
def test_a_failing_start_ends_the_task_unless_it_may_fail(tmp_path: Path, inline: bool) -> None:
    fails = job(callbacks("echo a", "(exit 3)", "echo b"), "one")
    assert ended(fails, tmp_path, inline=inline) == Ended("a\n", 3)
    ignored = job(callbacks("echo a", "(exit 3)", "echo b", policy="ignore"), "one")
    assert ended(ignored, tmp_path, inline=inline) == Ended("a\nb\nrun\n", 0)


@pytest.mark.parametrize("inline", [False, True])
def test_leaving_a_callback_does_not_leave_the_task(tmp_path: Path, inline: bool) -> None:
    assert ended(job(callbacks("echo a", "exit 0", "echo b"), "one"), tmp_path, inline=inline) == Ended("a\nrun\n", 0)


@pytest.mark.parametrize(
    ("command", "printed", "status"),
    [
        ("echo run", "run\n", 0),
        ("exit 7", "failed 111\n", 7),
        ("echo $NOT_SET", "failed 111\n", 1),
        ("false | cat", "failed 111\n", 1),
        ("no-such-command", "failed 111\n", 127),
    ],
)
def test_commands_for_a_failure_run_on_failure_and_keep_the_exit_code(
    tmp_path: Path, command: str, printed: str, status: int
) -> None:
    definition = callbacks("echo failed <% $parameters.x %>", "(exit 5)", "echo never", event="taskFails")
    assert ended(job(definition, "one", command), tmp_path) == Ended(printed, status)


@pytest.mark.parametrize(("command", "status"), [("echo run", 0), ("echo run; exit 7", 7)])
def test_commands_for_the_exit_run_in_either_case(tmp_path: Path, command: str, status: int) -> None:
    definition = callbacks("echo $NOT_SET bye", event="containerExit")
    assert ended(job(definition, "one", command), tmp_path) == Ended("run\nbye\n", status)


def test_a_failing_exit_fails_a_task_that_had_succeeded_unless_it_may_fail(tmp_path: Path) -> None:
    failing = ["echo bye", "(exit 4)", "echo never"]
    assert ended(job(callbacks(*failing, event="containerExit"), "one"), tmp_path) == Ended("run\nbye\n", 4)
    ignored = callbacks(*failing, event="containerExit", policy="ignore")
    assert ended(job(ignored, "one"), tmp_path) == Ended("run\nbye\nnever\n", 0)
    assert ended(job(callbacks(*failing, event="containerExit"), "one", "exit 9"), tmp_path) == Ended("bye\n", 9)


def test_hooks_run_in_reverse_and_all_of_them(tmp_path: Path) -> None:
    definitions = callbacks("echo one", "false", event="containerExit") + callbacks(
        "echo two", event="taskFails"
    ).replace("name: one", "name: two")
    assert ended(job(definitions, "one, two", "exit 6"), tmp_path) == Ended("two\none\n", 6)
    assert ended(job(definitions, "one, two", "echo run"), tmp_path) == Ended("run\none\n", 1)


def test_commands_of_a_marketplace_run_with_their_variables_filled(tmp_path: Path) -> None:
    more = f"""\
extras:
  reference_prerequisites:
    - name: digits
      require:
        - {{name: "marketplace://name/digits", template_variables: {{dataPath: {tmp_path}/digits}}}}
    - name: photos
      require:
        - {{name: "marketplace://name/photos", template_variables: {{dataPath: /photos}}}}
    - name: debug
      require:
        - {{name: "marketplace://name/debug_hook", template_variables: {{minutes: 1}}}}
"""
    printed = (
        f"install wget\ndigits are in {tmp_path}/digits\nphotos/train to /photos\nphotos/test to /photos\n"
        "failed, waiting 1 minutes\n"
    )
    assert ended(job("", "digits, photos, debug", "exit 8", more), tmp_path) == Ended(printed, 8)
    assert (tmp_path / "digits").is_dir()


def test_an_old_job_runs_unchanged(tmp_path: Path) -> None:
    text = job(
        '  - {name: set, type: data, uri: ["https://example.com/set.git"]}\n', "", "echo clone <% $data.uri[0] %>"
    )
    text = text.replace("    prerequisites: []\n", "    data: set\n")
    assert expanded(job_of(text)).text == text
    assert ended(text, tmp_path) == Ended("clone https://example.com/set.git\n", 0)


_PIECES = st.sampled_from(
    [
        "echo ", "printf '[%s]' ", "'a b'", '"x $V y"', '"it\'s"', "'say \"hi\"'", "\\$", '\\"', "\\'", "\\\\", " ",
        "\t",
        "$'q\\n\\''", '"a\\tb"', "$V", "${V:-d}", "; ", "\n", "\\\n", "| cat\n", "&& echo ", "# note \"'\n",
        "if true; then echo ", "\nfi\n", "for i in 1 2; do echo $i; done\n", "$(echo \"s'\")", '<<<"h" cat',
        "cat <<E\n\"x' \\\\ $V\nE\n", "é", "\xa0", "*", '[[ $V == "v" ]] ', "{ echo b; }", '"\\n"', "'\\n'", '"#"',
        "<%x", "%>", "''",
    ]
)  # fmt: skip
_COMMANDS = st.lists(st.lists(_PIECES, min_size=1, max_size=6).map("".join), min_size=1, max_size=3)


@generated_cases(25)
@given(_COMMANDS, st.booleans())
def test_whatever_bash_takes_prints_the_same_as_a_callback(tmp_path: Path, commands: list[str], flow: bool) -> None:
    commands = ["V=v", *commands]
    lines = [line for command in commands for line in item_lines(command)]
    written = f" {flow_value(commands)}" if flow else "\n" + "\n".join(indented(lines, "      "))
    definition = f"  - name: one\n    type: script\n    callbacks:\n    - event: taskStarts\n      commands:{written}\n"
    text = job(definition, "one")
    meant = run_of(HEAD + ROLE % ("", "echo run"))
    script = "set -o errexit\n" + "".join(f"{command}\n" for command in commands)
    wanted = run_task(type(meant)((script,), meant.command, ()), tmp_path)
    got = ended(text, tmp_path)
    if wanted.status != 2:  # bash may report a syntax error on another line
        assert got == wanted
