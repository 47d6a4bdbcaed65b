"""A script as bash reads it: values only, made by `shell.read_script`. Offsets are code points in the script's text."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise

from pai_lsp.source.frozen import dataclass, dataclass_of_many
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

# Commands that may set any variable: what follows them is not judged by the absence of an assignment.
_OPEN_ENDED = frozenset(
    {"source", ".", "eval", "conda", "mamba", "micromamba", "module", "ml", "spack", "pyenv", "nvm"},
)
_LEAVING_LOOP = frozenset({"break", "exit", "return", "exec", "kill"})
# What `sleep` takes. Source: sleep(1).
_TIME = lazy_pattern(r"[0-9]+(?:\.[0-9]+)?[smhd]?")
_UNSET_OFF = lazy_pattern(r"\+[A-Za-tv-z]*u[A-Za-z]*")
# What a script may leave open without a syntax error; bash takes the end of the text for the end of these.
HERE_DOCUMENT, CONTINUATION = "<<", "\\"

# Options that change nothing about what a builtin does.
_NEUTRAL = {"command": {"-p", "--"}, "builtin": {"--"}}


@dataclass_of_many(frozen=True, slots=True)
class Word:
    """A word of a command; `text` is the word without its quotes, expansions as they are written.

    is_quoted: whether a part of it has quotes or a backslash.
    """

    text: str
    span: Span
    is_literal: bool = True
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A variable that bash reads.

    span: the whole expansion (`$X`, `${X:-d}`), or the bare name in arithmetic; name_span: the name alone.
    is_guarded: bash continues where it is not set (`${X:-d}`, `${X+d}`), or only reads it as another one's default.
    is_indirect: its value is the name of the variable that is meant (`${!X}`).
    is_question: only whether it is set matters (`${X+d}`).
    """

    name: str
    span: Span
    name_span: Span
    is_guarded: bool
    is_indirect: bool = False
    is_question: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that bash sets: `X=1`, `export X`, `read X`, `for X in`, and so on; `span` is the name.

    value: the word after `=`, empty and not literal for an array; None where none is written.
    """

    name: str
    span: Span
    is_exported: bool = False
    value: Word | None = None

    @property
    def whole(self) -> Span:
        """The name with its value."""
        return Span(self.span.start, self.value.span.end) if self.value is not None else self.span

    @property
    def is_empty(self) -> bool:
        """Whether it is `NAME=` with nothing after it."""
        return self.value is not None and not self.value.span

    @property
    def plain_value(self) -> str | None:
        """The value that the variable has afterwards; None where bash makes it, or adds to what is there."""
        is_plain = self.value is not None and self.value.is_literal and self.value.span.start == self.span.end + 1
        return self.value.text if self.value is not None and is_plain else None


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection of a command.

    operator: without the number in front of it, such as `>>`; descriptor: that number, or empty.
    span: from its number or operator to its target.
    """

    operator: str
    span: Span
    target: Word
    descriptor: str

    @property
    def operator_span(self) -> Span:
        """The operator alone."""
        start = self.span.start + len(self.descriptor)
        return Span(start, start + len(self.operator))

    @property
    def is_output(self) -> bool:
        """Whether it writes a file of that name."""
        return self.operator in {">", ">>", ">|", "&>"}


class PartKind(Enum):
    """A part of a script in which characters have another meaning than in plain text; the values begin such a part."""

    ESCAPED = "\\"
    SINGLE_QUOTED = "'"
    DOUBLE_QUOTED = '"'
    ANSI_QUOTED = "$'"
    COMMENT = "#"
    TEMPLATE = "<%"
    EXPANSION = "$"
    REGULAR_EXPRESSION = "=~"
    HERE_DOCUMENT = "<<"


@dataclass_of_many(frozen=True, slots=True)
class Part:
    """A quoted part, an expansion, a comment, or the lines of a here-document; `span` includes the quotes."""

    kind: PartKind
    span: Span


@dataclass(frozen=True, slots=True)
class Unclosed:
    """What a script begins and does not end; `opener` is the quote, reserved word or operator, `span` its place."""

    opener: str
    span: Span


