"""Which variables a command sets or tests because of its name: `export`, `read`, `printf -v`, `let`, `test`.

Source: the bash reference manual, "Shell Builtin Commands" and "Bash Conditional Expressions".
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pai_lsp.embedded.shell_script import Assignment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pai_lsp.embedded.shell_effects import Word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_READING = frozenset({"read", "mapfile", "readarray", "getopts"})


def set_by(words: Sequence[Word], assignments: Sequence[Assignment | None]) -> Iterator[Assignment]:
    """The variables that a command sets.

    `words` are the command and its arguments, at least one; `assignments[i]` is what `words[i]` would set in front of a
    command, as in `X=1`.
    """
    name = words[0].text
    if name in DECLARING:
        is_exported = name == "export" or any(word.text.startswith("-") and "x" in word.text for word in words[1:])
        for word, assignment in zip(words[1:], assignments[1:], strict=True):
            if assignment is not None:
                yield Assignment(assignment.name, assignment.span, is_exported)
            elif match := _NAME.match(word.text):
                # `export X`, or `export "X=1"`.
                yield Assignment(match[0], word.span, is_exported)
    elif name in _READING:
        named = [word for word in words[1:] if word.is_literal and _NAME.fullmatch(word.text)]
        yield from (Assignment(word.text, word.span) for word in named)
        if name == "read" and not named:
            yield Assignment("REPLY", words[0].span)
    elif name == "printf" and len(words) > 2 and words[1].text == "-v" and _NAME.fullmatch(words[2].text):
        yield Assignment(words[2].text, words[2].span)
    elif name == "let":
        yield from (assignment for assignment in assignments[1:] if assignment is not None)


def tested_by(words: Sequence[Word]) -> Iterator[str]:
    """The variables of which a command asks whether they are set: `[ -v X ]`."""
    if words[0].text in {"[", "[[", "test"}:
        yield from (word.text for option, word in pairwise(words) if option.text == "-v")
