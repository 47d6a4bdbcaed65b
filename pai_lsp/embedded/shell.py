"""The reader of bash: the commands of a script, what it leaves open, and what it does to the shell that runs it.

This is not a shell: nothing is expanded or run, and what bash only knows at run time stays unknown. It reads the
grammar (quotes, expansions, here-documents, comments, arithmetic, compound commands) in one pass from start to end.
`<% %>` and `{{ }}` count as text that is not known yet: a variable whose name they may continue is left out.
Source of the grammar: the bash reference manual, "Shell Syntax" and "Shell Expansions".

* `shell_script`: the values that come out, and what commands do to the shell; everything that others ask is there
* `shell_expansions`, `shell_words`: the tokens
* `shell_grammar`: which token may follow which
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from pai_lsp.embedded.shell_expansions import NAME, arithmetic_end
from pai_lsp.embedded.shell_grammar import Conditional, Expected, Grammar, Role
from pai_lsp.embedded.shell_script import HERE_DOCUMENT, Assignment, EventKind, PartKind, Script, SimpleCommand
from pai_lsp.embedded.shell_words import LineReader
from pai_lsp.source.frozen import dataclass, field, replace
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.steps import counted
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pai_lsp.embedded.shell_script import Word

_OPERATOR = lazy_pattern(r"&&|\|\||;;&|;;|;&|\|&|[;&|)\n]")
_CONDITIONAL_OPERATOR = lazy_pattern(r"&&|\|\||[<>](?![(%])|[();&|]")
# What separates the three expressions of `for ((a; b; c))`, outside quotes.
_LOOP_EXPRESSIONS = lazy_pattern(r"(?:[^;'\"\\$]|\\.|'[^']*'|\"[^\"]*\"|\$\([^)]*\)|\$\{[^}]*\}|\$)*;")
_NO_BRACKETS = lazy_pattern(r"\([ \t]*\)")
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_READING = frozenset({"read", "mapfile", "readarray", "getopts"})
# Builtins that set variables, and those that ask whether one is set.
_SETTING = _DECLARING | _READING | {"printf", "let"}
_TESTING = frozenset({"[", "[[", "test"})
# Builtins whose arguments may be arrays, as in an assignment.
_TAKING_ARRAYS = _DECLARING | {"alias", "eval", "let"}
# What may be between a reserved word and its command: an option, the name of a coprocess.
_AFTER_PREFIX = {
    "time": lazy_pattern(r"[ \t]+-p(?=[ \t\n;&|)]|$)"),
    "coproc": lazy_pattern(r"[ \t]+[A-Za-z_][A-Za-z0-9_]*(?=[ \t]+(?:\(|(?:\{|if|while|until|for|case)[ \t\n]))"),
}


@lru_cache(maxsize=256)
def read_script(text: str) -> Script:
    """Read a script; never raises, whatever the text. Costs about 20 µs a line, and nothing a second time."""
    return _ScriptReader(text).read()


@dataclass(slots=True)
class _UnfinishedCommand:
    """A simple command that is still being read."""

    words: list[Word] = field(default_factory=list)
    # For each word, the variable that it sets where an assignment is allowed.
    sets: list[Assignment | None] = field(default_factory=list)
    keyword: str = ""
    operator: str = ""
    # Whether it has an assignment or a redirection, after which no reserved word is one.
    is_begun: bool = False


class _ScriptReader(LineReader):
    """Reads a text from its start to its end."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._made: list[SimpleCommand] = []
        self._tested: set[str] = set()
        self._functions: set[str] = set()
        self._loop_words: list[Word] = []
        self._grammars: list[Grammar] = []

    @property
    def _is_in_function(self) -> bool:
        return any(grammar.function for grammar in self._grammars)

    def read(self) -> Script:
        self._commands("")
        return Script(
            self._text,
            counted(self._uses),
            counted(self._assignments),
            counted(self._made),
            tuple(self._comments),
            frozenset(self._tested),
            tuple(self._parts),
            frozenset(self._line_ends),
            frozenset(self._functions),
            tuple(reversed(self._unclosed)),
            self._fault,
            self._fault_inside,
            tuple(self._open_redirections),
            tuple(self._events),
            tuple(self._positionals),
            tuple(self._bad_substitutions),
            tuple(self._loop_words),
        )

    def _commands(self, closing: str) -> bool:
        text = self._text
        grammar = Grammar(self._found_fault, self._events.append)
        self._grammars.append(grammar)
        outer, self._here_documents = self._here_documents, []
        command = _UnfinishedCommand()
        is_closed = False
        while self._at < self._end and not is_closed:
            at = self._at
            character = text[at]
            if character in " \t\\" and self._blanks():
                pass
            elif character == "#":
                self._comment()
            elif character == "(":
                self._opening_bracket(command, grammar)
                command = _UnfinishedCommand()
            elif character == ")" and closing and grammar.closes():
                command = self._finish(command, grammar)
                grammar.close(Span(at, at + 1))
                self._at += 1
                is_closed = True
            elif (
                character in "<>&0123456789{"
                and not text.startswith("<%", at)
                and self._redirection(is_after_compound=grammar.expected is Expected.AFTER)
            ):
                command.is_begun = grammar.expected is not Expected.AFTER
                grammar.begin()
            elif character in ";&|)\n" and (match := _OPERATOR.match(text, at, self._end)):
                command = self._finish(command, grammar)
                self._at = match.end()
                grammar.operator_token(match[0], Span(at, self._at))
                if character == "\n":
                    self._line_end(at)
            else:
                command = self._command_word(command, grammar)
            if grammar.is_full:
                self._at = self._end
        self._finish(command, grammar)
        for one in self._here_documents:
            self._left_open(HERE_DOCUMENT, one.start)
        self._here_documents = outer
        if not self._unchecked and not is_closed:
            self._unclosed += reversed(grammar.unclosed())
        self._grammars.pop()
        return is_closed

    def _opening_bracket(self, command: _UnfinishedCommand, grammar: Grammar) -> None:
        """Read a `(`: arithmetic, a function's brackets, or a subshell. The command before it ends."""
        text, at = self._text, self._at
        may_be_arithmetic = text.startswith("((", at) and (grammar.expects_command or grammar.is_loop_head)
        if may_be_arithmetic and (end := arithmetic_end(text, at + 2, self._end)):
            self._inner += 1
            self._arithmetic(at + 2, end - 2)
            self._inner -= 1
            self._at = end
            if grammar.is_loop_head and len(_LOOP_EXPRESSIONS.findall(text, at, end)) != 2:
                self._found_fault(Span(at, end))
            self._part(PartKind.EXPANSION, at)
            grammar.compound(Span(at, end))
            return
        match = _NO_BRACKETS.match(text, at, self._end)
        if match and grammar.expected is Expected.FUNCTION_BODY:
            self._at = match.end()
        elif match and grammar.expected is Expected.WORDS and len(command.words) == 1 and not command.is_begun:
            self._at = match.end()
            self._functions.add(command.words[0].text)
            grammar.function_brackets(command.words[0].text, command.words[0].span)
        else:
            self._finish(command, grammar)
            self._at += 1
            grammar.operator_token("(", Span(at, at + 1))

    def _command_word(self, command: _UnfinishedCommand, grammar: Grammar) -> _UnfinishedCommand:
        """Read a word, give it the place that the grammar has for it, and give the command that continues."""
        text, at = self._text, self._at
        words = command.words
        is_first = not words and grammar.expected in {Expected.COMMAND, Expected.WORDS}
        is_declared = bool(words) and words[0].text in _TAKING_ARRAYS and grammar.expected is Expected.WORDS
        word, sets = self._word(may_assign=is_first or is_declared)
        if self._at == at:  # nothing that a word can begin with, in broken text
            self._at += 1
            self._found_fault(Span(at, at + 1))
            return command
        if sets is not None and is_first:
            self._assignments.append(sets)
            self._events.append((EventKind.ASSIGNED, sets.name, sets))
            command.is_begun = True
            grammar.begin()
            return command
        if not words:
            command.keyword, command.operator = grammar.keyword, grammar.operator
        written = text[at : self._at]
        role = grammar.word(written, word.span)
        if role is Role.ARGUMENT or role is Role.CONDITIONAL:
            words.append(word)
            command.sets.append(sets)
            if role is Role.CONDITIONAL:
                self._conditional_command(command)
                command = self._finish(command, grammar)
                grammar.compound(word.span)
            return command
        if role is Role.VARIABLE and sets is None:
            self._assignments.append(Assignment(word.text, word.span))
        elif role is Role.FUNCTION:
            self._functions.add(word.text)
        elif role is Role.LISTED:
            self._loop_words.append(word)
        elif written in {"time", "coproc"} and (match := _AFTER_PREFIX[written].match(text, self._at, self._end)):
            self._at = match.end()
        return _UnfinishedCommand()

    def _finish(self, command: _UnfinishedCommand, grammar: Grammar) -> _UnfinishedCommand:
        """Take down a command that has ended, and give the next one."""
        words = command.words
        if not words:
            if command.is_begun:
                self._events.append((EventKind.BARE, "", None))
            return _UnfinishedCommand()
        self._events.append((EventKind.COMMAND, str(len(self._made)), None))
        name = words[0].text
        if name in _SETTING:
            self._assignments += _set_by(words, command.sets)
        elif name in _TESTING:
            self._tested.update(_tested_by(words))
        elif name == "shopt" and [word.text for word in words[1:]] == ["-s", "extglob"]:
            self._extended_patterns = True
        is_nested = self._depth > 0
        self._made.append(
            SimpleCommand(tuple(words), command.keyword, command.operator, grammar.function, is_nested=is_nested)
        )
        return _UnfinishedCommand()

    def _conditional_command(self, command: _UnfinishedCommand) -> None:
        """Read the words of `[[ … ]]` after the first one."""
        text, start = self._text, command.words[0].span.start
        conditional = Conditional(self._found_fault)
        while self._at < self._end:
            at = self._at
            if self._blanks():
                pass
            elif text[at] == "\n":
                self._at += 1
                conditional.line_end(Span(at, at + 1))
                self._line_end(at)
            elif text[at] == "#" and not conditional.expects_regex:
                self._comment()
            elif not conditional.expects_regex and (match := _CONDITIONAL_OPERATOR.match(text, at, self._end)):
                self._at = match.end()
                if not conditional.operator(match[0], Span(at, self._at)):
                    self._at = at
                    return
            else:
                is_regex = conditional.expects_regex
                self._inner += is_regex
                word, _ = self._word(is_pattern=True, is_regex=is_regex)
                self._inner -= is_regex
                if self._at == at:
                    self._found_fault(Span(at, at + 1))
                    return
                if is_regex:
                    self._part(PartKind.REGULAR_EXPRESSION, at)
                command.words.append(word)
                command.sets.append(None)
                if conditional.word(text[at : self._at], word.span):
                    return
        self._left_open("[[", start)


