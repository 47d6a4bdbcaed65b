"""The reserved words of bash, and the places in compound commands: the tables of the grammar.

Source: the bash reference manual, "Compound Commands" and "Reserved Words".
"""

from __future__ import annotations

from enum import Enum, auto


class Role(Enum):
    """What a word is in its place."""

    ARGUMENT = auto()  # a word of a simple command, its name included
    RESERVED = auto()  # a reserved word, or one that belongs to a compound command
    VARIABLE = auto()  # the name after `for` or `select`
    FUNCTION = auto()  # the name after `function`
    CONDITIONAL = auto()  # `[[`


class Position(Enum):
    """What comes next."""

    COMMAND = auto()  # a command may begin
    WORDS = auto()  # in a simple command
    AFTER = auto()  # after a compound command, where only redirections and operators may stand
    FUNCTION_NAME = auto()
    FUNCTION_BODY = auto()
    FOR_NAME = auto()
    FOR_IN = auto()
    FOR_WORDS = auto()
    FOR_HEAD = auto()  # after `((…))`
    FOR_DO = auto()
    CASE_WORD = auto()
    CASE_IN = auto()
    PATTERNS = auto()  # a pattern, its opening bracket or `esac`
    PATTERN = auto()
    PATTERN_END = auto()


# By reserved word: the part of the compound command that it begins, and the position there.
OPENING = {
    "if": ("condition", Position.COMMAND),
    "while": ("condition", Position.COMMAND),
    "until": ("condition", Position.COMMAND),
    "for": ("head", Position.FOR_NAME),
    "select": ("head", Position.FOR_NAME),
    "case": ("head", Position.CASE_WORD),
    "{": ("body", Position.COMMAND),
    "(": ("body", Position.COMMAND),
}
# By compound command and part: the reserved words that may end the part, and the part that they begin; "" ends it all.
NEXT = {
    ("if", "condition"): {"then": "then"},
    ("if", "then"): {"elif": "condition", "else": "else", "fi": ""},
    ("if", "else"): {"fi": ""},
    ("while", "condition"): {"do": "body"},
    ("while", "body"): {"done": ""},
    ("until", "condition"): {"do": "body"},
    ("until", "body"): {"done": ""},
    ("for", "body"): {"done": ""},
    ("for", "braces"): {"}": ""},
    ("select", "body"): {"done": ""},
    ("select", "braces"): {"}": ""},
    ("case", "body"): {"esac": ""},
    ("{", "body"): {"}": ""},
}
ENDING = frozenset(word for words in NEXT.values() for word in words)
PREFIXES = frozenset({"!", "time", "coproc"})
JOINING = frozenset({"&&", "||", "|", "|&"})
# Line ends may stand here without a meaning.
SKIPPING = frozenset(
    {
        Position.FUNCTION_BODY, Position.FOR_IN, Position.FOR_HEAD, Position.FOR_DO, Position.CASE_IN,
        Position.PATTERNS,
    }
)  # fmt: skip
