"""The table of causes: every pattern recognizes its example and no look-alike, and every cause has a way to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pai_lsp.cluster.failure_causes import Weight, causes, message_patterns, needles
from pai_lsp.cluster.why import CAUSES_OF_CODES, CAUSES_OF_COMMAND_CODES, NOT_KNOWN, failure
from pai_lsp.platform.tables import command_codes, exit_codes, table

LOG, PLATFORM = message_patterns("log"), message_patterns("platform")
ENTRIES = {
    (scope, number): entry
    for scope in ("log", "platform")
    for number, entry in enumerate(one for one in table("failure_causes.json")["patterns"] if one["scope"] == scope)
}
# Causes that no message names: they follow from codes, or from the absence of messages.
WITHOUT_MESSAGE = {NOT_KNOWN, "silent-failure"}


def entries(scope: str, *weights: Weight) -> list[Any]:
    """The entries of the table, for the weights if some are given."""
    found = [one for (where, _), one in ENTRIES.items() if where == scope]
    wanted = [one for one in found if not weights or Weight[one["weight"].upper()] in weights]
    return [pytest.param(one, id=f"{one['cause']}: {one['example'][:60]}") for one in wanted]


@pytest.mark.parametrize("scope", ["log", "platform"])
def test_a_pattern_matches_its_example_and_not_its_look_alike(scope: str) -> None:
    for number, pattern in enumerate(message_patterns(scope)):
        entry = ENTRIES[scope, number]
        example, counter = entry["example"], entry["counter"]
        assert pattern.cause == entry["cause"]
        assert pattern.search(example), example
        assert re.search(pattern.pattern.pattern, example), f"the needles are not in each match: {example}"
        assert not re.search(pattern.pattern.pattern, counter), counter
        assert entry["source"], example


@pytest.mark.parametrize("entry", entries("log", Weight.FOLLOWS, Weight.WEAK, Weight.GENERAL, Weight.ROOT))
def test_the_example_of_a_log_alone_gives_the_cause(entry: dict[str, str]) -> None:
    found = failure(entry["example"], None, 1)
    assert found.cause.name == entry["cause"]
    assert found.evidence is not None
    assert found.evidence.number == 1


@pytest.mark.parametrize("entry", entries("platform"))
def test_the_example_of_the_platform_alone_gives_the_cause(entry: dict[str, str]) -> None:
    assert failure(entry["example"]).cause.name == entry["cause"]


@pytest.mark.parametrize("entry", entries("log", Weight.HARMLESS))
def test_a_harmless_message_is_no_failure(entry: dict[str, str]) -> None:
    assert failure(entry["example"]).cause.name == NOT_KNOWN


def test_every_cause_can_be_found_and_is_described() -> None:
    named = {one.cause for one in (*LOG, *PLATFORM)}
    by_code = set(CAUSES_OF_CODES.values()) | set(CAUSES_OF_COMMAND_CODES.values())
    assert named | by_code | WITHOUT_MESSAGE == set(causes())
    who = {f"the {one}" for one in ("cluster's resources", "image", "job", "node", "platform", "program")}
    assert {one.blame for one in causes().values()} == {"nobody", *who}
    assert all(one.explanation.endswith(".") and one.fix.endswith(".") for one in causes().values())


def test_every_pattern_of_a_platform_names_a_cause_by_itself() -> None:
    assert {one.weight for one in PLATFORM} == {Weight.ROOT}
    assert {entry["scope"] for entry in table("failure_causes.json")["patterns"]} == {"log", "platform"}


@pytest.mark.parametrize("code", sorted(exit_codes()))
def test_every_code_of_the_platform_has_an_answer(code: int) -> None:
    """A code in the diagnostics of the portal, without any other word."""
    found = failure(f"[Exit Spec]\ncode: {code}\n")
    assert found.code == code
    assert found.cause.name == CAUSES_OF_CODES.get(code, found.cause.name)
    if code not in CAUSES_OF_CODES:
        assert found.cause.name == "program-error"


def test_the_commands_codes_that_say_enough() -> None:
    signals = [130, 132, 134, 135, 136, 137, 139, 141, 143]
    assert sorted(CAUSES_OF_COMMAND_CODES) == [0, 124, 126, 127, *signals]


@pytest.mark.parametrize("code", range(128, 146))
def test_what_the_first_container_passes_on(code: int) -> None:
    """Codes of signals stay; any other is 1. Source: openpai-runtime, src/init, exit_handler."""
    stays = code in {130, 131, 132, 134, 135, 136, 137, 139, 141, 143}
    found = failure(f"child process is PLUGIN_INITIALIZER, exit code is {code}\n")
    assert found.code == (code if stays else 1)


@pytest.mark.parametrize("code", sorted({*command_codes(), *CAUSES_OF_COMMAND_CODES, 3, 64}))
def test_every_code_of_the_commands_has_an_answer(code: int) -> None:
    expected = CAUSES_OF_COMMAND_CODES.get(code, "silent-failure")
    assert failure("", None, code).cause.name == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("plain text", ("plain text",)),
        (r"CUDA out of memory\. Tried", ("CUDA out of memory. Tried",)),
        (r"a?bcd\s+efghi", ("efghi",)),
        (r"first one|second (?:x|y)", ("first one", "second ")),
        (r"first one|[Ss]x", ()),
        (r"[ab|]cdef\|gh", ("cdef|gh",)),
        (r"\bword\b(?P<name>\S+) in", ("word",)),
        (r"ab{3}cdef", ("cdef",)),
        ("(?i)any case", ()),
        (r"(?:First|Other): .*(?:x|yz)", ("First", "Other")),
        (r"(?:[Oo]ne error|b (?P<two>two) x)\.?$", ("ne error", "two")),
        (r"(?:three )?(?!four)(?:five|x)", ()),
    ],
)
def test_the_needles_of_a_pattern(pattern: str, expected: tuple[str, ...]) -> None:
    assert needles(pattern) == expected


@pytest.mark.parametrize("word", ["1", "x", "=", "/a ", ": ", "RuntimeError: ", "'", "x://", "load "])
def test_long_lines_are_read_in_part(word: str) -> None:
    """Lines of four thousand characters with the needles of patterns at their end; the runner has a limit of time."""
    log = "".join(f"{line} {word * 4000}: No such file or directory\n" for line in range(10))
    assert failure(log).cause.name in {"file-not-found", NOT_KNOWN}
    log = "".join(f"ValueError: {word * 4000}{line}\n" for line in range(10))
    assert failure(log).cause.name in {"python-error", NOT_KNOWN}
