"""What cannot be expanded, or not expressed on a released cluster, is reported on its line and never dropped."""

from __future__ import annotations

import pytest
from expansion import job_of, marketplace

from pai_lsp.document import Document, check
from pai_lsp.expansion.effective import effective_job
from pai_lsp.expansion.proof import proven
from pai_lsp.expansion.released_form import released_form
from pai_lsp.expansion.released_job import expanded
from pai_lsp.job.job import Job
from pai_lsp.source.syntax import parse

HEAD = """\
protocolVersion: 2
name: problems
type: job
parameters: {a: A, map: {k: v}, list: [x], tricky: "it's \\"x\\""}
secrets: {plain: abc, html: "a<b", both: "'\\"", odd: "a b", number: 5}
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
"""
ROLE = """\
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    prerequisites: [LISTED]
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: [COMMAND]
"""


def job(definitions: str, listed: str = "one", command: str = "echo run", extras: str = "") -> str:
    return HEAD + definitions + ROLE.replace("LISTED", listed).replace("COMMAND", command) + extras


def one(*lines: str) -> str:
    return "  - name: one\n    type: script\n" + "".join(f"    {line}\n" for line in lines)


def callback(event: str, *commands: str) -> str:
    return one("callbacks:", f"- event: {event}", "  commands:", *(f"    - {command}" for command in commands))


def test_a_definition_is_not_meant_by_its_own_requirement() -> None:
    for name, message in (("onne", "no prerequisite is named 'onne'"), ("ssh", "no prerequisite is named 'ssh'")):
        found = expanded(job_of(job(one(f"require: [{name}]", "plugin: com.microsoft.pai.runtimeplugin.cmd"))))
        assert [problem.message for problem in found.problems] == [message]


SSH = one("plugin: com.microsoft.pai.runtimeplugin.ssh", "jobssh: true")


@pytest.mark.parametrize(
    ("text", "right", "wrong", "message"),
    [
        (job(SSH), "type: job\n", "type: job\na: [\n", "expansion would produce an invalid job: the '[' is"),
        (job(SSH), "echo run", "echo ran", "the expanded 'worker' would run 'echo ran' instead of 'echo run'; if text"),
        (job(SSH), "[echo run]", "[echo run, ls]", "the expanded 'worker' would run 'ls'; if text is shared"),
        (job(SSH), "[one]", "[]", "the expanded 'worker' would run 'echo run' instead of 'ssh'; if text is shared"),
        (job(SSH), "plugin.ssh", "plugin.git", "the expanded 'worker' would run 'git' instead of 'ssh'; if text"),
        (job(callback("taskFails", "echo bad")), "bad", "no", "the expanded 'worker' would run 'echo no'"),
    ],
)  # fmt: skip
def test_another_text_is_no_proof(text: str, right: str, wrong: str, message: str) -> None:
    before = job_of(text)
    form, after = released_form(before, effective_job(before)), expanded(before).text or ""
    assert proven(before, after, form).problems == ()
    found = proven(before, after.replace(right, wrong), form)
    assert [text[one.span.start : one.span.end] for one in found.problems] == ["worker"]
    assert found.problems[0].message.startswith(message)
    assert found.run is None


def problems(text: str, *, inline: bool = False) -> list[tuple[str, str, str]]:
    """Code, words of the file and message of each problem; without any, the job has a text."""
    found = expanded(job_of(text), ["worker"] if inline else ())
    assert (found.text is None) == bool(found.problems)
    return [(one.code, text[one.span.start : one.span.end], one.message) for one in found.problems]


