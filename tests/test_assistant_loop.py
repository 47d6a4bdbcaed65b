"""The loop of an assistant: check, fix, until the job is clean.

A scripted writer makes mistakes, and knows only what `check` and `fix` answer. It applies the edits of `fix`, and of
each finding that is left the edit that the finding offers. A writer who also remembers what the job was meant to be
writes the lines anew that `check` marks, where nothing is offered.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from assistant_mistakes import broken_job
from budgets import some
from slips import slip
from test_slips import BASES

from pai_lsp.assistant.allowed_files import AllowedFiles
from pai_lsp.assistant.assistant_tools import answer
from pai_lsp.source.text import LineIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_ROUNDS = 3


def ask(tool: str, **arguments: Any) -> dict[str, Any]:
    return answer(tool, arguments, AllowedFiles())


def lines_of(text: str) -> list[str]:
    index = LineIndex(text)
    return [text[index.line_start(number) : index.line_start(number + 1)] for number in range(len(index))]


def edited(text: str, edits: list[dict[str, Any]]) -> str | None:
    """The text after edits of whole lines; asterisks stand for what is there already. None where they do not fit."""
    lines = lines_of(text)
    for edit in reversed(edits):
        here, new = "".join(lines[edit["line"] - 1 : edit["end_line"]]), edit["new"]
        if here != edit["old"]:
            parts = (part for part in re.split(r"(\*+)", edit["old"]) if part)
            found = re.fullmatch(
                "".join("(.+?)" if part[0] == "*" else re.escape(part) for part in parts), here, re.DOTALL
            )
            first, *others = re.split(r"\*+", new)
            if found is None or len(others) != len(found.groups()):
                return None
            new = first + "".join(map("".join, zip(found.groups(), others, strict=True)))
        lines[edit["line"] - 1 : edit["end_line"]] = [new]
    return "".join(lines)


def written_anew(text: str, meant: str, findings: list[dict[str, Any]]) -> str:
    """The text with the lines as they were meant that differ, and that are marked or touch what is marked."""
    old, new = lines_of(text), lines_of(meant)
    marked = {number for one in findings for number in range(one["line"] - 2, one["end_line"] + 1)}
    result: list[str] = []
    for tag, begin, end, new_begin, new_end in SequenceMatcher(None, old, new, False).get_opcodes():
        is_marked = tag != "equal" and not marked.isdisjoint(range(begin, max(end, begin + 1)))
        result += new[new_begin:new_end] if is_marked else old[begin:end]
    return "".join(result)


def rounds(text: str, meant: str | None = None) -> int | None:
    """After how many rounds the job is clean; None if it does not become so."""
    for number in range(MOST_ROUNDS + 1):
        if ask("check", text=text)["clean"]:
            return number
        fixed = ask("fix", text=text)
        after = edited(text, fixed["edits"])
        for one in reversed(fixed["left"]):
            if after is not None and "fix" in one:
                after = edited(after, one["fix"]["edits"]) or after
        if after in {text, None} and meant is not None:
            after = written_anew(text, meant, ask("check", text=text)["findings"])
        if after is None or after == text:
            return None
        text = after
    return None


def templates() -> tuple[str, ...]:
    """Jobs as an assistant begins them."""
    parameters = {"parameters": {"lr": "0.1"}, "command": "python train.py --lr <% $parameters.lr %>"}
    asked: list[dict[str, Any]] = [
        {"template": "job", **parameters},
        {"template": "pytorch job", "storages": {"data": "/data"}},
        {"template": "distributed job"},
    ]
    return tuple(ask("new_job", **one)["text"] for one in asked)


def broken(seeds: Iterable[int]) -> Iterator[str]:
    """Jobs with mistakes that assistants make; those that are still right do not count."""
    bases = (*BASES, *templates())
    texts = (broken_job(seed, bases).text for seed in seeds)
    return (text for text in texts if not ask("check", text=text)["clean"])


def share_of_clean(results: list[int | None]) -> float:
    return sum(one is not None for one in results) / len(results)


def test_the_bases_are_clean_and_a_seed_gives_the_same_job() -> None:
    assert all(ask("check", text=text)["clean"] for text in (*BASES, *templates()))
    assert [broken_job(seed, BASES) for seed in range(40)] == [broken_job(seed, BASES) for seed in range(40)]


def test_the_usual_mistakes_of_an_assistant_are_fixed() -> None:
    assert share_of_clean([rounds(text) for text in broken(range(45))]) >= 0.9


@pytest.mark.slow
def test_the_usual_mistakes_in_200_jobs() -> None:
    assert share_of_clean([rounds(text) for text in broken(range(215))]) >= 0.95


@pytest.mark.slow
def test_slips_of_a_person() -> None:
    """Many of them lose what only the author knows, such as a line or a value; then the place is marked."""
    made = [(one.text, base) for seed in some(range(260)) if (one := slip(seed, (base := BASES[seed % len(BASES)],)))]
    wrong = [(text, base) for text, base in made if not ask("check", text=text)["clean"]]
    assert len(wrong) > 0.8 * len(made)
    alone = [rounds(text) for text, _ in wrong]
    assert share_of_clean(alone) >= 0.7
    assert share_of_clean([rounds(text, base) for text, base in wrong]) >= 0.93


TASKS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "assistant_tasks.yaml").read_text(encoding="utf-8")
)


def solution(task: dict[str, Any]) -> str:
    """The job that the scripted assistant makes: new_job, its changes, then check and fix until it is clean."""
    text: str = ask("new_job", **task["new_job"])["text"]
    for old, new in task.get("changes", {}).items():
        assert old in text
        text = text.replace(old, new, 1)
    for _ in range(MOST_ROUNDS):
        if ask("check", text=text)["clean"]:
            break
        text = edited(text, ask("fix", text=text)["edits"]) or text
    return text


def faults(job: dict[str, Any], expects: dict[str, Any]) -> list[str]:
    """What a job lacks of what a task expects."""
    commands = "\n".join(command for role in job["taskRoles"].values() for command in role["commands"])
    return [
        path
        for path, expected in expects.items()
        if not (
            all(word in commands for word in expected)
            if path == "commands"
            else all(holds(value, expected) for value in at(job, re.split(r"(?<!\\)\.", path)))
        )
    ]


def at(value: Any, path: list[str]) -> list[Any]:
    """The values at a path, where `*` is every key; None for one that is not there."""
    if not path:
        return [value]
    if not isinstance(value, dict):
        return [None]
    names = list(value) if path[0] == "*" else [path[0].replace("\\.", ".")]
    return [found for name in names for found in at(value.get(name), path[1:])]


def holds(value: Any, expected: Any) -> bool:
    """Whether a value is as expected: a mapping or list, if it has all that is named."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(holds(value.get(name), one) for name, one in expected.items())
    if isinstance(expected, list):
        return isinstance(value, list) and all(any(holds(item, one) for item in value) for one in expected)
    return type(value) is type(expected) and bool(value == expected)


def test_there_are_40_tasks() -> None:
    assert len({task["words"] for task in TASKS}) == 40


@pytest.mark.parametrize("task", TASKS, ids=[task["words"][:40] for task in TASKS])
def test_a_task_in_words(task: dict[str, Any]) -> None:
    text = solution(task)
    assert ask("check", text=text)["findings"] == []
    assert faults(yaml.safe_load(text), task["expects"]) == []


def test_the_checker_sees_what_is_missing() -> None:
    """The job of the next task is not the one that is asked for."""
    jobs = [yaml.safe_load(solution(task)) for task in TASKS]
    others = zip(TASKS, [*jobs[1:], jobs[0]], strict=True)
    assert [task["words"] for task, job in others if not faults(job, task["expects"])] == []
