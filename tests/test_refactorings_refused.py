"""Refactorings that are not possible give the reason; where none applies, none is offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from budgets import IS_FAST, some, stride
from expansion import MemoryLookup, run_of, run_task
from marks import read_marks
from test_refactorings import document, edits_of, offered, read_selection

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.ide.refactorings import made, refactorings
from pai_lsp.source.text import Span, apply_edits

HEAD = """\
protocolVersion: 2
name: refactored
type: job
prerequisites:
  - type: dockerimage
    name: image
    uri: "ubuntu:20.04"
"""
ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}
"""
EXTRACT = "Extract into a prerequisite 'setup'"


def job(*commands: str, before: str = "", after: str = "", role: str = "") -> str:
    lines = "".join(f"      - {command}\n" for command in commands)
    return f"{HEAD}{before}{ROLE}{role}    commands:\n{lines}{after}"


def reason(marked: str, title: str) -> str:
    text, span = read_selection(marked)
    found = offered(text, span, title)
    assert found.make is None
    return found.disabled_reason


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (("⟦echo a⟧",), "a task role must keep at least one command"),
        (("echo a", "⟦echo b⟧", "echo c"), "only the first commands can run before the others"),
        (("⟦cd /data⟧", "ls"), "'cd' has no effect on the commands after a callback"),
        (("⟦export A=1⟧", "ls"), "'A' is exported, which has no effect outside its callback"),
        (("⟦A=1⟧", "echo $A"), "'A' is set here and used by the commands after it"),
        (("⟦echo ${A:=1}⟧", "echo $A"), "'A' is set here and used by the commands after it"),
        (("⟦source env.sh⟧", "ls"), "they may set variables that the commands after them use"),
        (("⟦'f() { echo; }'⟧", "f"), "a function is not known outside its callback"),
        (("⟦serve &⟧", "ls"), "a command in the background only lives as long as its callback"),
        (("⟦exit 0⟧", "ls"), "'exit' has no effect on the commands after a callback"),
        (
            ("⟦if true; then⟧", "ls", "fi"),
            "these commands contain only a part of a block, such as an 'if', that other commands complete",
        ),
        (("⟦'echo \"it''s\"'⟧", "ls"), "the runtime changes a callback's command that holds both ' and \""),
        (("⟦echo a\\b⟧", "ls"), "the runtime changes a callback's command that holds a backslash"),
        (("⟦echo <% $parameters.lr %>⟧", "ls"), "a value that is filled in here reaches commands, but no callback"),
        (("⟦echo <% $parameters.none %>⟧", "ls"), "'$parameters.none' finds nothing"),
        (("⟦echo <% parameters %>⟧", "ls"), "a '<% %>' in them is filled in commands, but not in a callback"),
        (("⟦echo <% $secrets.key %>⟧", "ls"), "the secret 'key' is written as HTML in commands alone"),
    ],
)
def test_commands_that_can_not_become_a_callback(commands: tuple[str, ...], expected: str) -> None:
    values = 'parameters: {lr: 0.1}\nsecrets: {key: "a&b"}\n'
    assert reason(job(*commands, after=values), EXTRACT) == expected


@pytest.mark.parametrize(
    "command",
    [
        "echo done",
        "echo if you like",
        "echo 'case }'",
        "echo }",
        "( cd /data; make )",
        "case a in a) ls ;; esac",
        "|-\n        cat > a.sh <<EOF\n        if [ -f x\n        EOF",
        "|-\n        for i in 1 2; do\n          echo done\n        done",
    ],
)
def test_complete_commands_become_a_callback_whatever_words_they_hold(command: str) -> None:
    text, span = read_selection(job(f"⟦{command}⟧", "ls"))
    after = apply_edits(text, edits_of(offered(text, span, EXTRACT)))
    assert "event: taskStarts" in after
    assert "callbacks" in after


@pytest.mark.parametrize(
    ("command", "after"),
    [("cat <<EOF", "EOF"), ("'{ ls'", "}"), ("ls |", "cat"), ("ls &&", "cat"), ("echo `ls", "`"), ("f()", "{ ls; }"),
     ("( ls", ")"), ("while true; do", "done"), ("select x in a; do", "done"), ("until a", "do b; done")],
)  # fmt: skip
def test_commands_that_others_end_stay(command: str, after: str) -> None:
    expected = "these commands contain only a part of a block, such as an 'if', that other commands complete"
    assert reason(job(f"⟦{command}⟧", f'"{after}"'), EXTRACT) == expected


@pytest.mark.parametrize(
    ("after", "command", "expected"),
    [
        (
            "deployments:\n  - {name: d, taskRoles: {worker: {preCommands: [ls]}}}\ndefaults: {deployment: d}\n",
            "echo a",
            "the deployment 'd' runs commands in front of these",
        ),
        (
            "extras: {com.microsoft.pai.runtimeplugin: [{plugin: cmd, parameters: {preCommands: [ls]}}]}\n",
            "echo a",
            "the cmd plugin of extras runs between the prerequisites and the commands",
        ),
        (
            "extras: {com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: true}}]}\n",
            "ssh worker-0 ls",
            "'ssh' needs the ssh plugin, which starts after the prerequisites",
        ),
        (
            "extras: {com.microsoft.pai.runtimeplugin: [{plugin: ours}]}\n",
            "echo a",
            "the plugin 'ours' starts between the prerequisites and the commands",
        ),
    ],
)
def test_something_runs_between_prerequisites_and_commands(after: str, command: str, expected: str) -> None:
    assert reason(job(f"⟦{command}⟧", "ls", after=after), EXTRACT) == expected


