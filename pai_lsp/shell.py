"""What a job's commands say to bash: the variables they read and set, their words, their comments.

This is no shell: nothing is expanded or run, and what bash only knows at run time stays unknown. It reads enough of the
grammar (quotes, expansions, here-documents, comments, arithmetic) to tell a variable from text that looks like one.
`<% %>` and `{{ }}` count as text that is not known yet: a variable whose name they may go on is left out.
Source of the grammar: the bash reference manual, "Shell Syntax" and "Shell Expansions".
"""

from __future__ import annotations

import re
from functools import lru_cache

from pai_lsp.frozen import dataclass, field
from pai_lsp.shell_builtins import set_by, tested_by
from pai_lsp.shell_script import Assignment, Script, SimpleCommand, VariableUse, Word
from pai_lsp.text import Span

# Substitutions nested deeper are read as plain characters; nobody writes them, and reading them costs stack.
_MAX_DEPTH = 40
# How far and deep the end of arithmetic is looked for, so that hostile text stays cheap.
_MAX_ARITHMETIC = 2000
_MAX_BRACKETS = 20
_MAX_SUBSCRIPT = 200

_BLANK = re.compile(r"(?:[ \t]|\\\r?\n)+")
_PLAIN = re.compile(r"[^ \t\r\n;&|()<>$`\"'\\]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\"$`\\<]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\s]{0,100}\])?\+?=")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|]")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<>|>>|>\||>&|<&|<|>)|&>>?")
_HERE_DOCUMENT = re.compile(r"[0-9]*<<(-?)(?!<)[ \t]*")
_PARAMETER_END = re.compile(r"[^}$`\"'\\<]+")
_SPECIAL = re.compile(r"\$[0-9@*#?$!_-]")
_GUARD = re.compile(r":?[-=+?]")
_ARITHMETIC_TOKEN = re.compile(r"[0-9][0-9A-Za-z_]*(?:#[0-9A-Za-z@_]+)?|([A-Za-z_][A-Za-z0-9_]*)|[$`]|<%")
_ARITHMETIC_SETS = re.compile(r"(?:\[[^\]]*\])?[ \t]*(?:=(?!=)|[-+*/%&^|]=|<<=|>>=|\+\+|--)")
_BRACKET = re.compile(r"[()]")
_ACTIVE = re.compile(r"[$`\\]|<%")
_TARGET = re.compile(r"[^ \t\r\n;&|()<>#]")
_IDENTIFIER_GOES_ON = re.compile(r"<%|\{\{|\$\([A-Z_]+\)")

_RESERVED = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "time", "coproc", "fi", "done"}
)
_BEFORE_COMMAND = _RESERVED | {"for"}
_CASES = {"case": 1, "esac": -1}


@lru_cache(maxsize=1024)
def read_script(text: str) -> Script:
    """Read a script; never raises, whatever the text. Costs about 15 µs a line, and nothing a second time."""
    return _Reader(text).read()


@dataclass(slots=True)
class _Command:
    """A command that is still being read."""

    words: list[Word] = field(default_factory=list)
    # For each word, the variable that it sets if it stands where an assignment may stand.
    sets: list[Assignment | None] = field(default_factory=list)
    operator: str = ""


