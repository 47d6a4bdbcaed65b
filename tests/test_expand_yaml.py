"""The released job as text: exact results, comments kept, nothing extended left; a second time changes nothing."""

from __future__ import annotations

import pytest
from expansion import FOLDER, cases, job_of, marketplace
from job_text import HEAD

from pai_lsp.document import Document, check
from pai_lsp.expansion.released_job import expanded
from pai_lsp.findings.diagnostic import Severity

CASES = [*cases("yaml"), *cases("inline")]
IDS = [path.stem for name in ("yaml", "inline") for path in sorted((FOLDER / name).glob("*.yaml"))]
INLINE_FROM = len(list(cases("yaml")))


def expanded_case(number: int) -> str:
    job = job_of(CASES[number][0])
    result = expanded(job, [role.name for role in job.task_roles] if number >= INLINE_FROM else ())
    assert result.problems == ()
    assert result.text is not None
    return result.text


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_the_released_job_is_exactly_this(number: int) -> None:
    assert expanded_case(number) == CASES[number][1]


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_expanding_an_expanded_job_changes_nothing(number: int) -> None:
    text = expanded_case(number)
    assert expanded(job_of(text)).text == text


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_an_expanded_job_has_no_error_and_needs_no_expansion(number: int) -> None:
    found = check(Document(expanded_case(number), lookup=marketplace()))
    assert [one for one in found if one.severity is Severity.ERROR or one.code == "needs-expansion"] == []


def test_a_released_job_stays_as_it_is() -> None:
    before, after = CASES[IDS.index("released")]
    assert before == after


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize("name", ["own-definitions", "hooks"])
def test_line_ends_stay_those_of_the_file(name: str, newline: str) -> None:
    before, after = (text.replace("\n", newline) for text in CASES[IDS.index(name)])
    assert expanded(job_of(before)).text == after
    assert "cannot-be-expanded" not in [one.code for one in check(Document(before))]


def test_a_job_without_prerequisites_gets_them_before_its_task_roles() -> None:
    head, roles = (
        "protocolVersion: 2\nname: short\ntype: job\n",
        "taskRoles:\n  worker:\n    commands: [python train.py]\n",
    )
    used = f"{roles}    prerequisites: [marketplace://name/install_wget]\n"
    assert expanded(job_of(head + used)).text == (
        f"{head}prerequisites:\n  # from marketplace://name/install_wget\n  - name: install_wget\n    type: script\n"
        "    plugin: com.microsoft.pai.runtimeplugin.cmd\n    callbacks:\n      - event: taskStarts\n"
        f'        commands:\n          - echo "install wget"\n{roles}    prerequisites: [install_wget]\n'
    )
    (problem,) = expanded(job_of("{taskRoles: {w: {prerequisites: ['marketplace://name/install_wget']}}}")).problems
    assert (problem.span.start, problem.message) == (0, "this job has no list of prerequisites to add to")


def test_blank_lines_that_a_block_keeps_stay() -> None:
    before, _ = CASES[IDS.index("extras-at-the-end")]
    keeping = "description: |+\n  Two lines.\n\n"
    text = before.replace("extras:", f"{keeping}extras:")
    result = expanded(job_of(text)).text
    assert result is not None
    assert result.endswith(f"\n\n{keeping}")
    assert job_of(result).plain["description"] == job_of(text).plain["description"] == "Two lines.\n\n"


def test_a_file_without_a_last_line_end_can_be_added_to() -> None:
    text = CASES[IDS.index("only-references")][0].rstrip("\n")
    extras = text[text.index("extras:") :]
    moved = f"{text.removesuffix(extras).rstrip()}\n".replace("taskRoles:", f"{extras}\ntaskRoles:")
    lines = moved.rstrip("\n").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("prerequisites:"))
    block = 'prerequisites:\n  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}'
    last = "\n".join([*lines[:start], *lines[start + 1 :], block])
    result = expanded(job_of(last)).text
    assert result is not None
    assert result.endswith('          - mkdir -p /my data\n          - echo "digits are in /my data"')
    assert expanded(job_of(result)).text == result


ALIASES = (
    HEAD
    + """\
  - &base
    name: first
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: &callbacks
      - event: EVENT
        commands: [echo hello]
  - name: second
    type: script
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks: *callbacks
  - <<: *base
    name: third
    require: [first]
taskRoles:
  worker: &worker
    instances: 1
    dockerImage: image
    prerequisites: &needed [third, second]
    resourcePerInstance: &small {cpu: 1, memoryMB: 1024, gpu: 0}
    commands: &commands [python train.py]
  other:
    <<: *worker
    prerequisites: *needed
  alone:
    instances: 1
    dockerImage: image
    resourcePerInstance: *small
    commands: COMMANDS
"""
)


def test_shared_text_is_changed_once_for_all_who_share_it() -> None:
    text = ALIASES.replace("EVENT", "containerStart").replace("COMMANDS", "[python alone.py]")
    result = expanded(job_of(text))
    assert result.problems == ()
    assert result.text is not None
    assert "prerequisites: &needed [first, third, second]" in result.text
    assert result.text.count("event: taskStarts") == 2
    assert expanded(job_of(result.text)).text == result.text