def _set_by(words: Sequence[Word], assignments: Sequence[Assignment | None]) -> Iterator[Assignment]:
    """The variables that a command sets; its name is in `_SETTING`.

    `words` are the command and its arguments, at least one; `assignments[i]` is what `words[i]` would set in front of a
    command, as in `X=1`.
    """
    name = words[0].text
    if name in _DECLARING:
        is_exported = name == "export" or any(word.text.startswith("-") and "x" in word.text for word in words[1:])
        for word, assignment in zip(words[1:], assignments[1:], strict=True):
            if assignment is not None:
                yield replace(assignment, is_exported=is_exported)
            elif match := NAME.match(word.text):
                # `export X`, or `export "X=1"`.
                yield Assignment(match[0], word.span, is_exported)
    elif name in _READING:
        named = [word for word in words[1:] if word.is_literal and NAME.fullmatch(word.text)]
        yield from (Assignment(word.text, word.span) for word in named)
        if name == "read" and not named:
            yield Assignment("REPLY", words[0].span)
    elif name == "printf" and len(words) > 3 and words[1].text == "-v" and NAME.fullmatch(words[2].text):
        yield Assignment(words[2].text, words[2].span)
    elif name == "let":
        yield from (assignment for assignment in assignments[1:] if assignment is not None)


def _tested_by(words: Sequence[Word]) -> Iterator[str]:
    """The variables of which a command in `_TESTING` asks whether they are set: `[ -v X ]`."""
    return (word.text for option, word in pairwise(words) if option.text == "-v")