class _Reader:
    """Reads a text from its start to its end; each method reads one construct and leaves `at` behind it."""

    __slots__ = (
        "_assignments", "_at", "_commands", "_comments", "_conditional", "_depth", "_end", "_here_documents",
        "_in_backticks", "_last_template_end", "_open_redirections", "_tested", "_text", "_uses",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._end = len(text)
        self._last_template_end = text.rfind("%>")
        self._depth = 0
        self._in_backticks = False
        self._conditional = 0
        self._here_documents: list[tuple[str, bool, bool]] = []  # delimiter, strip tabs, is quoted
        self._uses: list[VariableUse] = []
        self._assignments: list[Assignment] = []
        self._commands: list[SimpleCommand] = []
        self._comments: list[Span] = []
        self._tested: set[str] = set()
        self._open_redirections: list[Span] = []

    def read(self) -> Script:
        while self._at < self._end:
            self._commands_until("")
        return Script(
            self._text,
            tuple(self._uses),
            tuple(self._assignments),
            tuple(self._commands),
            tuple(self._comments),
            frozenset(self._tested),
            tuple(self._open_redirections),
        )

    def _commands_until(self, closing: str) -> None:
        """Read commands up to an unopened `closing` (`)` or a backtick), which is read too, or the end."""
        text = self._text
        command = _Command()
        opened = cases = 0
        while self._at < self._end:
            at = self._at
            character = text[at]
            if character in " \t\\" and (match := _BLANK.match(text, at, self._end)):
                self._at = match.end()
            elif character in "\r\n":
                self._at += 1
                command = self._finish(command, "\n")
                if character == "\n" and self._here_documents:
                    self._read_here_documents()
            elif character == "#":
                self._comment()
            elif character == closing == "`":
                self._at += 1
                break
            elif character == "(":
                if self._is_start(command) and text.startswith("((", at) and (end := self._arithmetic_end(at + 2)):
                    self._arithmetic(at + 2, end - 2)
                    self._at = end
                else:
                    opened += 1
                    self._at += 1
                    # Behind a word this is `name() {`: the name is no command.
                    command = _Command() if command.words and text.startswith("()", at) else self._finish(command, "(")
            elif character == ")":
                self._at += 1
                is_pattern = opened == 0 and cases > 0
                if opened == 0 and closing == ")" and not is_pattern:
                    break
                opened = max(opened - 1, 0)
                command = _Command(operator=";") if is_pattern else self._finish(command, ")")
            elif character in "<>&0123456789" and not text.startswith("<%", at) and self._redirection():
                pass
            elif match := _OPERATOR.match(text, at, self._end):
                self._at = match.end()
                command = self._finish(command, match[0])
            else:
                self._word(command)
                if (change := _CASES.get(command.words[-1].text)) and self._is_start(command, but_last=True):
                    cases = max(cases + change, 0)
        self._finish(command, "")

    def _is_start(self, command: _Command, *, but_last: bool = False) -> bool:
        """Whether a command may begin here, or began with the last word."""
        words = command.words[:-1] if but_last else command.words
        return not words or words[-1].text in _BEFORE_COMMAND

    def _comment(self) -> None:
        end = self._text.find("\n", self._at, self._end)
        end = self._end if end < 0 else end
        self._comments.append(Span(self._at, end))
        self._at = end

    def _finish(self, command: _Command, operator: str) -> _Command:
        """Take down a command; gives the next one."""
        words, sets = command.words, command.sets
        first = 0
        keyword = ""
        while first < len(words):
            assignment = sets[first]
            if assignment is not None:
                self._assignments.append(assignment)
            elif words[first].text in _RESERVED and words[first].is_literal:
                keyword = words[first].text
            else:
                break
            first += 1
        if first < len(words):
            self._assignments += set_by(words[first:], sets[first:])
            self._tested.update(tested_by(words[first:]))
            self._commands.append(
                SimpleCommand(tuple(words[first:]), keyword, command.operator, operator == "&", self._depth > 0),
            )
        return _Command(operator=operator)

    def _redirection(self) -> bool:
        """Read a redirection's operator, if there is one here; its target is read as a word of its own."""
        text, at = self._text, self._at
        if match := _HERE_DOCUMENT.match(text, at, self._end):
            self._at = match.end()
            target = _Command()
            if self._at < self._end:
                self._word(target)
            if target.words:
                word = target.words[0]
                written = text[word.span.start : word.span.end]
                is_quoted = any(mark in written for mark in "\"'\\")
                self._here_documents.append((word.text, bool(match[1]), is_quoted))
            return True
        match = _REDIRECTION.match(text, at, self._end)
        if match is None:
            return False
        self._at = match.end()
        if text.startswith("(", self._at) and match[0][-1] in "<>":
            self._at += 1
            self._nested(")")
            return True
        if blank := _BLANK.match(text, self._at, self._end):
            self._at = blank.end()
        if _TARGET.match(text, self._at, self._end):
            self._word(_Command())
        elif not text.startswith(("<", ">"), self._at):  # a template, or another substitution
            self._open_redirections.append(Span(*match.span()))
        return True

    def _word(self, command: _Command) -> None:
        """Read a word and put it behind the command's others."""
        text, start = self._text, self._at
        parts: list[str] = []
        is_literal = True
        sets = None
        if match := _ASSIGNMENT.match(text, start, self._end):
            sets = Assignment(match[1], Span(start, match.end(1)))
            self._at = match.end()
            parts.append(match[0])
            if text.startswith("(", self._at):
                self._at += 1
                self._nested(")")
                is_literal = False
        while self._at < self._end:
            at = self._at
            if match := _PLAIN.match(text, at, self._end):
                parts.append(match[0])
                self._at = match.end()
                continue
            character = text[at]
            if character == "'":
                end = text.find("'", at + 1, self._end)
                self._at = self._end if end < 0 else end + 1
                parts.append(text[at + 1 : self._end if end < 0 else end])
            elif character == '"':
                self._at += 1
                is_literal = self._double_quoted(parts) and is_literal
            elif character == "\\":
                self._at = min(at + 2, self._end)
                if text[at + 1 : self._at] != "\n":
                    parts.append(text[at + 1 : self._at])
            elif self._in_backticks and character == "`":
                break
            elif character in "$`" or text.startswith("<%", at):
                self._expansion(is_quoted=False)
                is_literal = False
                parts.append(text[at : self._at])
            elif character == "(" and parts and parts[-1][-1:] in {"?", "*", "+", "@", "!"}:
                # An extended pattern, `@(a|b)`.
                self._at += 1
                self._nested(")")
                is_literal = False
            elif character in "<>" and self._at == start:
                # An operator without a meaning here, in broken text.
                self._at += 1
            else:
                break
        if self._at == start:
            self._at += 1
        command.words.append(Word("".join(parts), Span(start, self._at), is_literal))
        command.sets.append(sets)

    def _double_quoted(self, parts: list[str]) -> bool:
        """Read up to the closing quote; whether there was no expansion."""
        text = self._text
        is_literal = True
        while self._at < self._end:
            at = self._at
            if match := _PLAIN_IN_QUOTES.match(text, at, self._end):
                parts.append(match[0])
                self._at = match.end()
                continue
            character = text[at]
            if self._in_backticks and character == "`":
                break
            if character == '"':
                self._at += 1
                break
            if character == "\\":
                self._at = min(at + 2, self._end)
                parts.append(text[at + 1 : self._at])
            elif character in "$`" or text.startswith("<%", at):
                self._expansion(is_quoted=True)
                is_literal = False
                parts.append(text[at : self._at])
            else:
                self._at += 1
                parts.append(character)
        return is_literal

    def _expansion(self, *, is_quoted: bool) -> None:
        """Read what begins with `$`, a backtick or `<%`."""
        text, at = self._text, self._at
        if text[at] == "<":
            end = text.find("%>", at, self._end) if at < self._last_template_end else -1
            self._at = at + 2 if end < 0 else end + 2
        elif text[at] == "`":
            self._at += 1
            self._nested("`")
        elif text.startswith("$(", at):
            if text.startswith("$((", at) and (end := self._arithmetic_end(at + 3)):
                self._arithmetic(at + 3, end - 2)
                self._at = end
            else:
                self._at += 2
                self._nested(")")
        elif text.startswith("${", at):
            self._at += 2
            if self._depth < _MAX_DEPTH:
                self._depth += 1
                self._parameter(at, is_quoted=is_quoted)
                self._depth -= 1
        elif match := _NAME.match(text, at + 1, self._end):
            self._at = match.end()
            self._use(match[0], at, match.start(), match.end())
        elif match := _SPECIAL.match(text, at, self._end):
            self._at = match.end()
        elif not is_quoted and text.startswith("$'", at):
            self._ansi_quoted(at + 2)
        else:
            self._at += 1

    def _use(self, name: str, start: int, name_start: int, end: int, **more: bool) -> None:
        if name == "_" or _IDENTIFIER_GOES_ON.match(self._text, name_start + len(name), self._end):
            return
        guarded = more.pop("is_guarded", False) or self._conditional > 0
        self._uses.append(
            VariableUse(name, Span(start, end), Span(name_start, name_start + len(name)), guarded, **more),
        )

    def _ansi_quoted(self, at: int) -> None:
        text = self._text
        while at < self._end and text[at] != "'":
            at += 2 if text[at] == "\\" else 1
        self._at = min(at + 1, self._end)

    def _nested(self, closing: str) -> None:
        """Read the commands of a substitution, or of anything else in brackets."""
        if self._depth >= _MAX_DEPTH:
            return
        outer, self._in_backticks = self._in_backticks, closing == "`"
        self._depth += 1
        self._commands_until(closing)
        self._depth -= 1
        self._in_backticks = outer

    def _parameter(self, start: int, *, is_quoted: bool) -> None:
        """Read `${…}` behind its brace."""
        text = self._text
        mark = text[self._at : self._at + 1]
        name_at = self._at + 1 if mark in {"!", "#"} else self._at
        match = _NAME.match(text, name_at, self._end)
        if match is None:
            self._parameter_rest(is_quoted=is_quoted)
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
        guard = _GUARD.match(text, self._at, self._end)
        place = len(self._uses)
        if guard:
            if "=" in guard[0]:
                self._assignments.append(Assignment(match[0], Span(*match.span())))
            self._conditional += 1
        self._parameter_rest(is_quoted=is_quoted)
        if guard:
            self._conditional -= 1
        if not is_names:
            nested = self._uses[place:]
            del self._uses[place:]
            is_guarded = guard is not None or is_list
            self._use(match[0], start, match.start(), self._at, is_guarded=is_guarded, is_indirect=is_indirect)
            self._uses += nested

    def _parameter_rest(self, *, is_quoted: bool) -> None:
        """Read up to the closing brace of `${…}`."""
        text = self._text
        while self._at < self._end:
            at = self._at
            if match := _PARAMETER_END.match(text, at, self._end):
                self._at = match.end()
                continue
            character = text[at]
            if self._in_backticks and character == "`":
                return
            if character == "}":
                self._at += 1
                return
            if character == '"':
                self._at += 1
                self._double_quoted([])
            elif character == "'" and not is_quoted:
                end = text.find("'", at + 1, self._end)
                self._at = self._end if end < 0 else end + 1
            elif character == "\\":
                self._at = min(at + 2, self._end)
            elif character in "$`" or text.startswith("<%", at):
                self._expansion(is_quoted=is_quoted)
            else:
                self._at += 1

    def _arithmetic_end(self, start: int) -> int:
        """The offset behind the `))` that closes arithmetic begun before `start`; 0 where this is none."""
        opened = 2
        for match in _BRACKET.finditer(self._text, start, min(self._end, start + _MAX_ARITHMETIC)):
            opened += 1 if match[0] == "(" else -1
            if opened > _MAX_BRACKETS or (opened == 1 and not self._text.startswith("))", match.start())):
                return 0
            if opened == 0:
                return match.end()
        return 0

    def _arithmetic(self, start: int, end: int) -> None:
        """Note the variables in arithmetic, where a name needs no `$`."""
        text, outer = self._text, self._end
        self._at, self._end = start, end
        while match := _ARITHMETIC_TOKEN.search(text, self._at, end):
            if match[1]:
                self._at = match.end()
                is_set = _ARITHMETIC_SETS.match(text, match.end(), end) or text.startswith(
                    ("++", "--"), match.start() - 2
                )
                if is_set:
                    self._assignments.append(Assignment(match[1], Span(*match.span())))
                else:
                    self._use(match[1], match.start(), match.start(), match.end())
            elif match[0][0].isdigit():
                self._at = match.end()
            else:
                self._at = match.start()
                self._expansion(is_quoted=True)
        self._at, self._end = end, outer

    def _read_here_documents(self) -> None:
        """Read the bodies of the here-documents that were announced on the line before."""
        text = self._text
        waiting, self._here_documents = self._here_documents, []
        for delimiter, strips_tabs, is_quoted in waiting:
            start = at = self._at
            body_end = self._end
            while at < self._end:
                end = text.find("\n", at, self._end)
                end = self._end if end < 0 else end
                line = text[at:end].rstrip("\r")
                if (line.lstrip("\t") if strips_tabs else line) == delimiter:
                    body_end = at
                    at = end
                    break
                at = min(end + 1, self._end)
            if not is_quoted:
                self._here_document(start, body_end)
            self._at = at

    def _here_document(self, start: int, end: int) -> None:
        text, outer = self._text, self._end
        self._at, self._end = start, end
        while match := _ACTIVE.search(text, self._at, end):
            self._at = match.start()
            if match[0] == "\\":
                self._at = min(self._at + 2, end)
            else:
                self._expansion(is_quoted=True)
        self._at, self._end = end, outer
