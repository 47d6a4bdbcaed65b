"""The grammar of `[[ … ]]`, one token at a time.

Source: the bash reference manual, "Conditional Constructs" and "Bash Conditional Expressions"; bash 5.2, parse.y,
cond_term.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.source.text import Span

_UNARY = frozenset(f"-{letter}" for letter in "abcdefghkprstuwxGLNORSvnoz")
_BINARY = frozenset({"=", "==", "!=", "=~", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class _Position(Enum):
    TERM = auto()  # an expression begins
    ARGUMENT = auto()  # after a unary operator
    BINARY = auto()  # after a word, which may be all, or the left side of an operator
    RIGHT = auto()  # after a binary operator
    END = auto()  # after a whole expression


class Conditional:
    """The state after some tokens."""

    __slots__ = ("_fault", "_opened", "_operator", "_position")

    def __init__(self, fault: Callable[[Span], None]) -> None:
        self._fault = fault
        self._position = _Position.TERM
        self._opened = 0
        self._operator = ""

    @property
    def expects_regex(self) -> bool:
        """Whether a regular expression comes, in which brackets and `|` are no operators."""
        return self._position is _Position.RIGHT and self._operator == "=~"

    def line_end(self, span: Span) -> None:
        """Read a line end."""
        if self._position in {_Position.ARGUMENT, _Position.BINARY, _Position.RIGHT}:
            self._fault(span)

    def operator(self, operator: str, span: Span) -> bool:
        """Read an operator; whether it may be one of a conditional expression at all."""
        is_after = self._position in {_Position.BINARY, _Position.END}
        if operator in {"&&", "||"} and is_after:
            self._position = _Position.TERM
        elif operator == "(" and self._position is _Position.TERM:
            self._opened += 1
        elif operator == ")" and is_after and self._opened:
            self._opened -= 1
            self._position = _Position.END
        elif operator in {"<", ">"} and self._position is _Position.BINARY:
            self._position, self._operator = _Position.RIGHT, operator
        else:
            self._fault(span)
            return operator not in {";", "&", "|"}
        return True

    def word(self, written: str, span: Span) -> bool:
        """Read a word; whether it is the `]]` that ends the expression."""
        position = self._position
        if written == "]]":
            if self._opened or position not in {_Position.BINARY, _Position.END}:
                self._fault(span)
            return True
        if position is _Position.TERM:
            if written in _UNARY:
                self._position = _Position.ARGUMENT
            elif written != "!":
                self._position = _Position.BINARY
        elif position is _Position.BINARY and written in _BINARY:
            self._position, self._operator = _Position.RIGHT, written
        elif position in {_Position.ARGUMENT, _Position.RIGHT}:
            self._position = _Position.END
        else:
            self._fault(span)
        return False
