"""Single slips of a person who writes a job, 15 kinds of them, and what the checker makes of one.

A slip knows where it was made, so that one can ask: does it give one error, and is the first error at its cause?
The same seed gives the same slip.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, NamedTuple

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"[A-Za-z_]{3,}")
_KEY = re.compile(r"^[ ]*(?:- )*([A-Za-z_][\w.]*):(?= |$)", re.MULTILINE)
_VALUE = re.compile(r"^[ ]*(?:- )*[A-Za-z_][\w.]*: ([^\s#|>&*\[{][^\n#]*)$", re.MULTILINE)
_INDENTED = re.compile(r"^ +(?=[^\s#])", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*[^\s#][^\n]*\n", re.MULTILINE)
_DASH = re.compile(r"^ *(- )(?=\S)", re.MULTILINE)
_ITEM = re.compile(r"^ *(?=[A-Za-z_][\w.]*:(?: |$))", re.MULTILINE)
_QUOTE = re.compile("[\"']")
_COLON = re.compile(r":(?= |$)", re.MULTILINE)
_BLANK = re.compile(r"^ +(?=\S)|(?<=[\w:,-]) (?=\S)", re.MULTILINE)
_ODD_BLANKS = ("\u00a0", "\u200b", "\u3000", "\ufeff", "\u00ad")
_SMART = {'"': "\u201c\u201d", "'": "\u2018\u2019", "-": "\u2013\u2014", ":": "\uff1a", ",": "\uff0c"}
_SIGNS = "{}[]:,&*!|>%@\"'#`-<?"
_VALUES = ("5", "-1", "0.5", "true", "null", "''", "text", "[]", "{}", "[a, b]", "{a: 1}", "", "1e3", "2 GB")


class Slip(NamedTuple):
    """A text with one slip: its kind, the changed lines by number (0-based), and the words that are gone or written."""

    kind: str
    text: str
    lines: range
    words: frozenset[str]


def _replaced(kind: str, text: str, start: int, end: int, new: str) -> Slip:
    changed = text[:start] + new + text[end:]
    first, last = text.count("\n", 0, start), changed.count("\n", 0, start + len(new))
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", max(start, end - 1))
    words = frozenset(re.findall(r"[\w-]{2,}", text[line_start : line_end if line_end >= 0 else len(text)]))
    return Slip(kind, changed, range(first, last + 1), words)


def _at(pattern: re.Pattern[str], text: str, source: random.Random, group: int = 0) -> tuple[int, int]:
    found = [match.span(group) for match in pattern.finditer(text)]
    return source.choice(found) if found else (0, 0)


def _forgotten_quote(text: str, source: random.Random) -> tuple[int, int, str]:
    return (*_at(_QUOTE, text, source), "")


def _deleted_line(text: str, source: random.Random) -> tuple[int, int, str]:
    return (*_at(_LINE, text, source), "")


def _doubled_line(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_LINE, text, source)
    return end, end, text[start:end]


def _tab(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_BLANK, text, source)
    return source.choice((start, start, end - 1)), end, "\t"


def _deleted_letter(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_WORD, text, source)
    at = source.randrange(start, end) if end else 0
    return at, min(at + 1, end), ""


def _colon(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_COLON, text, source)
    kind = source.randrange(5)
    if kind == 1 and text[end : end + 1] == " ":
        return start, end + 1, ":"
    return start, end, ("", "", " =", ";", "::")[kind]


def _half_typed(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_LINE, text, source)
    begin = start + len(text[start:end]) - len(text[start:end].lstrip())
    return source.randrange(begin + 1, end) if end - begin > 2 else start, max(end - 1, 0), ""


def _misspelt_key(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_KEY, text, source, 1)
    return start, end, _misspelt(text[start:end], source)


def _misspelt(word: str, source: random.Random) -> str:
    if len(word) < 3:
        return word + "x"
    at = source.randrange(len(word) - 1)
    other = source.choice(_LETTERS)
    forms = (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + other + word[at + 1 :],
        word.lower(),
        word[0].upper() + word[1:],
        re.sub("(?=[A-Z])", "_", word).lower(),
        word + "s",
    )
    return source.choice([form for form in forms if form != word])


def _extra_dash(text: str, source: random.Random) -> tuple[int, int, str]:
    _, end = _at(_ITEM, text, source)
    return end, end, "- "


def _wrong_dash(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_DASH, text, source, 1)
    return start, end, source.choice(("", "  ", "-", "--", "* "))


def _typo(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_WORD, text, source)
    return start, end, _misspelt(text[start:end], source)


def _stray_sign(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_LINE, text, source)
    at = source.randrange(start, end) if end else 0
    return at, at, source.choice(_SIGNS)


def _other_value(text: str, source: random.Random) -> tuple[int, int, str]:
    return (*_at(_VALUE, text, source, 1), source.choice(_VALUES))


def _odd_character(text: str, source: random.Random) -> tuple[int, int, str]:
    if source.random() < 0.5:
        start, end = _at(_BLANK, text, source)
        at = source.randrange(start, end) if end else 0
        odd = source.choice(_ODD_BLANKS)
        return at, at + (odd in "\u00a0\u3000"), odd
    start, end = _at(re.compile("[\"',:-]"), text, source)
    return start, end, source.choice(_SMART.get(text[start:end], "\u200b"))


def _indentation(text: str, source: random.Random) -> tuple[int, int, str]:
    start, end = _at(_INDENTED, text, source)
    depth = end - start
    if source.random() < 0.5:
        return start, start + source.randint(1, depth) if depth else start, ""
    return start, start, " " * source.randint(1, 4)


KINDS: dict[str, Callable[[str, random.Random], tuple[int, int, str]]] = {
    "forgotten quote": _forgotten_quote,
    "deleted line": _deleted_line,
    "doubled line": _doubled_line,
    "tab": _tab,
    "deleted letter": _deleted_letter,
    "colon": _colon,
    "half-typed line": _half_typed,
    "misspelt key": _misspelt_key,
    "extra dash": _extra_dash,
    "wrong dash": _wrong_dash,
    "typo": _typo,
    "stray sign": _stray_sign,
    "other value": _other_value,
    "odd character": _odd_character,
    "indentation": _indentation,
}


def slip(seed: int, bases: tuple[str, ...]) -> Slip | None:
    """The slip of a seed in one of the texts; None where the text has no place for this kind."""
    source = random.Random(seed)  # noqa: S311 - nothing to keep secret
    kind = list(KINDS)[seed % len(KINDS)]
    text = source.choice(bases)
    made = _replaced(kind, text, *KINDS[kind](text, source))
    return made if made.text != text else None


def errors_of(text: str) -> list[Diagnostic]:
    """The errors of a text, sorted by place."""
    found = Document(text, path="a.pai.yaml").diagnostics
    return [one for one in found if one.severity is Severity.ERROR]


def is_cause(made: Slip, error: Diagnostic) -> bool:
    """Whether an error is at the place of the slip, or next to a line that is gone, or names what was written there."""
    first = made.text.count("\n", 0, error.span.start)
    last = made.text.count("\n", 0, max(error.span.start, error.span.end - 1))
    margin = 1 if made.kind == "deleted line" else 0
    if first <= made.lines[-1] + margin and last >= made.lines[0] - margin:
        return True
    if made.kind in {"deleted line", "half-typed line", "other value", "colon"}:
        return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", error.message) for word in made.words)
    return False


class Count(NamedTuple):
    """Of slips with an error: how many there are, how many have one error, and whose first error is the cause."""

    reported: int
    alone: int
    caused: int

    @classmethod
    def of(cls, slips: Iterable[tuple[Slip, list[Diagnostic]]]) -> Count:
        """The counts of slips with their errors, which are not empty."""
        reported = alone = caused = 0
        for made, errors in slips:
            reported += 1
            alone += len(errors) == 1
            caused += is_cause(made, errors[0])
        return cls(reported, alone, caused)


def counted(seeds: Iterable[int], bases: tuple[str, ...]) -> Iterator[tuple[Slip, list[Diagnostic]]]:
    """The slips of these seeds that have an error, with their errors; the others left the job valid."""
    for seed in seeds:
        made = slip(seed, bases)
        if made is not None and (errors := errors_of(made.text)):
            yield made, errors