class EventKind(Enum):
    """What the reader meets that matters to how commands depend on each other; `shell_structure` makes a tree of it."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    COMMAND = auto()  # a simple command ends; the number of the command, as text
    ASSIGNED = auto()  # a variable in front of a command; its name, and the assignment
    BARE = auto()  # assignments or redirections without a command end
    COMPOUND = auto()  # `((…))`, or the brackets of a `[[ … ]]` after its command
    OPEN = auto()  # a compound command begins; its reserved word
    PART = auto()  # a part of it begins
    CLOSE = auto()  # it ends; the word that ends it
    SUBSTITUTION = auto()  # a substitution begins; its opening characters
    SUBSTITUTION_END = auto()
    OPERATOR = auto()
    PREFIX = auto()  # `!`, `time` or `coproc`
    FUNCTION = auto()  # the name of a function whose body follows
    REDIRECTION = auto()  # the operator, and the redirection
    REDIRECTION_AFTER = auto()  # the same after a compound command


Event: TypeAlias = "tuple[EventKind, str, Span | Assignment | Redirection | None]"


@dataclass_of_many(frozen=True, slots=True)
class SimpleCommand:
    """A command and its arguments, without assignments in front and without redirections.

    keyword: the reserved word in front of it (`while`, `then`), or empty.
    operator: what is written before it (`&&`, `||`, `|`, `;`, a line end, or nothing for the first).
    function: the function whose body it is in, or empty.
    is_nested: it is in a substitution, such as `$(date)`.
    """

    words: tuple[Word, ...]
    keyword: str
    operator: str
    function: str
    is_nested: bool

    @property
    def name(self) -> str:
        """The program, as it is written."""
        return self.words[0].text

    @property
    def arguments(self) -> tuple[str, ...]:
        """The texts of the words after the program."""
        return tuple(word.text for word in self.words[1:])


_QUOTES = (PartKind.SINGLE_QUOTED, PartKind.DOUBLE_QUOTED, PartKind.ANSI_QUOTED)
_OPEN_QUOTES = frozenset({"'", '"', "`", "$'"})
_QUOTED = (*_QUOTES, PartKind.COMMENT, PartKind.HERE_DOCUMENT, PartKind.TEMPLATE)


@dataclass(frozen=True)
class Script:
    """What bash reads in a text; everything in the order in which it is written.

    commands: the simple commands, `[[ … ]]` included; those of a substitution come before the command around it.
    parts: the outermost parts, so that none overlaps another.
    line_ends: the line ends that bash reads as such: a comment is allowed before each.
    functions: the names of the functions that it defines.
    unclosed: what it leaves open, the outermost first; meaningful as long as there is no `fault`.
    fault: the first word or operator at which bash stops with a syntax error; empty at the end of the text.
    fault_inside: the innermost command that is open at the fault.
    positionals: where it reads `$0` to `$9` outside of functions, without a default.
    bad_substitutions: the `${…}` that bash refuses when it runs them.
    loop_words: the words that `for` and `select` go through.
    events: what `shell_structure` needs, in the order in which it ends.
    open_redirections: the operators, such as `>`, that no file name follows, so that bash refuses the script.
    """

    text: str
    uses: tuple[VariableUse, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    commands: tuple[SimpleCommand, ...] = ()
    comments: tuple[Span, ...] = ()
    tested_names: frozenset[str] = frozenset()
    parts: tuple[Part, ...] = ()
    line_ends: frozenset[int] = frozenset()
    functions: frozenset[str] = frozenset()
    unclosed: tuple[Unclosed, ...] = ()
    fault: Span | None = None
    fault_inside: Unclosed | None = None
    open_redirections: tuple[Span, ...] = ()
    events: tuple[Event, ...] = ()
    positionals: tuple[Span, ...] = ()
    bad_substitutions: tuple[Span, ...] = ()
    loop_words: tuple[Word, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return not self.text

    @property
    def whole(self) -> Span:
        """The place of the whole text."""
        return Span(0, len(self.text))

    @property
    def is_complete(self) -> bool:
        """Whether the script ends everything that it begins, and no more: it may move as a whole."""
        return not self.unclosed and self.fault is None

    @property
    def is_readable(self) -> bool:
        """Whether its words are the ones that are meant: bash finds no fault, and every quote is closed."""
        return self.fault is None and _OPEN_QUOTES.isdisjoint([one.opener for one in self.unclosed])

    @cached_property
    def derived(self) -> dict[type, Any]:
        """What other modules make of it, by its class: once, so that all who ask get the same object."""
        return {}

    def quote(self, span: Span) -> PartKind | None:
        """The quotes around exactly this place, that of a word; None if there are none."""
        part = self._quoted_parts.get(span.start)
        return part.kind if part is not None and part.span.end == span.end else None

    @cached_property
    def uses_by_start(self) -> dict[int, VariableUse]:
        """The uses of variables by where they begin; the first one of each place."""
        return {use.span.start: use for use in reversed(self.uses)}

    @cached_property
    def _quoted_parts(self) -> dict[int, Part]:
        """The parts in quotes, by where they begin."""
        return {part.span.start: part for part in self.parts if part.kind in _QUOTES}

    def inner(self, span: Span) -> Span:
        """A place, that of a word, without the quotes around it."""
        kind = self.quote(span)
        return span if kind is None else Span(span.start + len(kind.value), span.end - 1)

    def is_quoted(self, at: int) -> bool:
        """Whether a place is inside quotes, a comment, a here-document or a template."""
        number = bisect_right(self.parts, at, key=lambda part: part.span.start) - 1
        return number >= 0 and self.parts[number].kind in _QUOTED and at < self.parts[number].span.end

    def is_last(self, word: Word) -> bool:
        """Whether nothing but blanks and ends of commands follows a word."""
        return not self.text[word.span.end :].strip(" \t\n;")

    @property
    def has_templates(self) -> bool:
        """Whether it has a tag of a template, which the rest-server fills."""
        return "<%" in self.text

    def is_template_end(self, at: int) -> bool:
        """Whether `%>` is written at a place."""
        return self.text.startswith("%>", at)

    def line_end_after(self, at: int) -> int | None:
        """The next line end, or the end of the script, if only blanks are before it; else None."""
        end = at + len(self.text[at:]) - len(self.text[at:].lstrip(" \t"))
        return end if self.text[end : end + 1] in {"", "\n"} else None

    def line_end(self, at: int) -> int:
        """The next line end that bash reads as such, or the end of the script."""
        return min((end for end in self.line_ends if end >= at), default=len(self.text))

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
        programs = [command.words[0] for command in self.commands]
        is_unknown = False in [word.is_literal for word in programs]
        return is_unknown or not _OPEN_ENDED.isdisjoint([word.text for word in programs])

    @cached_property
    def allows_unset(self) -> bool:
        """Whether it switches off, anywhere, that bash stops at a variable that is not set."""
        return any(
            ("+o", "nounset") in pairwise(command.arguments) or any(map(_UNSET_OFF.fullmatch, command.arguments))
            for command in self.commands
            if command.name == "set"
        )

    @cached_property
    def last_wait(self) -> SimpleCommand | None:
        """The command with which the script ends, if it does nothing but wait: `sleep 1d`, `tail -f /dev/null`."""
        last = self.commands[-1] if self.commands else None
        if last is None or not _waits(last.words) or last.is_nested or last.operator == "||":
            return None
        # Anything after it (`&`, `fi`, a redirection) may mean that it does not wait after all.
        return last if self.is_last(last.words[-1]) else None

    @cached_property
    def endless_command(self) -> SimpleCommand | None:
        """The command in which the script surely waits forever once it gets there, if there is one."""
        if not self.commands:
            return None
        last = self.commands[-1]
        if _waits(last.words, forever=True) and not last.is_nested and last.operator != "||":
            return self.last_wait
        if not self.text.rstrip().endswith("done") or any(command.name in _LEAVING_LOOP for command in self.commands):
            return None
        return next(
            (c for c in self.commands if c.keyword == "while" and len(c.words) == 1 and c.name in {"true", ":"}),
            None,
        )


def run_builtin(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words without `command` and `builtin` in front of them, which run a builtin as if they were not there."""
    at = 0
    while words[at].text in _NEUTRAL:
        after = at + 1
        while after < len(words) and words[after].text in _NEUTRAL[words[at].text]:
            after += 1
        if after == len(words) or words[after].text.startswith("-"):  # `command -v exec` only asks
            break
        at = after
    return words[at:]


def _waits(words: tuple[Word, ...], *, forever: bool = False) -> bool:
    """Whether a command does nothing but wait, as `sleep infinity` does."""
    texts = [word.text for word in words]
    if texts[0] == "exec" and len(texts) > 1:
        del texts[0]
    texts[0] = texts[0].rpartition("/")[2]
    if texts[0] == "sleep":
        is_time = not forever and len(texts) == 2 and _TIME.fullmatch(texts[1]) is not None
        return is_time or texts[1:] in (["infinity"], ["inf"])
    return texts[0] == "tail" and "/dev/null" in texts and not {"-f", "-F", "--follow"}.isdisjoint(texts)
