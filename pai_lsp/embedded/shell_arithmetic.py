"""Arithmetic in a script: where it ends, and the variables in it.

Source: the bash reference manual, "Shell Arithmetic".
"""

from __future__ import annotations

import re

# How far and deep the end of arithmetic is looked for, so that hostile text stays cheap.
MAX_LENGTH = 2000
_MAX_BRACKETS = 10

# A number, a name (the group), or the begin of an expansion.
NAMES_AND_EXPANSIONS = re.compile(r"[0-9][0-9A-Za-z_]*(?:#[0-9A-Za-z@_]+)?|([A-Za-z_][A-Za-z0-9_]*)|[$`]|<%")
# After the name of a variable that is set.
SETTING = re.compile(r"(?:\[[^\]]*\])?[ \t]*(?:=(?!=)|[-+*/%&^|]=|<<=|>>=|\+\+|--)")
_BRACKET = re.compile(r"[()]|\\.|'[^']{0,200}'|\"[^\"\\]{0,200}\"")


def arithmetic_end(text: str, start: int, end: int) -> int:
    """The offset after the `))` that closes arithmetic begun before `start`; 0 where there is none before `end`."""
    opened = 2
    for match in _BRACKET.finditer(text, start, min(end, start + MAX_LENGTH)):
        if len(match[0]) > 1:
            continue
        opened += 1 if match[0] == "(" else -1
        if opened > _MAX_BRACKETS or (opened == 1 and not text.startswith("))", match.start())):
            return 0
        if opened == 0:
            return match.end()
    return 0
