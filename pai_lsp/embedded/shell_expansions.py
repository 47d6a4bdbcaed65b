"""The expansions of a script: variables, substitutions, arithmetic. Each method reads one construct and stops after it.

`ExpansionReader` < `LineReader` (shell_words) < the reader of commands (shell).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from pai_lsp.embedded.shell_script import Assignment, EventKind, Part, PartKind, Unclosed, VariableUse
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.embedded.shell_script import Event

# Substitutions nested deeper are not read: that would take too much of the stack.
_MAX_DEPTH = 40
_MAX_SUBSCRIPT = 200

# These always match.
_BACKTICKS: Any = lazy_pattern(r"(?:[^`\\]|\\[\s\S])*")
_ANSI: Any = lazy_pattern(r"(?:[^'\\]|\\[\s\S])*")
NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER_END = lazy_pattern(r"[^}$`\"'\\<]+")
_SPECIAL = lazy_pattern(r"\$[0-9@*#?$!_-]")
# What bash allows after the name in `${…}` is an operator.
_NEVER_AFTER_NAME = frozenset(" \t.!&();|'\"")
_GUARD = lazy_pattern(r":?[-=+?]")
_ACTIVE = lazy_pattern(r"[$`\\]|<%")
_IDENTIFIER_GOES_ON = lazy_pattern(r"<%|\{\{|\$\([A-Z_]+\)")

# How far and deep the end of arithmetic is looked for, so that hostile text stays cheap.
_LONGEST_ARITHMETIC = 2000
_MAX_BRACKETS = 10

# A number, a name (the group), or the begin of an expansion.
_NAMES_AND_EXPANSIONS = lazy_pattern(r"[0-9][0-9A-Za-z_]*(?:#[0-9A-Za-z@_]+)?|([A-Za-z_][A-Za-z0-9_]*)|[$`]|<%")
# After the name of a variable that is set.
_SETTING = lazy_pattern(r"(?:\[[^\]]*\])?[ \t]*(?:=(?!=)|[-+*/%&^|]=|<<=|>>=|\+\+|--)")
_BRACKET = lazy_pattern(r"[()]|\\.|'[^']{0,200}'|\"(?:[^\"\\]|\\.){0,200}\"|['\"]")


class ExpansionReader(ABC):
    """Reads expansions in a text, and keeps what it finds; its subclasses read what is inside of them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._end = len(text)
        self._last_template_end = text.rfind("%>")
        self._depth = 0  # of substitutions
        self._inner = 0  # of parts that are read, of which only the outermost counts
        self._unchecked = 0  # of parts that bash does not read before it runs them
        self._conditional = 0  # of values that are used only where a variable is not set
        self._uses: list[VariableUse] = []
        self._assignments: list[Assignment] = []
        self._parts: list[Part] = []
        self._unclosed: list[Unclosed] = []
        self._fault: Span | None = None
        self._fault_inside: Unclosed | None = None
        self._events: list[Event] = []
        self._positionals: list[Span] = []
        self._bad_substitutions: list[Span] = []
        self._document = ""  # "<<" within a here-document

    @property
    @abstractmethod
    def _is_in_function(self) -> bool:
        """Whether the body of a function is being read."""

    @abstractmethod
    def _commands(self, closing: str) -> bool:
        """Read commands up to `closing`, a `)` or nothing, and that too; whether it is there."""

    @abstractmethod
    def _quoted(self, texts: list[str]) -> bool:
        """Read one quoted part and append its text to `texts`; return whether it has no expansion."""

    def _found_fault(self, span: Span, inside: Unclosed | None = None) -> None:
        if self._fault is None and not self._unchecked:
            self._fault, self._fault_inside = span, inside

    def _left_open(self, opener: str, start: int) -> None:
        if not self._unchecked:
            self._unclosed.append(Unclosed(opener, Span(start, min(start + len(opener), len(self._text)))))

    def _part(self, kind: PartKind, start: int) -> None:
        if not self._inner:
            self._parts.append(Part(kind, Span(start, self._at)))

    def _expansion(self, *, is_quoted: bool) -> None:
        """Read what begins with `$`, a backtick, `<(`, `>(` or `<%`."""
        text, at = self._text, self._at
        kind: PartKind | None = PartKind.EXPANSION
        self._inner += 1
        if text.startswith("<%", at):
            kind = PartKind.TEMPLATE
            end = text.find("%>", at, self._end) if at < self._last_template_end else -1
            self._at = at + 2 if end < 0 else end + 2
            if end < 0:
                self._left_open("<%", at)
        elif text[at] in "<>":
            self._nested(at)
        elif text[at] == "`":
            self._backticks()
        elif text.startswith("$(", at):
            if text.startswith("$((", at) and (end := arithmetic_end(text, at + 3, self._end)):
                self._arithmetic(at + 3, end - 2)
                self._at = end
            else:
                # Bash looks for the end of what may be arithmetic, and reads what it is only when it runs it.
                self._nested(at, is_unchecked=text.startswith("$((", at))
        elif text.startswith("${", at):
            self._at = at + 2
            if not self._is_too_deep(at):
                self._depth += 1
                self._parameter(at, is_quoted=is_quoted)
                self._depth -= 1
        elif match := NAME.match(text, at + 1, self._end):
            self._at = match.end()
            self._use(Span(*match.span()), Span(at, self._at))
        elif match := _SPECIAL.match(text, at, self._end):
            self._at = match.end()
            if match[0][1].isdigit() and not self._is_in_function:
                self._positionals.append(Span(at, self._at))
        elif text.startswith("$[", at):
            end = text.find("]", at, min(self._end, at + _LONGEST_ARITHMETIC))
            if end < 0:
                self._left_open("$[", at)
            self._arithmetic(at + 2, max(end, at + 2))
            self._at = max(end + 1, at + 2)
        elif not is_quoted and text.startswith("$'", at):
            kind = PartKind.ANSI_QUOTED
            end = _ANSI.match(text, at + 2, self._end).end()
            self._at = min(end + 1, self._end)
            if end == self._end:
                self._left_open("$'", at)
        elif not is_quoted and text.startswith('$"', at):
            self._at += 1
            self._quoted([])
        else:
            kind = None
            self._at += 1
        self._inner -= 1
        if kind is not None:
            self._part(kind, at)

    def _use(self, name: Span, whole: Span, *, is_guarded: bool = False, **more: bool) -> None:
        written = self._text[name.start : name.end]
        if written != "_" and not _IDENTIFIER_GOES_ON.match(self._text, name.end, self._end):
            self._uses.append(VariableUse(written, whole, name, is_guarded or self._conditional > 0, **more))

    def _is_too_deep(self, start: int) -> bool:
        """Whether substitutions are nested so deep that what follows is not read."""
        if self._depth < _MAX_DEPTH:
            return False
        self._left_open(self._text[start : start + 2], start)
        self._at = self._end
        return True

    def _nested(self, start: int, *, is_unchecked: bool = False) -> None:
        """Read the commands of a substitution, whose two opening characters begin at `start`."""
        self._at = start + 2
        if self._is_too_deep(start):
            return
        self._depth += 1
        self._unchecked += is_unchecked
        opener = self._text[start : start + 2]
        self._events.append((EventKind.SUBSTITUTION, self._document + opener, Span(start, start + 2)))
        is_closed = self._commands(")")
        self._events.append((EventKind.SUBSTITUTION_END, "", Span(start, self._at)))
        self._unchecked -= is_unchecked
        if not is_closed:
            self._left_open(opener, start)
        self._depth -= 1

    def _backticks(self) -> None:
        """Read `` `…` ``: bash looks for its end first, and reads the commands in it only when it runs them."""
        start, outer = self._at, self._end
        end = _BACKTICKS.match(self._text, start + 1, outer).end()
        if end == outer:
            self._left_open("`", start)
        self._unchecked += 1
        self._at, self._end = start + 1, end
        if not self._is_too_deep(start):
            self._depth += 1
            self._events.append((EventKind.SUBSTITUTION, f"{self._document}`", Span(start, start + 1)))
            self._commands("")
            self._events.append((EventKind.SUBSTITUTION_END, "", Span(start, min(end + 1, outer))))
            self._depth -= 1
        self._unchecked -= 1
        self._at, self._end = min(end + 1, outer), outer

    def _parameter(self, start: int, *, is_quoted: bool) -> None:
        """Read `${…}` after its brace."""
        text = self._text
        mark = text[self._at : self._at + 1]
        name_at = self._at + 1 if mark in {"!", "#"} else self._at
        match = NAME.match(text, name_at, self._end)
        if match is None:
            # A special parameter may be a character that is active elsewhere, as in `${#}` and `${$}`.
            self._at += mark in {"#", "!"} or (mark == "$" and text.startswith("}", name_at + 1))
            is_positional = mark.isdigit() and text.startswith("}", self._at + 1) and not self._is_in_function
            self._parameter_rest(start, is_quoted=is_quoted)
            if is_positional or mark == "}":
                found = self._positionals if is_positional else self._bad_substitutions
                found.append(Span(start, self._at))
            return
        self._at = match.end()
        is_indirect = mark == "!"
        is_list = False
        if text.startswith("[", self._at):
            is_list = text.startswith(("[@]", "[*]"), self._at)
            end = text.find("]", self._at, min(self._end, self._at + _MAX_SUBSCRIPT))
            if end >= 0 and "$" not in text[self._at : end]:
                self._at = end + 1
        is_names = is_indirect and (is_list or text.startswith(("*}", "@}"), self._at))
        is_bad = text[self._at : self._at + 1] in _NEVER_AFTER_NAME
        guard = _GUARD.match(text, self._at, self._end)
        place = len(self._uses)
        if guard:
            if "=" in guard[0]:
                self._assignments.append(Assignment(match[0], Span(*match.span())))
            self._conditional += 1
        self._parameter_rest(start, is_quoted=is_quoted)
        if guard:
            self._conditional -= 1
        if is_bad and not self._unchecked:
            self._bad_substitutions.append(Span(start, self._at))
        if not is_names:
            nested = self._uses[place:]
            del self._uses[place:]
            is_guarded = guard is not None or is_list
            is_question = guard is not None and guard[0].endswith("+")
            name, whole = Span(*match.span()), Span(start, self._at)
            self._use(name, whole, is_guarded=is_guarded, is_indirect=is_indirect, is_question=is_question)
            self._uses += nested

    def _parameter_rest(self, start: int, *, is_quoted: bool) -> None:
        """Read up to the closing brace of `${…}`."""
        text = self._text
        while self._at < self._end:
            at = self._at
            if match := _PARAMETER_END.match(text, at, self._end):
                self._at = match.end()
                continue
            character = text[at]
            if character == "}":
                self._at += 1
                return
            if character in "'\"\\":
                self._quoted([])
                if is_quoted and character == "'":  # bash looks for the other quote, but expands what is between them
                    self._expansions(at + 1, self._at - 1)
            elif character in "$`" or text.startswith(("<%", "<(", ">("), at):
                self._expansion(is_quoted=is_quoted)
            else:
                self._at += 1
        self._left_open("${", start)

    def _arithmetic(self, start: int, end: int) -> None:
        """Note the variables in arithmetic, where a name needs no `$`."""
        text, outer = self._text, self._end
        self._at, self._end = start, end
        while match := _NAMES_AND_EXPANSIONS.search(text, self._at, end):
            if match[1]:
                self._at = match.end()
                span = Span(*match.span())
                if _SETTING.match(text, match.end(), end) or text.startswith(("++", "--"), match.start() - 2):
                    self._assignments.append(Assignment(match[1], span))
                else:
                    self._use(span, span)
            elif match[0][0].isdigit():
                self._at = match.end()
            else:
                self._at = match.start()
                self._expansion(is_quoted=True)
        self._at, self._end = end, outer

    def _expansions(self, start: int, end: int) -> None:
        """Read the expansions in text that is otherwise taken as it is, and stop at its end."""
        text, after, outer = self._text, self._at, self._end
        self._at, self._end = start, end
        self._unchecked += 1
        self._inner += 1
        while match := _ACTIVE.search(text, self._at, end):
            self._at = match.start()
            if match[0] == "\\":
                self._at = min(self._at + 2, end)
            else:
                self._expansion(is_quoted=True)
        self._inner -= 1
        self._unchecked -= 1
        self._at, self._end = after, outer


def arithmetic_end(text: str, start: int, end: int) -> int:
    """The offset after the `))` that closes arithmetic begun before `start`; 0 if it is not closed before `end`."""
    opened = 2
    for match in _BRACKET.finditer(text, start, min(end, start + _LONGEST_ARITHMETIC)):
        if len(match[0]) > 1:
            continue
        if match[0] in "'\"":  # a quote that is never closed, or far away
            return 0
        opened += 1 if match[0] == "(" else -1
        if opened > _MAX_BRACKETS or (opened == 1 and not text.startswith("))", match.start())):
            return 0
        if opened == 0:
            return match.end()
    return 0
