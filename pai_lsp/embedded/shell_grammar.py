"""Which compound commands are open, and what may follow: the grammar of bash as a stack, one token at a time.

`Grammar` serves one list of commands: a script, or the inside of a substitution. Words and operators go in; what a word
is comes out. Nothing is read twice and nothing recurses, however deep commands are nested in each other.
Source: the bash reference manual, "Shell Commands" and "Reserved Words"; bash 5.2, parse.y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.embedded.shell_reserved import ENDING, JOINING, NEXT, OPENING, PREFIXES, SKIPPING, Position, Role
from pai_lsp.embedded.shell_script import Unclosed
from pai_lsp.source.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from pai_lsp.source.text import Span


@dataclass(slots=True)
class _Frame:
    """A compound command that is open; the outermost one is the list itself, with an empty `keyword`."""

    keyword: str
    span: Span | None
    part: str
    function: str
    # Whether its part has a command yet; without one it must not end.
    is_filled: bool = False
    # The numbers of the commands with which the list and the pipeline begin.
    list_start: int = 0
    pipeline_start: int = 0
    is_pipeline: bool = False


class Grammar:
    """The state after some tokens. `count` gives the number of simple commands so far, by which they are marked."""

    __slots__ = (
        "_count", "_fault", "_frames", "_position", "_prefix", "_required", "background", "function", "has_pipeline",
        "keyword", "operator", "separate", "subshells",
    )  # fmt: skip

    def __init__(
        self, count: Callable[[], int], fault: Callable[[Span, Unclosed | None], None], function: str = ""
    ) -> None:
        self._count = count
        self._fault = fault
        self._frames = [_Frame("", None, "", function, list_start=count(), pipeline_start=count())]
        self._position = Position.COMMAND
        self._required: Unclosed | None = None  # what must be followed by a command
        self._prefix = ""  # `!` or `time` directly before
        self.function = function
        self.subshells = 0
        self.keyword = ""
        self.operator = ""
        self.has_pipeline = False
        # Ranges of commands, by number: those of pipelines, and those in the background.
        self.separate: list[tuple[int, int]] = []
        self.background: list[tuple[int, int]] = []

    @property
    def expects_command(self) -> bool:
        """Whether a command may begin here."""
        return self._position in {Position.COMMAND, Position.FUNCTION_BODY}

    @property
    def may_be_arithmetic(self) -> bool:
        """Whether `((` may begin arithmetic here: a command, or the head of a loop."""
        return self.expects_command or self.is_loop_head

    @property
    def is_loop_head(self) -> bool:
        """Whether the head of a `for` loop comes here, a name or arithmetic."""
        return self._position is Position.FOR_NAME and self._frames[-1].keyword == "for"

    @property
    def awaits_body(self) -> bool:
        """Whether the body of a function comes here."""
        return self._position is Position.FUNCTION_BODY

    @property
    def may_assign(self) -> bool:
        """Whether an assignment may stand here, if the command has no name yet."""
        return self._position in {Position.COMMAND, Position.WORDS}

    @property
    def is_in_simple_command(self) -> bool:
        """Whether the words of a simple command stand here."""
        return self._position is Position.WORDS

    def word(self, written: str, span: Span) -> Role:
        """Read a word; `written` with its quotes, as no quoted word is a reserved one."""
        position = self._position
        if position is Position.WORDS or position is Position.FOR_WORDS:
            return Role.ARGUMENT if position is Position.WORDS else Role.RESERVED
        if position in {Position.COMMAND, Position.AFTER, Position.FUNCTION_BODY}:
            return self._first_word(written, span)
        if position is Position.FUNCTION_NAME:
            self.function = written
            self._awaits_body(span)
            return Role.FUNCTION
        if position is Position.FOR_NAME:
            self._position = Position.FOR_IN
            return Role.VARIABLE
        if position is Position.CASE_WORD:
            self._position = Position.CASE_IN
        elif position is Position.PATTERNS and written == "esac":
            self._pop()
        elif position in {Position.PATTERNS, Position.PATTERN}:
            self._position = Position.PATTERN_END
        elif position is Position.CASE_IN and written == "in":
            self._position = Position.PATTERNS
        elif position is Position.FOR_IN and written == "in":
            self._position = Position.FOR_WORDS
        elif position in {Position.FOR_IN, Position.FOR_HEAD, Position.FOR_DO} and written in {"do", "{"}:
            self._begin_part("body" if written == "do" else "braces", written)
        else:
            self._unexpected(span)
        return Role.RESERVED

    def _first_word(self, written: str, span: Span) -> Role:
        """Read a word where a command begins or has just ended."""
        frame = self._frames[-1]
        is_body = self._position is Position.FUNCTION_BODY
        if written in ENDING and not is_body:
            following = NEXT.get((frame.keyword, frame.part), {}).get(written)
            if following is None or self._required or not (frame.is_filled or written == "esac"):
                self._unexpected(span)
            elif following:
                self._begin_part(following, written)
            else:
                self._pop()
            return Role.RESERVED
        if self._position is Position.AFTER or (is_body and written != "[[" and written not in OPENING):
            self._unexpected(span)
        if written in OPENING:
            self._push(written, span)
            return Role.RESERVED
        is_piped = self._required is not None and self._required.opener in {"|", "|&"}
        if written in PREFIXES and not is_body and not (is_piped and written == "time"):
            if is_piped:
                self._unexpected(span)
            self._begin_command(Position.COMMAND)
            self.keyword = written
            if written == "coproc":
                frame.is_pipeline = True
                self._required = Unclosed(written, span)
            else:
                self._prefix = written
            return Role.RESERVED
        if written == "function" and not is_body:
            self._begin_command(Position.FUNCTION_NAME)
            self._required = Unclosed(written, span)
            return Role.RESERVED
        if written in {"in", "]]"}:
            self._unexpected(span)
        self._begin_command(Position.WORDS)
        return Role.CONDITIONAL if written == "[[" else Role.ARGUMENT

    def begin(self) -> None:
        """Read an assignment or a redirection, with which a simple command may begin."""
        if self._position is Position.COMMAND:
            self._begin_command(Position.WORDS)

    def compound(self, span: Span) -> None:
        """Read a whole compound command: `((…))`, or a `[[` whose words the reader took."""
        if self.is_loop_head:
            self._position = Position.FOR_HEAD
            return
        if self._position not in {Position.COMMAND, Position.FUNCTION_BODY, Position.WORDS}:
            self._unexpected(span)
        self._begin_command(Position.AFTER)
        self.function = self._frames[-1].function

    def function_brackets(self, name: str, span: Span) -> None:
        """Read `()` after a name, or after `function` and a name."""
        if self._position is Position.WORDS:
            self.function = name
            self._awaits_body(span)

    def operator_token(self, operator: str, span: Span) -> None:
        """Read a control operator, a bracket or a line end."""
        position = self._position
        if operator == "\n":
            self._line_end(span)
        elif operator == "(":
            self._opening_bracket(span)
        elif operator == ")":
            self._closing_bracket(span)
        elif position is Position.PATTERN_END and operator == "|":
            self._position = Position.PATTERN
        elif operator == ";" and position in {Position.FOR_IN, Position.FOR_WORDS, Position.FOR_HEAD}:
            self._position = Position.FOR_DO
        elif operator in {";;", ";&", ";;&"}:
            frame = self._frames[-1]
            if (frame.keyword, frame.part) != ("case", "body") or self._required or not self._is_at_end:
                self._unexpected(span)
            else:
                self._end_list()
                self._position, frame.part = Position.PATTERNS, "patterns"
        elif position in {Position.WORDS, Position.AFTER} or (self._prefix and operator == ";"):
            self._end_command(operator, span)
        else:
            self._unexpected(span)
        self.keyword, self.operator = "", operator

    @property
    def _is_at_end(self) -> bool:
        return self._position in {Position.COMMAND, Position.WORDS, Position.AFTER} and not self._prefix

    def _line_end(self, span: Span) -> None:
        if self._position in {Position.WORDS, Position.AFTER} or self._prefix:
            self._end_command("\n", span)
        elif self._position is Position.FOR_WORDS:
            self._position = Position.FOR_DO
        elif self._position is not Position.COMMAND and self._position not in SKIPPING:
            self._unexpected(span)

    def _opening_bracket(self, span: Span) -> None:
        if self._position is Position.PATTERNS:
            self._position = Position.PATTERN
            return
        if not self.expects_command:
            self._unexpected(span)
        self._push("(", span)
        self.subshells += 1

    def _closing_bracket(self, span: Span) -> None:
        frame = self._frames[-1]
        if self._position is Position.PATTERN_END:
            self._begin_part("body", "")
        elif frame.keyword == "(" and frame.is_filled and self._is_at_end and not self._required:
            self.subshells -= 1
            self._pop()
        else:
            self._unexpected(span)
            if frame.keyword == "(":
                self.subshells -= 1
                self._pop()

    def closes(self) -> bool:
        """Whether a `)` here ends the whole list, where that ends with one."""
        return len(self._frames) == 1

    def close(self, span: Span) -> None:
        """Read the `)` that ends the whole list."""
        if self._required or not self._is_at_end:
            self._unexpected(span)
        self._end_list()

    def unclosed(self) -> list[Unclosed]:
        """What is open when the text ends, the outermost first."""
        found = [Unclosed(frame.keyword, frame.span) for frame in self._frames if frame.span is not None]
        self._end_list()
        return [*found, self._required] if self._required else found

    def _begin_command(self, position: Position) -> None:
        self._frames[-1].is_filled = True
        self._required = None
        self._prefix = ""
        self._position = position

    def _begin_part(self, part: str, keyword: str) -> None:
        frame = self._frames[-1]
        self._end_list()
        frame.part, frame.is_filled = part, part == "body" and frame.keyword == "case"
        self._prefix = ""
        self.keyword, self._position = keyword, Position.COMMAND

    def _awaits_body(self, span: Span) -> None:
        self._begin_command(Position.FUNCTION_BODY)
        self._required = Unclosed("function", span)

    def _push(self, keyword: str, span: Span) -> None:
        self._begin_command(Position.COMMAND)
        part, self._position = OPENING[keyword]
        count = self._count()
        self._frames.append(_Frame(keyword, span, part, self.function, list_start=count, pipeline_start=count))
        self.keyword = keyword

    def _pop(self) -> None:
        self._end_list()
        self._frames.pop()
        self.function = self._frames[-1].function
        self._position, self.keyword, self._prefix = Position.AFTER, "", ""

    def _end_command(self, operator: str, span: Span) -> None:
        frame = self._frames[-1]
        self._position, self._prefix = Position.COMMAND, ""
        if operator in {"|", "|&"}:
            frame.is_pipeline = self.has_pipeline = True
        elif operator in {"&&", "||"}:
            self._end_pipeline()
        else:
            if operator == "&":
                self.background.append((frame.list_start, self._count()))
            self._end_list()
        if operator in JOINING:
            self._required = Unclosed(operator, span)

    def _end_pipeline(self) -> None:
        frame = self._frames[-1]
        if frame.is_pipeline:
            self.separate.append((frame.pipeline_start, self._count()))
            frame.is_pipeline = False
        frame.pipeline_start = self._count()

    def _end_list(self) -> None:
        self._end_pipeline()
        self._frames[-1].list_start = self._count()

    def _unexpected(self, span: Span) -> None:
        """Bash would stop here; go on as if a command could begin."""
        frame = self._frames[-1]
        self._fault(span, Unclosed(frame.keyword, frame.span) if frame.span else None)
        self._required, self._prefix = None, ""
        self.function = self._frames[-1].function
        if self._position is not Position.WORDS:
            self._position = Position.COMMAND
