"""A script as bash reads it: values only. pai_lsp/shell.py makes them. Offsets are code points in the script's text."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass

if TYPE_CHECKING:
    from pai_lsp.text import Span

# Commands that may set any variable: what follows them is not judged by the absence of an assignment.
_OPEN_ENDED = frozenset(
    {"source", ".", "eval", "conda", "mamba", "micromamba", "module", "ml", "spack", "pyenv", "nvm"},
)
_LEAVING = frozenset({"break", "exit", "return", "exec", "kill"})
_UNSET_OFF = re.compile(r"\+[A-Za-z]*u[A-Za-z]*")


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A variable that bash reads.

    span: the whole expansion (`$X`, `${X:-d}`), or the bare name in arithmetic; name_span: the name alone.
    is_guarded: bash goes on where it is not set (`${X:-d}`, `${X+d}`), or only reads it as another one's default.
    is_indirect: its value is the name of the variable that is meant (`${!X}`).
    """

    name: str
    span: Span
    name_span: Span
    is_guarded: bool = False
    is_indirect: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that bash sets: `X=1`, `export X`, `read X`, `for X in`, and so on; `span` is the name."""

    name: str
    span: Span
    is_exported: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command; `text` is what it says without quotes, expansions as they are written."""

    text: str
    span: Span
    is_literal: bool = True


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A command and its arguments, without assignments in front and without redirections.

    keyword: the reserved word in front of it (`while`, `then`), or empty.
    operator: what stands before it (`&&`, `||`, `|`, `;`, a line end, or nothing for the first).
    is_background: it is followed by `&`.
    is_nested: it stands in a substitution, such as `$(date)`.
    """

    words: tuple[Word, ...]
    keyword: str = ""
    operator: str = ""
    is_background: bool = False
    is_nested: bool = False

    @property
    def name(self) -> str:
        """The program, as it is written."""
        return self.words[0].text

    @property
    def arguments(self) -> tuple[str, ...]:
        """The texts of the words behind the program."""
        return tuple(word.text for word in self.words[1:])

    @property
    def is_endless(self) -> bool:
        """Whether it waits for ever, as `sleep infinity` does."""
        name, arguments = self.name, self.arguments
        if name == "exec" and arguments:
            name, arguments = arguments[0], arguments[1:]
        if name == "sleep":
            return arguments in {("infinity",), ("inf",)}
        return name == "tail" and "/dev/null" in arguments and bool({"-f", "-F", "--follow"}.intersection(arguments))


@dataclass(frozen=True)
class Script:
    """What a text says to bash; everything in the order in which it is written.

    open_redirections: the signs, as `>`, that no file name follows, so that bash refuses the script.
    """

    text: str
    uses: tuple[VariableUse, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    commands: tuple[SimpleCommand, ...] = ()
    comments: tuple[Span, ...] = ()
    tested_names: frozenset[str] = frozenset()
    open_redirections: tuple[Span, ...] = ()

    @cached_property
    def assigned_names(self) -> frozenset[str]:
        """The variables that the script sets somewhere."""
        return frozenset(assignment.name for assignment in self.assignments)

    @cached_property
    def guarded_names(self) -> frozenset[str]:
        """The variables that the script expects to be missing: tested, or given a default somewhere."""
        return self.tested_names | {use.name for use in self.uses if use.is_guarded}

    def provides_for(self, name: str) -> bool:
        """Whether it sets a variable somewhere, or expects it to be missing."""
        return name in self.assigned_names or name in self.guarded_names

    @cached_property
    def is_open_ended(self) -> bool:
        """Whether something in it may set variables that are not written in it."""
        return any(command.name in _OPEN_ENDED or not command.words[0].is_literal for command in self.commands)

    @cached_property
    def allows_unset(self) -> bool:
        """Whether it switches off, anywhere, that bash stops at a variable that is not set."""
        for command in self.commands:
            if command.name == "set":
                arguments = command.arguments
                if any(_UNSET_OFF.fullmatch(argument) for argument in arguments):
                    return True
                if any(pair == ("+o", "nounset") for pair in pairwise(arguments)):
                    return True
        return False

    @cached_property
    def endless_command(self) -> SimpleCommand | None:
        """The command in which the script surely waits for ever once it gets there, if there is one."""
        if not self.commands:
            return None
        last = self.commands[-1]
        if last.is_endless and not last.is_nested and last.operator != "||":
            # Anything behind it (`&`, `fi`, a redirection) may mean that it does not wait after all.
            return None if self.text[last.words[-1].span.end :].strip(" \t\n;") else last
        if not self.text.rstrip().endswith("done") or any(command.name in _LEAVING for command in self.commands):
            return None
        return next(
            (c for c in self.commands if c.keyword == "while" and len(c.words) == 1 and c.name in {"true", ":"}),
            None,
        )