def test_shared_text_that_must_become_different_texts_is_a_problem_at_the_role() -> None:
    text = ALIASES.replace("EVENT", "taskFails").replace("COMMANDS", "*commands")
    result = expanded(job_of(text))
    assert result.text is None
    (problem,) = result.problems
    assert text[problem.span.start : problem.span.end] == "alone"
    assert problem.message == "'alone' shares its commands with a task role that needs other ones"


def test_an_edit_that_reaches_further_than_it_should_is_noticed() -> None:
    shared = '&shared echo "it\'s"'
    text = CASES[IDS.index("released")][0].replace("- grep '\\d' file", f"- {shared}")
    text = text.replace('commands: ["wget <% $data.uri[0] %>"]', "commands: [*shared]")
    result = expanded(job_of(text))
    assert result.text is None
    assert [problem.message for problem in result.problems] == [
        (
            "the expanded 'worker' would run 'echo $'it\\'s'' instead of 'echo \"it's\"'; if text is shared through an "
            "alias or '<<', write it out"
        )
    ]


def chain(length: int, width: int) -> str:
    """A job whose role needs a chain of so many prerequisites, and one that requires so many at once."""
    head = CASES[IDS.index("released")][0].partition("  - type: data")[0]
    call = "callbacks: [{event: taskStarts, commands: [echo %s]}]}\n"
    deep = [
        f"  - {{name: deep{number}, type: script, require: [deep{number + 1}], " + call % f"deep{number}"
        for number in range(length - 1)
    ]
    deep.append(f"  - {{name: deep{length - 1}, type: script, " + call % f"deep{length - 1}")
    wide = [f"  - {{name: wide{number}, type: script, " + call % f"wide{number}" for number in range(width)]
    names = ", ".join(f"wide{number}" for number in range(width))
    top = f"  - {{name: top, type: script, require: [{names}], " + call % "top"
    role = (
        "taskRoles:\n  worker:\n    instances: 1\n    dockerImage: image\n    prerequisites: [deep0, top]\n"
        "    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}\n    commands: [echo end]\n"
    )
    return "".join([head, *deep, *wide, top, role])


@pytest.mark.slow
def test_deep_and_wide_requirements_expand() -> None:
    result = expanded(job_of(chain(1000, 1000)))
    assert result.problems == ()
    assert result.text is not None
    names = [f"deep{number}" for number in reversed(range(1000))] + [f"wide{number}" for number in range(1000)]
    assert f"prerequisites: [{', '.join([*names, 'top'])}]" in result.text
    assert "require" not in result.text


def test_a_mistake_in_a_type_stays_for_the_checker() -> None:
    text = CASES[IDS.index("released")][0].replace("type: dockerimage", "type: dockerImage")
    result = expanded(job_of(text))
    assert "type: dockerImage" in (result.text or "")


def test_a_list_of_prerequisites_that_loses_all_goes() -> None:
    head, role = "protocolVersion: 2\nname: none\ntype: job\n", "taskRoles:\n  worker: {instances: 1, commands: [ls]}\n"
    listed = "prerequisites:\n  # not yet\n  - {name: login, type: script, plugin: ssh}\n"
    assert expanded(job_of(head + listed + role)).text == head + role


@pytest.mark.parametrize(
    ("role", "opened"),
    [
        ("\n    <rest>\n    commands: [cd /a, 'train.py --rate 1', 10]\n", "<rest>\n    commands:\n"),
        ("\n    <rest>\n    commands:\n      [cd /a,\n       'train.py --rate 1', 10]\n", "<rest>\n    commands:\n"),
        (" {<flow>, commands: [cd /a, 'train.py --rate 1', 10]}\n", "resourcePerInstance: {cpu: 1, gpu: 0}\n"),
    ],
    ids=["list", "below", "role"],
)
def test_brackets_are_opened_for_scripts(role: str, opened: str) -> None:
    rest = "dockerImage: img\n    prerequisites: [tools]\n    resourcePerInstance: {cpu: 1, gpu: 0}"
    text = (
        "protocolVersion: 2\nname: flow\ntype: job\nprerequisites:\n  - {name: img, type: dockerimage, uri: a/b:1}\n"
        "  - {name: tools, type: script, callbacks: [{event: taskFails, commands: [echo failed]}]}\n"
        "taskRoles:\n  worker:" + role.replace("<rest>", rest).replace("<flow>", rest.replace("\n    ", ", "))
    )
    found = expanded(Document(text).job)
    assert found.text is not None, found.problems
    assert opened.replace("<rest>", rest.replace("\n    prerequisites: [tools]", "")) in found.text
    ended = "        echo failed\n        PAI_LSP_END\n      - pai_lsp_commands\n"
    assert found.text.endswith(f"{ended}      - cd /a\n      - 'train.py --rate 1'\n      - 10\n")
    assert "\n      - |-\n        # Runs the commands in a process of their own" in found.text
    assert expanded(Document(found.text).job).text == found.text
    for kept in ("# a comment\n", "&anchor "):
        again = expanded(Document(text.replace("[cd /a,", f"[{kept}      cd /a,")).job)
        assert again.text is not None
        assert kept in again.text
        assert again.text.rstrip().endswith(("]", "}"))