def test_a_plugin_that_is_for_another_role_or_does_not_matter_is_no_obstacle() -> None:
    plugins = (
        "extras: {com.microsoft.pai.runtimeplugin: [{plugin: cmd, taskroles: [ps]},"
        " {plugin: ssh, parameters: {jobssh: true}}]}\n"
    )
    text, span = read_selection(job("⟦pip install wheel⟧", "ls", after=plugins))
    assert edits_of(offered(text, span, EXTRACT))


def test_shared_commands_stay() -> None:
    text = job("⟦echo a⟧", "echo b").replace("    commands:\n", "    commands: &all\n") + (
        "  ps:\n    instances: 1\n    dockerImage: image\n"
        "    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}\n    commands: *all\n"
    )
    expected = "the commands of 'worker' are shared through an anchor; write them out first"
    assert reason(text, EXTRACT) == expected


@pytest.mark.parametrize("marked", ["ec⟦ho a⟧", "e$0cho a", "⟦echo⟧ a", "echo '⟦  ⟧'"])
def test_a_part_of_a_command_is_not_extracted(marked: str) -> None:
    text, span = read_selection(job(marked, "ls"))
    assert not [one for one in refactorings(document(text), span) if one.title.startswith("Extract")]


@pytest.mark.parametrize(
    "marked",
    [
        "ec$0ho a",  # the program
        "train --lr <% $parame$0ters.lr %>",
        "⟦train <%⟧ $parameters.lr %>",
        "train --verb$0ose",
        "'train ⟦it'⟧'s'",  # half of an escape
        "train --lr $0$LR",
    ],
)
def test_nothing_becomes_a_parameter(marked: str) -> None:
    text, span = read_selection(job(marked, after="parameters: {lr: 0.1}\n"))
    assert [one.title for one in refactorings(document(text), span)] == []


def test_a_name_that_is_taken_by_another_value() -> None:
    text, span = read_selection(job("train --lr $00.2 <% $parameters.lr %>", after="parameters: {lr: 0.1}\n"))
    edits = edits_of(offered(text, span, "Move to the parameter 'lr_2'"))
    assert "parameters: {lr: 0.1, lr_2: 0.2}" in apply_edits(text, edits)


def test_quotes_are_not_filled_into_a_plugin() -> None:
    login = "  - {type: script, name: login, plugin: com.microsoft.pai.runtimeplugin.cmd, callbacks: [CALLBACK]}\n"
    login = login.replace("CALLBACK", '{event: taskStarts, commands: ["echo ⟦it\'s⟧"]}')
    text = job("ls", before=login, role="    prerequisites: [login]\n")
    expected = "the runtime cannot fill quotes or backslashes into a plugin's parameters"
    assert reason(text, "Move to the parameter 'value'") == expected
    assert reason(text, "Move to the secret 'token'") == expected


def test_what_looks_like_a_secret_is_left_to_its_rule() -> None:
    text, span = read_selection(job("git clone https://bob:⟦0a1b2c3d4e⟧@example.com/a.git"))
    found = document(text)
    assert [one.code for one in found.diagnostics if one.fixes] == ["secret-in-clear"]
    assert refactorings(found, span) == []


def test_secrets_that_could_be_read_or_would_be_changed() -> None:
    html = "the runtime would write a secret with any of &<>\"' as HTML here"
    assert reason(job("login ⟦a&b⟧"), "Move to the secret 'token'") == html
    flow = "{protocolVersion: 2, name: a, type: job, taskRoles: {worker: {commands: [login ⟦abc⟧]}}}\n"
    hidden = "the rest-server hides secrets only if 'secrets:' is at the start of a line"
    assert reason(flow, "Move to the secret 'token'") == hidden


SETUP = """\
  - name: first
    type: script
    callbacks: [{event: taskStarts, commands: [echo first]}]
  - name: second
    type: script
    callbacks: [{event: EVENT, commands: [echo second]}]
"""
INLINE = "Inline 'first' into the commands of 'worker'"


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("[$0first, second]", "'second' runs between 'first' and the commands; inline it first"),
        ("[$0first, none]", "no prerequisite is named 'none'"),
    ],
)
def test_commands_that_would_run_at_another_time_are_not_inlined(listed: str, expected: str) -> None:
    text = job("ls", before=SETUP.replace("EVENT", "taskStarts"), role=f"    prerequisites: {listed}\n")
    assert reason(text, INLINE) == expected


