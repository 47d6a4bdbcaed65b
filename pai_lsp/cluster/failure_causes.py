"""Kinds of failures, and the messages by which they are recognized: schemas/failure_causes.json as values.

A message counts by its weight. `root` names a cause by itself, `general` is an error that says little, `weak` is often
harmless and counts only near the end, `follows` reports that something else failed before, and `harmless` never counts.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum
from functools import cache
from types import MappingProxyType

from pai_lsp.platform.tables import table
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


class Blame(Enum):
    """Who can fix it; the names are those of the table in lower case."""

    JOB = "the job"
    PROGRAM = "the program"
    IMAGE = "the image"
    NODE = "the node"
    PLATFORM = "the platform"
    CLUSTER = "the cluster's resources"
    NOBODY = "nobody"


class Weight(IntEnum):
    """How much a message decides; the names are those of the table in lower case.

    CALM is not in the table: a message in a line that says that it is a warning, or that something is tried again.
    """

    HARMLESS = 0
    CALM = 1
    FOLLOWS = 2
    WEAK = 3
    GENERAL = 4
    ROOT = 5


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind of failure. explanation, fix: one sentence or two each."""

    name: str
    blame: Blame
    explanation: str
    fix: str


@dataclass(frozen=True, slots=True)
class MessagePattern:
    """A message that programs or the platform write.

    pattern: a regular expression for one line; its groups are names in the message, such as `module`. needles: texts
    of which a line must have one, else the pattern cannot match; empty where there are none. is_inferred: whether the
    message does not say the cause itself, such as a signal that mostly has this cause.
    """

    cause: str
    weight: Weight
    pattern: re.Pattern[str]
    needles: tuple[str, ...]
    is_inferred: bool

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in a line, if it has one."""
        for needle in self.needles:  # a loop: half a thousand patterns are asked about each line of a log
            if needle in text:
                return self.pattern.search(text)
        return None if self.needles else self.pattern.search(text)


@cache
def causes() -> Mapping[str, Cause]:
    """All causes by name."""
    return MappingProxyType(
        {
            name: Cause(name, Blame[entry["blame"].upper()], entry["explanation"], entry["fix"])
            for name, entry in table("failure_causes.json")["causes"].items()
        }
    )


@cache
def message_patterns(scope: str) -> tuple[MessagePattern, ...]:
    """The patterns for a `log`, or for events and diagnostics of the `platform`; the first that matches counts."""
    return tuple(map(_pattern, (one for one in table("failure_causes.json")["patterns"] if one["scope"] == scope)))


def _pattern(entry: dict[str, Any]) -> MessagePattern:
    cause, weight, written = entry["cause"], Weight[entry["weight"].upper()], entry["pattern"]
    return MessagePattern(cause, weight, lazy_pattern(written), needles(written), entry.get("inferred", False))


_SHORTEST_NEEDLE = 3


def needles(pattern: str) -> tuple[str, ...]:
    """For each alternative of a regular expression, a text that each of its matches has; empty without such texts."""
    found = [_needles(alternative) for alternative in _alternatives(pattern)]
    return tuple(one for each in found for one in each) if all(found) else ()


def _needles(alternative: str) -> tuple[str, ...]:
    runs, groups = _literals(alternative)
    longest = max(runs, key=len, default="")
    if len(longest) >= _SHORTEST_NEEDLE:
        return (longest,)
    return next((found for group in groups if (found := needles(group))), ())


def _alternatives(pattern: str) -> Iterator[str]:
    """The parts between `|` outside of brackets."""
    depth = start = 0
    for found in _SIGN.finditer(pattern):
        depth += _DEPTHS.get(found[0], 0)
        if found[0] == "|" and depth == 0:
            yield pattern[start : found.start()]
            start = found.end()
    yield pattern[start:]


_SIGN = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|\{[\d,]+\}|.", re.DOTALL)
_DEPTHS = {"(": 1, ")": -1}


def _literals(pattern: str) -> tuple[list[str], list[str]]:
    """The runs of plain characters outside of brackets, and the groups, of which every match has each."""
    runs: list[str] = []
    groups: list[str] = []
    run, depth, start = "", 0, 0
    flags = re.match(r"(?:\(\?([a-z]+)\))?", pattern)
    if flags and "i" in (flags[1] or ""):
        return [], []
    pattern = pattern[flags.end() if flags else 0 :]
    for found in _SIGN.finditer(pattern):
        sign = found[0]
        is_escaped = len(sign) == 2 and sign[0] == "\\" and not sign[1].isalnum()
        is_plain = is_escaped or (len(sign) == 1 and sign not in ".^$*+?()|")
        if depth == 0 and is_plain:
            run += sign[-1]
            continue
        if sign in "*?" or sign[0] == "{":
            run = run[:-1]
        runs.append(run)
        run = ""
        if sign == "(" and depth == 0:
            start = found.end()
        depth += _DEPTHS.get(sign, 0)
        if sign == ")" and depth == 0 and pattern[found.end() : found.end() + 1] not in {"?", "*", "{"}:
            body = _GROUP.sub("", pattern[start : found.start()])
            groups += [body] if not body.startswith("?") else []
    return [*runs, run], groups


_GROUP = re.compile(r"^\?(?::|P<\w+>)")
