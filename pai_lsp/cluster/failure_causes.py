"""Kinds of failures, and the messages by which they are recognized: schemas/failure_causes.json as values.

A message counts by its weight. `root` names a cause by itself, `general` is an error that says little, `weak` is often
harmless and counts only near the end, `follows` reports that something else failed before, and `harmless` never counts.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from pai_lsp.platform.tables import table
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
    """A kind of failure. blame: who can fix it. explanation, fix: one sentence or two each."""

    name: str
    blame: str
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
    return MappingProxyType({name: Cause(name, **one) for name, one in table("failure_causes.json")["causes"].items()})


@cache
def message_patterns(scope: str) -> tuple[MessagePattern, ...]:
    """The patterns for a `log`, or for events and diagnostics of the `platform`; the first that matches counts."""
    read = ((one, Weight[one["weight"].upper()], one["pattern"]) for one in table("failure_causes.json")["patterns"])
    return tuple(
        MessagePattern(one["cause"], weight, lazy_pattern(written), needles(written), one.get("inferred", False))
        for one, weight, written in read
        if one["scope"] == scope
    )


_SHORTEST_NEEDLE = 3
# A sign of a regular expression: an escape, a class, the beginning of a group, a repetition, any character.
_SIGN = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|\((?:\?(?:P<\w+>|<?.))?|\{[\d,]+\}|.", re.DOTALL)


def needles(pattern: str) -> tuple[str, ...]:
    """For each alternative of a regular expression, a text that each of its matches has; empty without such texts."""
    flags = re.match(r"\(\?[a-z]+\)", pattern)
    if flags and "i" in flags[0]:
        return ()
    return _needles(iter(_SIGN.findall(pattern, flags.end() if flags else 0)))


def _needles(signs: Iterator[str]) -> tuple[str, ...]:
    """The needles up to the end of a group: the longest plain text of each alternative, else those of a group in it."""
    found: list[tuple[str, ...]] = []
    parts: list[tuple[str, ...]] = []  # the needles of what is not plain text
    longest = run = ""
    for sign in chain(signs, "|"):
        is_escaped = len(sign) == 2 and sign[0] == "\\" and not sign[1].isalnum()
        is_optional = sign in "*?" or sign[0] == "{"
        if is_escaped or (len(sign) == 1 and sign not in ".^$*+?()|"):
            run += sign[-1]
            continue
        if is_optional and not run:
            parts = parts[:-1]
        longest, run = max(longest, run[:-1] if is_optional else run, key=len), ""
        if sign[0] == "(":
            inner = _needles(signs)
            parts.append(inner if sign == "(" or sign[2] in ":P" else ())
        elif sign in "|)":
            found.append((longest,) if len(longest) >= _SHORTEST_NEEDLE else next(filter(None, parts), ()))
            parts, longest = [], ""
        elif not is_optional:
            parts.append(())
        if sign == ")":
            break
    return tuple(chain.from_iterable(found)) if all(found) else ()