def test_what_runs_at_the_end_does_not_leave_the_runtime_before_what_may_fail() -> None:
    text = job("ls", before=SETUP.replace("EVENT", "taskSucceeds"), role="    prerequisites: [second, $0hook]\n")
    text = text.replace("  - name: first\n", "  - name: hook\n", 1).replace("taskStarts", "containerExit")
    title = "Inline 'hook' into the commands of 'worker'"
    expected = "commands of 'hook' at the end would not run when 'second' fails; inline all prerequisites at once"
    assert reason(text, title) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("remote", "'remote_login' is a plugin 'ssh', which is not a command"),
        ("shared", "'shared' only mounts a storage"),
    ],
)
def test_what_is_no_command_is_not_inlined(reference: str, expected: str) -> None:
    before = """\
  - name: remote
    type: script
    require: [{name: "marketplace://name/remote_login", template_variables: {everywhere: true}}]
  - name: shared
    type: script
    require: [{name: "marketplace://name/shared_storage", template_variables: {mountPath: /mnt}}]
"""
    text = job("ls", before=before, role=f"    prerequisites: [$0{reference}]\n")
    assert reason(text, f"Inline '{reference}' into the commands of 'worker'") == expected


def test_a_copy_that_would_run_twice_is_not_made() -> None:
    before = '  - {name: other, type: script, require: ["marketplace://name/install_wget"]}\n'
    text = job("ls", before=before, role='    prerequisites: ["$0marketplace://name/install_wget", other]\n')
    expected = "other prerequisites also require it, so it would run twice"
    assert reason(text, "Copy 'install_wget' into the job") == expected
    assert reason(text, "Import 'install_wget' and what it requires into the job") == expected


def test_a_job_that_can_not_be_expanded_says_why() -> None:
    text = job("ls", role='    prerequisites: ["$0marketplace://name/needs_unknown"]\n')
    expected = "'marketplace://name/needs_unknown' requires 'marketplace://name/nowhere', which does not exist"
    assert reason(text, "Import 'needs_unknown' and what it requires into the job") == expected
    whole = text.replace("$0", "").replace("name:", "$0name:", 1)
    assert reason(whole, "Expand the job for submission") == expected


def test_a_former_job_that_can_not_be_read() -> None:
    assert reason('$0{"jobName": "a", "taskRoles": [{"command": "ls"}], "image": }}\n', "Convert to protocol version 2")


@pytest.mark.parametrize(
    "text", ["", "a: 1\n", "- a\n", "taskRoles: [1]\n", "jobName: 1\ntaskRoles: {a: 1}\n", HEAD + ROLE, "{{ a }}\n"]
)
def test_any_file_at_any_place(text: str) -> None:
    parsed = document(text)
    for offset in range(0, len(text) + 1, stride(3)):
        for span in (Span(offset, offset), Span(offset, len(text))):
            for offer in refactorings(parsed, span):
                found = made(offer)
                assert (found.make is None) == bool(found.disabled_reason)
                apply_edits(text, found.make() if found.make else ())


def test_what_is_extracted_stops_where_it_stopped(tmp_path: Path) -> None:
    """A callback alone would go on after an unset variable and a broken pipe."""
    for first in ("echo $NOT_SET_ANYWHERE", "false | cat", "echo one | cat"):
        text, span = read_selection(job(f"⟦{first}⟧", "echo two"))
        edits = edits_of(offered(text, span, EXTRACT))
        before, after = (run_task(run_of(one), tmp_path) for one in (text, apply_edits(text, edits)))
        assert before == after
        assert before.printed == ("one\ntwo\n" if before.status == 0 else "")


def test_a_copied_definition_requires_by_address_what_stood_beside_it() -> None:
    lookup = MemoryLookup(
        "- {name: tools, plugin: cmd, plugin_params: {callbacks: [{event: taskStarts, commands: [echo tools]}]}}\n"
        "- {name: photos, require: [tools, {name: tools}]}\n"
    )
    text, span = read_selection(job("ls", role='    prerequisites: ["$0marketplace://name/photos"]\n'))
    found = refactorings(Document(text, Settings(), "job.pai.yaml", lookup), span)
    copied = next(one for one in found if one.title == "Copy 'photos' into the job")
    lines = "    require:\n      - marketplace://name/tools\n      - name: marketplace://name/tools\n"
    assert lines in apply_edits(text, edits_of(made(copied)))


RULES = sorted((Path(__file__).parent / "rules").glob("*.yaml"))


@pytest.mark.parametrize("path", some(RULES, 6), ids=lambda path: path.stem)
def test_faulty_jobs_are_not_made_worse(path: Path) -> None:
    text, _ = read_marks(path.read_bytes().decode())
    before = document(text)
    seen: set[str] = set()
    for number in range(0, len(before.lines), 5 if IS_FAST else 1):
        line = before.lines.line_span(number)
        middle = (line.start + line.end) // 2
        for span in (line, Span(middle, middle), Span(line.end, line.end)):
            for offer in refactorings(before, span):
                found = made(offer) if offer.title not in seen else None
                seen.add(offer.title)
                if found and found.make:
                    after = document(apply_edits(text, found.make()))
                    assert len(after.syntax.problems) <= len(before.syntax.problems), offer.title