@pytest.mark.parametrize(
    ("text", "code", "words", "message"),
    [
        (job("", "absent"), "unknown-prerequisite", "absent", "no prerequisite is named 'absent'"),
        (
            job(one("require: [two]", "callbacks: [{event: taskStarts, commands: [echo]}]")),
            "unknown-required-prerequisite",
            "two",
            "no prerequisite is named 'two'",
        ),
        (
            job("", '"marketplace://name/nothing"'),
            "unknown-marketplace-item",
            "marketplace://name/nothing",
            "the marketplace has no 'marketplace://name/nothing'",
        ),
        (
            job("", '"marketplace://name/needs_unknown"'),
            "unknown-marketplace-item",
            "marketplace://name/needs_unknown",
            "'marketplace://name/needs_unknown' requires 'marketplace://name/nowhere', which does not exist",
        ),
        (
            job("", '"marketplace://name/cycle"'),
            "prerequisite-cycle",
            "marketplace://name/cycle",
            "'cycle' requires itself",
        ),
        (
            job("  - {name: two, type: script, require: [one]}\n" + one("require: [two]")),
            "prerequisite-cycle",
            "one",
            "prerequisite cycle: 'one' → 'two' → 'one'",
        ),
        (
            job("", '"marketplace://name/digits"'),
            "unfilled-template-variable",
            "marketplace://name/digits",
            (
                "'marketplace://name/digits' needs a value for 'dataPath'; "
                "set it in a 'require', because the list of a task role cannot set values"
            ),
        ),
        (
            job(
                one("require: [{name: two, template_variables: {v: 1}}]")
                + "  - {name: two, type: script, template_variables: [{name: v}], "
                "callbacks: [{event: taskStarts, commands: ['echo {{ v }} {{ w }}']}]}\n"
            ),
            "undeclared-template-variable",
            "w",
            "template variable 'w' is not declared",
        ),
        (
            job(callback("taskStart", "echo")),
            "invalid-event",
            "taskStart",
            "'taskStart' is not an event; did you mean 'taskStarts'?",
        ),
        (
            job(callback("taskStarts", "echo <% this.nothing %>")),
            "unresolved-this",
            "nothing",
            "neither 'one' nor a definition that it requires has a parameter 'nothing'",
        ),
        (
            job(callback("taskStarts", "echo a: b")),
            "cannot-be-expanded",
            "echo a: b",
            "a command must be a string, not a mapping",
        ),
        (
            job(one("callbacks: {event: taskStarts}")),
            "cannot-be-expanded",
            "{event: taskStarts}",
            "'callbacks' must be a list of mappings with 'event' and 'commands'",
        ),
        (
            job(one("callbacks: [{event: taskStarts}]")),
            "cannot-be-expanded",
            "{event: taskStarts}",
            "a callback needs 'commands'",
        ),
        (
            job(callback("taskStarts", "echo <% $parameters.nothing %>")),
            "cannot-be-expanded",
            "echo <% $parameters.nothing %>",
            "'$parameters.nothing' finds nothing",
        ),
        (
            job(callback("taskStarts", "echo <% $parameters.map %>")),
            "cannot-be-expanded",
            "echo <% $parameters.map %>",
            "'$parameters.map' is not a single value",
        ),
        (
            job(callback("taskStarts", "echo <% $secrets.number %>")),
            "cannot-be-expanded",
            "echo <% $secrets.number %>",
            "'$secrets.number' is not text, and the runtime fills only text into plugin parameters",
        ),
        (
            job(callback("taskStarts", "echo <% $secrets.both %>")),
            "cannot-be-expanded",
            "echo <% $secrets.both %>",
            "a value in this command holds quotes or other characters that the runtime changes",
        ),
        (
            job(callback("taskStarts", "echo 'x' \"<% $secrets.odd %>\"")),
            "cannot-be-expanded",
            "echo 'x' \"<% $secrets.odd %>\"",
            "a secret in a command with these quotes must consist of letters, digits and any of '_./:@%+=,-'",
        ),
        (
            job(callback("taskFails", "echo <% $secrets.html %>")),
            "cannot-be-expressed",
            "echo <% $secrets.html %>",
            "the runtime writes the secret '$secrets.html' as HTML among commands, which changes it",
        ),
        (
            job(
                one("requireStorages: [{name: disk, mountPath: /a}]"),
                extras="extras: {storages: [{name: disk, mountPath: /b}]}\n",
            ),
            "storage-conflict",
            "/a",
            "the storage 'disk' is already mounted at '/b'",
        ),
        (
            job(one("requireStorages: [{name: disk, mountPath: /a}, {name: other, mountPath: /a}]")),
            "storage-conflict",
            "/a",
            "the storage 'disk' is already mounted at '/a'",
        ),
        (
            job(one("plugin: com.microsoft.pai.runtimeplugin.nothing", "x: 1")),
            "task-never-starts",
            "one",
            "the task never starts: the runtime has no plugin 'nothing'",
        ),
        (
            job(one("callbacks: [{event: taskStarts, commands: [echo]}", "x: 1")),
            "yaml-syntax",
            "",
            "",
        ),
    ],
)
def test_what_cannot_be_expanded_is_reported_on_its_words(text: str, code: str, words: str, message: str) -> None:
    found = problems(text)
    assert [one[0] for one in found] == [code]
    if message:
        assert found == [(code, words, message)]


def test_the_other_storage_of_a_conflict_is_named() -> None:
    text = job(one("requireStorages: [{name: disk, mountPath: /a}, {name: other, mountPath: /a}]"))
    (found,) = expanded(job_of(text)).problems
    (other,) = found.related
    assert (other.span.end, other.message) == (text.index("/a") + 2, "the other one")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "extras:\n  storages:\n    - name: disk\n      mountPath: /a\n"),
        ("extras: {storages: []}\n", "extras: {storages: [{name: disk, mountPath: /a}]}\n"),
        ("extras:\n  storages: []\n", "extras:\n  storages: [{name: disk, mountPath: /a}]\n"),
        ("extras: {storages: }\n", "extras: {storages: [{name: disk, mountPath: /a}]}\n"),
        (
            "extras:\n  storages:\n    - {name: b, mountPath: /b}\n",
            "extras:\n  storages:\n    - {name: b, mountPath: /b}\n    - name: disk\n      mountPath: /a\n",
        ),
    ],
)
def test_where_a_storage_comes(before: str, after: str) -> None:
    found = expanded(job_of(job(one("requireStorages: [{name: disk, mountPath: /a}]"), extras=before)))
    assert (found.problems, (found.text or "").partition("extras:")[2]) == ((), after.removeprefix("extras:"))


