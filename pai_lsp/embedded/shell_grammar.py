"""Which compound commands are open, and what may follow: the grammar of bash as a stack, one token at a time.

`Grammar` serves one list of commands: a script, or the inside of a substitution. Words and operators go in; what a word
is comes out. Nothing is read twice and nothing recurses, however deep commands are nested in each other.
Source: the bash reference manual, "Shell Commands" and "Reserved Words"; bash 5.2, parse.y.
"""

from __future__ import annotations

from enum import Enum, auto

from pai_lsp.embedded.shell_script import EventKind, Unclosed
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.embedded.shell_script import Event
    from pai_lsp.source.text import Span


class Role(Enum):
    """What a word is in its place."""

    ARGUMENT = auto()  # a word of a simple command, its name included
    RESERVED = auto()  # a reserved word, or one that belongs to a compound command
    VARIABLE = auto()  # the name after `for` or `select`
    FUNCTION = auto()  # the name after `function`
    LISTED = auto()  # a word that a `for` or `select` goes through
    CONDITIONAL = auto()  # `[[`


class Expected(Enum):
    """What comes next."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    COMMAND = auto()  # a command may begin
    WORDS = auto()  # in a simple command
    AFTER = auto()  # after a compound command, where only redirections and operators are allowed
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
_OPENING = {
    "if": ("condition", Expected.COMMAND),
    "while": ("condition", Expected.COMMAND),
    "until": ("condition", Expected.COMMAND),
    "for": ("head", Expected.FOR_NAME),
    "select": ("head", Expected.FOR_NAME),
    "case": ("head", Expected.CASE_WORD),
    "{": ("body", Expected.COMMAND),
    "(": ("body", Expected.COMMAND),
}
# Bash 5.2 refuses the next `(` or `{`, as its parser's stack is full; of other compound commands it takes fewer.
_MOST_OPEN = 4999
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
_PREFIXES = frozenset({"!", "time", "coproc"})
JOINING = frozenset({"&&", "||", "|", "|&"})
# Where a command may begin or has just ended, and where it may end.
_AT_COMMAND = frozenset({Expected.COMMAND, Expected.AFTER, Expected.FUNCTION_BODY})
_AT_END = frozenset({Expected.WORDS, Expected.AFTER})
# Line ends have no meaning here.
_SKIPPING = frozenset(
    {
        Expected.FUNCTION_BODY, Expected.FOR_IN, Expected.FOR_HEAD, Expected.FOR_DO, Expected.CASE_IN,
        Expected.PATTERNS,
    }
)  # fmt: skip


@dataclass(slots=True)
class _Frame:
    """A compound command that is open; the outermost one is the list itself, with an empty `keyword`."""

    keyword: str
    span: Span | None
    part: str
    function: str
    # Whether its part has a command yet; without one it must not end.
    is_filled: bool = False


class Grammar:
    """The state after some tokens."""

    def __init__(
        self,
        fault: Callable[[Span, Unclosed | None], None],
        record: Callable[[Event], None],
    ) -> None:
        self._record = record
        self._fault = fault
        self._frames = [_Frame("", None, "", "")]
        self.expected = Expected.COMMAND
        self._required: Unclosed | None = None  # what must be followed by a command
        self._prefix = ""  # `!` or `time` directly before
        self.function = ""
        self.is_full = False  # bash stops here, and nothing after it is worth reading
        self.keyword = ""
        self.operator = ""

    @property
    def expects_command(self) -> bool:
        """Whether a command may begin here."""
        return self.expected in {Expected.COMMAND, Expected.FUNCTION_BODY}

    @property
    def is_loop_head(self) -> bool:
        """Whether the head of a `for` loop comes here, a name or arithmetic."""
        return self.expected is Expected.FOR_NAME and self._frames[-1].keyword == "for"

    def word(self, written: str, span: Span) -> Role:
        """Read a word; `written` with its quotes, as no quoted word is a reserved one."""
        expected = self.expected
        if expected is Expected.WORDS or expected is Expected.FOR_WORDS:
            return Role.ARGUMENT if expected is Expected.WORDS else Role.LISTED
        if expected in _AT_COMMAND:
            return self._first_word(written, span)
        if expected is Expected.FUNCTION_NAME:
            self.function = written
            self._awaits_body(span)
            return Role.FUNCTION
        if expected is Expected.FOR_NAME:
            self.expected = Expected.FOR_IN
            return Role.VARIABLE
        if expected is Expected.CASE_WORD:
            self.expected = Expected.CASE_IN
        elif expected is Expected.PATTERNS and written == "esac":
            self._pop(span)
        elif expected in {Expected.PATTERNS, Expected.PATTERN}:
            self.expected = Expected.PATTERN_END
        elif expected is Expected.CASE_IN and written == "in":
            self.expected = Expected.PATTERNS
        elif expected is Expected.FOR_IN and written == "in":
            self.expected = Expected.FOR_WORDS
        elif expected in {Expected.FOR_IN, Expected.FOR_HEAD, Expected.FOR_DO} and written in {"do", "{"}:
            self._begin_part("body" if written == "do" else "braces", written)
        else:
            self._unexpected(span)
        return Role.RESERVED

    def _first_word(self, written: str, span: Span) -> Role:
        """Read a word where a command begins or has just ended."""
        frame = self._frames[-1]
        is_body = self.expected is Expected.FUNCTION_BODY
        if written in ENDING and not is_body:
            following = NEXT.get((frame.keyword, frame.part), {}).get(written)
            if following is None or self._required or not frame.is_filled:
                self._unexpected(span)
            elif following:
                self._begin_part(following, written)
            else:
                self._pop(span)
            return Role.RESERVED
        if self.expected is Expected.AFTER or (is_body and written != "[[" and written not in _OPENING):
            self._unexpected(span)
        if written in _OPENING:
            self._push(written, span)
            return Role.RESERVED
        is_piped = self._required is not None and self._required.opener in {"|", "|&"}
        if written in _PREFIXES and not is_body and not (is_piped and written == "time"):
            if is_piped:
                self._unexpected(span)
            self._begin_command(Expected.COMMAND)
            self.keyword = written
            if written == "coproc":
                self._required = Unclosed(written, span)
            else:
                self._prefix = written
            self._record((EventKind.PREFIX, written, span))
            return Role.RESERVED
        if written == "function" and not is_body:
            self._begin_command(Expected.FUNCTION_NAME)
            self._required = Unclosed(written, span)
            return Role.RESERVED
        if written in {"in", "]]"}:
            self._unexpected(span)
        self._begin_command(Expected.WORDS)
        return Role.CONDITIONAL if written == "[[" else Role.ARGUMENT

    def begin(self) -> None:
        """Read an assignment or a redirection, with which a simple command may begin."""
        if self.expected is Expected.COMMAND:
            self._begin_command(Expected.WORDS)

    def compound(self, span: Span) -> None:
        """Read a whole compound command: `((…))`, or a `[[` whose words the reader took."""
        if self.is_loop_head:
            self.expected = Expected.FOR_HEAD
            return
        if self.expected not in {Expected.COMMAND, Expected.FUNCTION_BODY, Expected.WORDS}:
            self._unexpected(span)
        self._begin_command(Expected.AFTER)
        self._record((EventKind.COMPOUND, "", span))
        self.function = self._frames[-1].function

    def function_brackets(self, name: str, span: Span) -> None:
        """Read `()` after a name, or after `function` and a name."""
        if self.expected is Expected.WORDS:
            self.function = name
            self._awaits_body(span)

    def operator_token(self, operator: str, span: Span) -> None:
        """Read a control operator, a bracket or a line end."""
        self._record((EventKind.OPERATOR, operator, span))
        expected = self.expected
        if operator == "\n":
            self._line_end(span)
        elif operator == "(":
            self._opening_bracket(span)
        elif operator == ")":
            self._closing_bracket(span)
        elif expected is Expected.PATTERN_END and operator == "|":
            self.expected = Expected.PATTERN
        elif operator == ";" and expected in {Expected.FOR_IN, Expected.FOR_WORDS, Expected.FOR_HEAD}:
            self.expected = Expected.FOR_DO
        elif operator in {";;", ";&", ";;&"}:
            frame = self._frames[-1]
            if (frame.keyword, frame.part) != ("case", "body") or self._required or not self._is_at_end:
                self._unexpected(span)
            else:
                self.expected, frame.part = Expected.PATTERNS, "patterns"
        elif expected in _AT_END or (self._prefix and operator == ";"):
            self._end_command(operator, span)
        else:
            self._unexpected(span)
        self.keyword, self.operator = "", operator

    @property
    def _is_at_end(self) -> bool:
        return self.expected in {Expected.COMMAND, Expected.WORDS, Expected.AFTER} and not self._prefix

    def _line_end(self, span: Span) -> None:
        if self.expected in _AT_END or self._prefix:
            self._end_command("\n", span)
        elif self.expected is Expected.FOR_WORDS:
            self.expected = Expected.FOR_DO
        elif self.expected is not Expected.COMMAND and self.expected not in _SKIPPING:
            self._unexpected(span)

    def _opening_bracket(self, span: Span) -> None:
        if self.expected is Expected.PATTERNS:
            self.expected = Expected.PATTERN
            return
        if not self.expects_command:
            self._unexpected(span)
        self._push("(", span)

    def _closing_bracket(self, span: Span) -> None:
        frame = self._frames[-1]
        if self.expected is Expected.PATTERN_END:
            self._begin_part("body", "")
        elif frame.keyword == "(" and frame.is_filled and self._is_at_end and not self._required:
            self._pop(span)
        else:
            self._unexpected(span)
            if frame.keyword == "(":
                self._pop(span)

    def closes(self) -> bool:
        """Whether a `)` here ends the whole list, where that ends with one."""
        return len(self._frames) == 1

    def close(self, span: Span) -> None:
        """Read the `)` that ends the whole list."""
        if self._required or not self._is_at_end:
            self._unexpected(span)

    def unclosed(self) -> list[Unclosed]:
        """What is open when the text ends, the outermost first."""
        found = [Unclosed(frame.keyword, frame.span) for frame in self._frames if frame.span is not None]
        return [*found, self._required] if self._required else found

    def _begin_command(self, expected: Expected) -> None:
        self._frames[-1].is_filled = True
        self._required = None
        self._prefix = ""
        self.expected = expected

    def _begin_part(self, part: str, keyword: str) -> None:
        frame = self._frames[-1]
        frame.part, frame.is_filled = part, part == "body" and frame.keyword == "case"
        self._record((EventKind.PART, part, None))
        self._prefix = ""
        self.keyword, self.expected = keyword, Expected.COMMAND

    def _awaits_body(self, span: Span) -> None:
        self._record((EventKind.FUNCTION, self.function, span))
        self._begin_command(Expected.FUNCTION_BODY)
        self._required = Unclosed("function", span)

    def _push(self, keyword: str, span: Span) -> None:
        if len(self._frames) > _MOST_OPEN:
            self.is_full = True
            self._unexpected(span)
            return
        self._begin_command(Expected.COMMAND)
        part, self.expected = _OPENING[keyword]
        self._frames.append(_Frame(keyword, span, part, self.function))
        self.keyword = keyword
        self._record((EventKind.OPEN, keyword, span))
        self._record((EventKind.PART, part, None))

    def _pop(self, span: Span) -> None:
        self._record((EventKind.CLOSE, "", span))
        self._frames.pop()
        self.function = self._frames[-1].function
        self.expected, self.keyword, self._prefix = Expected.AFTER, "", ""

    def _end_command(self, operator: str, span: Span) -> None:
        self.expected, self._prefix = Expected.COMMAND, ""
        if operator in JOINING:
            self._required = Unclosed(operator, span)

    def _unexpected(self, span: Span) -> None:
        """Bash would stop here; go on as if a command could begin."""
        frame = self._frames[-1]
        self._fault(span, Unclosed(frame.keyword, frame.span) if frame.span else None)
        self._required, self._prefix = None, ""
        self.function = self._frames[-1].function
        if self.expected is not Expected.WORDS:
            self.expected = Expected.COMMAND


_UNARY = frozenset(f"-{letter}" for letter in "abcdefghkprstuwxGLNORSvnoz")
_BINARY = frozenset({"=", "==", "!=", "=~", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class _ExpectedInTest(Enum):
    TERM = auto()  # an expression begins
    ARGUMENT = auto()  # after a unary operator
    BINARY = auto()  # after a word, which may be all, or the left side of an operator
    RIGHT = auto()  # after a binary operator
    END = auto()  # after a whole expression


class Conditional:
    """The grammar of `[[ … ]]`: the state after some tokens."""

    def __init__(self, fault: Callable[[Span], None]) -> None:
        self._fault = fault
        self._expected = _ExpectedInTest.TERM
        self._opened = 0
        self._operator = ""

    @property
    def expects_regex(self) -> bool:
        """Whether a regular expression comes, in which brackets and `|` are no operators."""
        return self._expected is _ExpectedInTest.RIGHT and self._operator == "=~"

    def line_end(self, span: Span) -> None:
        """Read a line end."""
        if self._expected in {_ExpectedInTest.ARGUMENT, _ExpectedInTest.BINARY, _ExpectedInTest.RIGHT}:
            self._fault(span)

    def operator(self, operator: str, span: Span) -> bool:
        """Read an operator; whether it may be one of a conditional expression at all."""
        is_after = self._expected in {_ExpectedInTest.BINARY, _ExpectedInTest.END}
        if operator in {"&&", "||"} and is_after:
            self._expected = _ExpectedInTest.TERM
        elif operator == "(" and self._expected is _ExpectedInTest.TERM:
            self._opened += 1
        elif operator == ")" and is_after and self._opened:
            self._opened -= 1
            self._expected = _ExpectedInTest.END
        elif operator in {"<", ">"} and self._expected is _ExpectedInTest.BINARY:
            self._expected, self._operator = _ExpectedInTest.RIGHT, operator
        else:
            self._fault(span)
            return operator not in {";", "&", "|"}
        return True

    def word(self, written: str, span: Span) -> bool:
        """Read a word; whether it is the `]]` that ends the expression."""
        expected = self._expected
        if written == "]]":
            if self._opened or expected not in {_ExpectedInTest.BINARY, _ExpectedInTest.END}:
                self._fault(span)
            return True
        if expected is _ExpectedInTest.TERM:
            if written in _UNARY:
                self._expected = _ExpectedInTest.ARGUMENT
            elif written != "!":
                self._expected = _ExpectedInTest.BINARY
        elif expected is _ExpectedInTest.BINARY and written in _BINARY:
            self._expected, self._operator = _ExpectedInTest.RIGHT, written
        elif expected in {_ExpectedInTest.ARGUMENT, _ExpectedInTest.RIGHT}:
            self._expected = _ExpectedInTest.END
        else:
            self._fault(span)
        return False
