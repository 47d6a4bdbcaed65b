"""Near names: what somebody most likely meant."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pai_lsp.source.spelling import did_you_mean, free_name, free_names, nearest, plural


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("dockerimage", ["dockerImage", "data"], ("dockerImage",)),
        ("taskStart", ["taskSucceeds", "taskStarts", "taskFails"], ("taskStarts",)),
        ("command", ["comments", "commands"], ("commands",)),
        ("justecho_wrong", ["image", "justecho"], ("justecho",)),
        ("x", ["abc", "def"], ()),
        ("same", ["same"], ()),
        ("", ["a"], ()),
        ("a", [], ()),
        ("Data-Sets", ["data_set", "dataset", "datasett"], ("data_set", "dataset")),
        ("abcde", ["abcxy", "abxyz"], ("abcxy",)),  # six letters of ten are enough
        ("abcd", ["bcda", "dcba", "abdc", "acbd"], ("abdc", "acbd", "bcda")),  # three at most, the best first
        ("a" * 64 + "b", ["a" * 64], ()),  # longer than what anybody mistypes
        ("a" * 63 + "b", ["a" * 64], ("a" * 64,)),
    ],
)
def test_nearest(name: str, candidates: list[str], expected: tuple[str, ...]) -> None:
    assert nearest(name, candidates) == expected


def test_a_candidate_that_is_not_meant() -> None:
    assert nearest("lr", ["lr2", "lr1"], besides="lr1") == ("lr2",)
    assert did_you_mean("lr", ["lr1"], besides="lr1") == ""
    assert nearest("abcd", ["abxy"], 0.5) == ("abxy",)
    assert nearest("abcd", ["abxy"], 0.51) == ()


def test_free_names() -> None:
    assert [free_name("a", taken) for taken in ((), ("a",), ("a", "a_2"), ("a_2",))] == ["a", "a_2", "a_3", "a"]
    names = free_names("a", {"a", "a2"}, separator="")
    assert [next(names), next(names)] == ["a3", "a4"]
    assert [plural(number, "task") for number in range(3)] == ["0 tasks", "1 task", "2 tasks"]


def test_did_you_mean() -> None:
    assert did_you_mean("justecho_wrong", ["justecho"]) == "; did you mean 'justecho'?"
    assert did_you_mean("x", ["something else"]) == ""


def test_the_nearest_of_very_many() -> None:
    names = [f"{stem}_{number}" for stem in ("imagenet", "mnist", "tools", "cifar10") for number in range(500)]
    assert nearest("minst_321", names)[0] == "mnist_321"
    assert nearest("gti", [*names, "git"]) == ("git",)
    assert nearest("zzzzzz", names) == ()


@pytest.mark.slow
def test_every_run_finds_the_same() -> None:
    program = (
        "from pai_lsp.source.spelling import known_names\n"
        "names = known_names(tuple(f'p{n}' for n in range(3000)))\n"
        "print([names.nearest(f'q{n}', 0.6, None) for n in range(0, 3000, 10)])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in "1234"
    ]
    assert len({one.stdout for one in runs}) == 1