@pytest.mark.parametrize("word", ["return", "exit", "exec", "trap"])
def test_inlined_commands_stay_in_their_shell_whatever_words_they_print(word: str) -> None:
    for command, is_apart in ((f'echo "done, {word} to work"', False), (f"true && {word} 0 EXIT", True)):
        text = job(callback("taskStarts", "export DATA=/mnt/data", command), command="ls $DATA")
        found = expanded(job_of(text), ["worker"]).text or ""
        assert "export DATA" in found
        assert ("pai_lsp_run 'taskStarts of one'" in found) == is_apart


@pytest.mark.parametrize(
    "text",
    [
        job("", "onne"),
        job(one("require: [two]") + "  - {name: too, type: script}\n"),
        job("", '"marketplace://name/digit"'),
        job("", '"marketplace://name/needs_unknown"'),
        job("", '"marketplace://nothing"'),
        job("", '"marketplace://name/cycle"'),
        job("", '"marketplace://name/digits"'),
        job(one("require: [two]") + "  - {name: two, type: script, template_variables: [{name: a}, {name: b}]}\n"),
        job(one("template_variables: [{name: v}]", "callbacks: [{event: taskStarts, commands: ['{{ w }}']}]")),
        job(callback("taskStart", "echo")),
        job(callback("taskStarts", "echo <% this.nothing %>")),
        job(callback("taskStarts", "echo a: b")),
        job(one("callbacks: {event: taskStarts}")),
        job(one("callbacks: [taskStarts]")),
        job(one("callbacks: [{event: taskStarts}]")),
        job(one("callbacks: [{commands: [ls]}]")),
        job(one("callbacks: [{event: [taskStarts], commands: [ls]}]")),
        job(one("callbacks: [{event: taskStarts, commands: {ls: la}}]")),
        job(one("requireStorages: [{name: disk, mountPath: /a}, {name: other, mountPath: /a}]")),
        job(one("requireStorages: [{name: disk, mountPath: /a}, {name: disk, mountPath: /b}]")),
    ],
)
def test_expansion_reports_what_the_rules_report(text: str) -> None:
    reported = [one.message for one in check(Document(text, lookup=marketplace()))]
    found = problems(text)
    assert found
    assert [message for _, _, message in found if message not in reported] == []


def test_a_marketplace_that_could_not_be_asked_does_not_mean_that_it_has_nothing() -> None:
    text = job("", '"marketplace://name/digits"')
    found = expanded(Job(parse(text)))
    assert found.text is None
    assert [one.message for one in found.problems] == [
        "'marketplace://name/digits' could not be looked up: no marketplace is configured"
    ]


def test_a_problem_in_another_file_has_its_place_there_as_a_related_one() -> None:
    (problem,) = effective_job(job_of(job("", '"marketplace://name/needs_unknown"'))).problems
    (related,) = problem.related
    assert related.path == "marketplace/all.yaml"


def test_what_no_task_role_needs_keeps_no_job_from_being_expanded() -> None:
    text = job(callback("nonsense", "echo"), listed="")
    assert problems(text) == []


def test_a_mistake_that_has_nothing_to_do_with_expansion_stops_nothing() -> None:
    text = job(callback("containerStart", "echo")).replace("cpu: 1", "cpu: many")
    assert problems(text) == []


def test_a_plugin_moves_only_into_the_commands_of_roles_that_are_inlined() -> None:
    extras = (
        "extras:\n  com.microsoft.pai.runtimeplugin:\n"
        "    - {plugin: cmd, parameters: {preCommands: [echo plugin]}}\n"
    )  # fmt: skip
    text = job(callback("taskStarts", "echo"), extras=extras)
    second = text.replace(
        "extras:", "  other:\n    instances: 1\n    dockerImage: image\n    commands: [echo]\nextras:"
    )
    assert problems(text, inline=True) == []
    assert problems(second, inline=True) == []
    after = expanded(job_of(second), ["worker"]).text or ""
    assert "- {plugin: cmd, taskroles: [other], parameters:" in after
    assert "# taskStarts of the cmd plugin of extras\n        echo plugin" in after


@pytest.mark.parametrize("name", ["both", "html", "odd"])
def test_no_message_contains_a_secret(name: str) -> None:
    value = {"both": "'\"", "html": "a<b", "odd": "a b"}[name]
    for event in ("taskStarts", "taskFails"):
        text = job(callback(event, f"echo 'x' \"<% $secrets.{name} %>\""))
        assert all(value not in message for _, _, message in problems(text))
