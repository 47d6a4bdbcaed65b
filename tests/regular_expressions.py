"""Which regular expressions may try a text in more ways than it is long.

Two repetitions without a limit that can both take the same characters, and that stand beside each other or in each
other, share a run of them in as many ways as it is long, or in twice as many for each character.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

try:
    from re import _constants as names  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as names
    import sre_parse as parser

# The characters that are looked at: Latin, and one of each kind of the others. Sets of them are the bits of a number.
_ALPHABET = "".join(map(chr, range(0x100))) + "\u0131\u017f\u0660中\u2028\u3000😀"
_NUMBERS = {character: number for number, character in enumerate(_ALPHABET)}
_EVERY = (1 << len(_ALPHABET)) - 1
# From so many times on, a repetition counts as one without a limit.
_MANY = 64
_MOST_WAYS = 200


class Step(NamedTuple):
    """One character or a repetition without a limit: what it takes; nothing for a place such as the end of the text."""

    characters: int
    is_run: bool = False
    is_optional: bool = False


_PLACE = Step(0)


def shared_runs(expression: str, flags: int, *, is_whole: bool) -> frozenset[str]:
    """Characters that two repetitions share; none in an expression that takes linear time at each place.

    is_whole: whether it must match the whole text (`fullmatch`). Otherwise what nothing has to follow is tried once.
    """
    parsed: Any = parser.parse(expression, flags)
    found = 0
    for way in _ways_through(parsed, parsed.state.flags, {}):
        found |= _shared([*way, _PLACE] if is_whole else way)
    return frozenset(one for one in _ALPHABET if found >> _NUMBERS[one] & 1)


def _shared(way: list[Step]) -> int:
    last = max((number for number, one in enumerate(way) if not (one.is_run and one.is_optional)), default=-1)
    if last >= 0 and way[last].is_run:
        last -= 1  # one of its characters must follow, and then nothing
    found = 0
    for number, one in enumerate(way):
        reachable = one.characters if one.is_run else 0
        for other in way[number + 1 : last]:
            if not reachable:
                break
            both = reachable & other.characters
            if other.is_run and both:
                found |= both
                break
            if not other.is_optional and other.characters:
                reachable = both
    return found


def _ways_through(items: Iterable[Any], flags: int, groups: dict[int, int]) -> list[list[Step]]:
    """The ways through a sequence; `groups` gets the characters of each group."""
    found: list[list[Step]] = [[]]
    for kind, value in items:
        ways = _ways(kind, value, flags, groups)
        found = [before + way for before in found for way in ways][:_MOST_WAYS]
    return found


def _ways(kind: Any, value: Any, flags: int, groups: dict[int, int]) -> list[list[Step]]:
    if kind is names.SUBPATTERN:
        number, added, removed, inner = value
        ways = _ways_through(inner, (flags | added) & ~removed, groups)
        characters = 0
        for way in ways:
            for step in way:
                characters |= step.characters
        groups[number] = characters
        return ways
    if kind is names.BRANCH:
        return [way for inner in value[1] for way in _ways_through(inner, flags, groups)]
    if kind in {names.MAX_REPEAT, names.MIN_REPEAT}:
        least, most, inner = value
        ways = _ways_through(inner, flags, groups)
        if most is names.MAXREPEAT or most >= _MANY:
            return list(_repeated(ways, is_optional=not least))
        return ways if least else [[], *ways]
    if kind is names.GROUPREF:
        return [[Step(groups[value])]]
    if kind in {names.ASSERT, names.ASSERT_NOT, names.AT}:
        return [[_PLACE]]
    return [[Step(_characters(kind, value, flags))]]


def _repeated(ways: list[list[Step]], *, is_optional: bool) -> Iterator[list[Step]]:
    """A repetition, unrolled twice, so that what is at its end meets what is at its beginning."""
    single = 0
    several: list[list[Step]] = []
    for way in ways:
        if len(way) == 1 and not way[0].is_run:
            single |= way[0].characters
        else:
            several.append(way)
    run = [Step(single, is_run=True, is_optional=is_optional and not several)] if single else []
    if is_optional and several:
        yield []
    if run:
        yield run
    for number, first in enumerate(several):
        yield [*run, *first, *run]
        for second in several[: _MOST_WAYS // (number + 1)]:
            yield [*first, *second]


@cache
def _category(name: str, flags: int) -> int:
    letter = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.rsplit("_", 1)[1]]
    pattern = re.compile(letter, flags & re.ASCII)
    found = _set(filter(pattern.match, _ALPHABET))
    return _EVERY & ~found if "_NOT_" in name else found


def _set(characters: Iterable[str]) -> int:
    found = 0
    for one in characters:
        found |= 1 << _NUMBERS.get(one, len(_ALPHABET))
    return found


def _characters(kind: Any, value: Any, flags: int) -> int:
    if kind is names.LITERAL:
        return _any_case(_set(chr(value)), flags)
    if kind is names.NOT_LITERAL:
        return _EVERY & ~_any_case(_set(chr(value)), flags)
    if kind is names.IN:
        found = 0
        is_negated = False
        for one, what in value:
            if one is names.NEGATE:
                is_negated = True
            elif one is names.RANGE:
                found |= _set(c for c in _ALPHABET if what[0] <= ord(c) <= what[1])
            elif one is names.CATEGORY:
                found |= _category(str(what), flags)
            else:
                found |= _set(chr(what))
        found = _any_case(found, flags)
        return _EVERY & ~found if is_negated else found
    return _EVERY if flags & re.DOTALL or kind is not names.ANY else _EVERY & ~_set("\n")


def _any_case(characters: int, flags: int) -> int:
    if not flags & re.IGNORECASE:
        return characters
    written = [one for one in _ALPHABET if characters >> _NUMBERS[one] & 1]
    return characters | _set(other for one in written for other in (one.lower(), one.upper()) if len(other) == 1)
