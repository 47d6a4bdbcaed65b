"""Which known name somebody most likely meant: for messages, and for the fixes that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Below this share of equal letters a proposal confuses more than it helps; it is difflib's own.
_NEAR = 0.6
_MOST = 3


def nearest(name: str, candidates: Iterable[str], share: float = _NEAR) -> tuple[str, ...]:
    """The few candidates that look most like `name`, best first; upper and lower case count as equal.

    Candidates that differ only in case, `-`, `_`, blanks or a plural `s` leave no room for others. `share` is how much
    of the letters must be equal, from 0 to 1: more of it where a wrong guess would accuse somebody.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415 -- only wrong names pay for it

    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(name.lower())
    others = [candidate for candidate in dict.fromkeys(candidates) if candidate != name]
    if same := sorted(candidate for candidate in others if _bare(candidate) == _bare(name)):
        return tuple(same[:_MOST])
    scored: list[tuple[float, str]] = []
    for candidate in others:
        matcher.set_seq1(candidate.lower())
        # The two quick bounds spare the slow count for most names of a large catalogue.
        if all(bound() >= share for bound in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)):
            scored.append((-matcher.ratio(), candidate))
    return tuple(candidate for _, candidate in sorted(scored)[:_MOST])


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean 'x'?`, or nothing when no candidate is near."""
    near = nearest(name, candidates)
    return f"; did you mean '{near[0]}'?" if near else ""


def _bare(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum()).rstrip("s")
