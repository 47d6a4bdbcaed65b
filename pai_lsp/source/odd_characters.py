"""Characters that are drawn as a blank, or not at all, and that YAML and bash read as letters.

A text is read a second time without them, and places in that text are carried back.
"""

from __future__ import annotations

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import ProblemKind, Scalar, ScalarStyle, entries_below, scalars_below
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import UNSEEN, Span, TextEdit, start_of_line
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pai_lsp.source.nodes import Node, Syntax

# Unicode, "Space_Separator" without the space.
BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_BLANK = lazy_pattern(f"[{BLANKS}]")
_ODD = lazy_pattern(f"[{BLANKS}{UNSEEN}]")
# What may be before the first word of a line.
_INDENTATION = lazy_pattern(f"[- {BLANKS}]*")
# They join letters in other scripts and emoji.
_JOINERS = "\u061c\u200c\u200d\u200e\u200f"
# A value of one word, with odd characters around it.
_AROUND_A_WORD = lazy_pattern(f"([{BLANKS}]*)[!-~]+([{BLANKS}]*)")
# What may be before a key or a value: a text that is not YAML does not show what is a value.
_STRUCTURE = lazy_pattern(f"[-\\w.: {BLANKS}{UNSEEN}]*")


def is_blank(character: str) -> bool:
    """Whether it is drawn as a blank, and is another character than the space."""
    return _BLANK.match(character) is not None


@dataclass(frozen=True, slots=True)
class OddCharacter:
    """An odd character: its offset, and what is meant by it, a space or nothing."""

    at: int
    character: str
    meant: str

    @property
    def span(self) -> Span:
        """Its place."""
        return Span(self.at, self.at + 1)

    @property
    def edit(self) -> TextEdit:
        """Write what is meant."""
        return TextEdit(self.span, self.meant)


def odd_characters(syntax: Syntax) -> tuple[OddCharacter, ...]:
    """The characters of a text that are not shown, and those drawn as a blank where no text has one.

    That is in a key and around a value of one word; in a text that is not YAML, before anything that is not a word.
    """
    text = syntax.text
    if text.isascii():
        return ()
    is_marked = text.startswith("\ufeff")  # the byte order mark
    places = (match.start() for match in _ODD.finditer(text, int(is_marked)))
    if not (found := [at for at in places if not _joins(text, at)]):
        return ()
    keys = set(_in_keys(syntax.root, text))
    is_yaml = not any(one.kind is ProblemKind.SYNTAX for one in syntax.problems)
    around = set(_around_words(syntax.root, text)) if is_yaml else set()

    def may_harm(at: int) -> bool:
        is_odd = at in keys or at in around or not is_blank(text[at])
        return is_odd or (not is_yaml and _STRUCTURE.fullmatch(text, start_of_line(text, at), at) is not None)

    found = [at for at in found if may_harm(at)]
    return tuple(OddCharacter(at, text[at], _meant(text, at, is_in_key=at in keys, is_yaml=is_yaml)) for at in found)


def _joins(text: str, at: int) -> bool:
    return text[at] in _JOINERS and not (text[at - 1 : at].isascii() and text[at + 1 : at + 2].isascii())


def _in_keys(root: Node | None, text: str) -> Iterator[int]:
    """The places in keys that are not plain ASCII."""
    for entry in entries_below(root):
        span = entry.key.span
        if isinstance(entry.key, Scalar) and not text[span.start : span.end].isascii():
            yield from range(span.start, span.end)


def _around_words(root: Node | None, text: str) -> Iterator[int]:
    """The places around values of one word."""
    for scalar in scalars_below(root):
        if scalar.style is ScalarStyle.PLAIN and not scalar.text.isascii():
            match = _AROUND_A_WORD.fullmatch(text, scalar.span.start, scalar.span.end)
            for group in (1, 2) if match else ():
                yield from range(*match.span(group))  # type: ignore[union-attr]


def _meant(text: str, at: int, *, is_in_key: bool, is_yaml: bool) -> str:
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    is_first = _INDENTATION.fullmatch(text, start_of_line(text, at), at) is not None
    if is_blank(text[at]):
        return "" if is_in_key and before != ":" and (is_yaml or not is_first) else " "
    # Between a colon or the dash of an item and a word, a space is missing as well.
    follows_mark = before == ":" or (before == "-" and is_first)
    return " " if follows_mark and after not in {"", " ", "\t", "\r", "\n"} else ""
