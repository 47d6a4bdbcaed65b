"""The words of a script with their quotes, and what is between words: comments, redirections, arrays."""

from __future__ import annotations

from pai_lsp.embedded.shell_expansions import ExpansionReader
from pai_lsp.embedded.shell_script import (
    CONTINUATION,
    HERE_DOCUMENT,
    Assignment,
    EventKind,
    PartKind,
    Redirection,
    Word,
)
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span

# What ends a word wherever it is, outside quotes.
_ENDING_WORD = frozenset(" \t\n;&)")
_PLAIN = lazy_pattern(r"[^ \t\n;&|()<>$`\"'\\]+")
# A whole word of such characters that sets nothing, which is what most words are.
_PLAIN_WORD = lazy_pattern(r"[^ \t\n;&|()<>$`\"'\\=\[]+(?=[ \t\n;&)]|\Z)")
_PLAIN_IN_QUOTES = lazy_pattern(r"[^\"$`\\<]+")
_ASSIGNMENT = lazy_pattern(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\s]{0,100}\])?\+?=")
_MAX_INDEX = 200
# A word where an assignment is allowed: bash looks for the bracket that closes an index before anything else.
_INDEX = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\[")
_IN_INDEX = lazy_pattern(r"[\[\]]|'[^']*'|\"(?:[^\"\\]|\\[\s\S])*\"|\\[\s\S]")
_EXTENDED_PATTERN = frozenset("?*+@!")
_BLANK = lazy_pattern(r"(?:[ \t]+|\\\n)+")
_REDIRECTION = lazy_pattern(
    r"(?:[0-9]+|\{([A-Za-z_][A-Za-z0-9_]*)\})?(<<<(?!%)|<<-|<<(?!%)|<>|>>|>\||>&|<&|<(?!%)|>)|&>>?"
)


@dataclass(frozen=True, slots=True)
class _HereDocument:
    """A here-document that was announced, and begins after the next line end."""

    start: int
    delimiter: str
    strips_tabs: bool
    is_quoted: bool


class LineReader(ExpansionReader):
    """Reads words, and what is between them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._extended_patterns = False  # `shopt -s extglob`
        self._here_documents: list[_HereDocument] = []  # announced, to begin after the next line end
        self._comments: list[Span] = []
        self._line_ends: set[int] = set()
        self._open_redirections: list[Span] = []

    def _word(
        self, *, may_assign: bool = False, is_pattern: bool = False, is_regex: bool = False
    ) -> tuple[Word, Assignment | None]:
        """Read a word; `may_assign` where `NAME=` sets a variable, which the assignment then names."""
        text, start = self._text, self._at
        if match := _PLAIN_WORD.match(text, start, self._end):
            self._at = match.end()
            return Word(match[0], Span(start, self._at)), None
        texts: list[str] = []
        is_literal = True
        assigned = None
        if match := _ASSIGNMENT.match(text, start, self._end):
            assigned = match
            self._at = match.end()
            texts.append(match[0])
            if may_assign and text.startswith("(", self._at):
                self._at += 1
                self._array()
                is_literal = False
        elif may_assign and (match := _INDEX.match(text, start, self._end)) and not self._has_index_end(match.end()):
            self._left_open("[", match.end() - 1)
        while self._at < self._end:
            at = self._at
            character = text[at]
            if character in _ENDING_WORD:
                break
            if match := _PLAIN.match(text, at, self._end):
                self._at = match.end()
            elif character == "(":
                is_extended = texts and texts[-1][-1:] in _EXTENDED_PATTERN and (is_pattern or self._extended_patterns)
                if not (is_regex or is_extended):
                    break
                self._group()
                is_literal = False
            elif character == "|" and is_regex and not text.startswith("||", at):
                self._at += 1
            elif character in "$`" or text.startswith(("<%", "<(", ">("), at):
                self._expansion(is_quoted=False)
                is_literal = is_literal and character == "$" and text.startswith("'", at + 1)
            elif character in "'\"\\":
                is_literal = self._quoted(texts) and is_literal
                continue
            else:
                break
            texts.append(text[at : self._at])
        whole = "".join(texts)
        word = Word(whole, Span(start, self._at), is_literal, len(whole) != self._at - start)
        if assigned is None:
            return word, None
        value = Word("".join(texts[1:]), Span(assigned.end(), self._at), is_literal, word.is_quoted)
        return word, Assignment(assigned[1], Span(start, assigned.end(1)), False, value)

    def _has_index_end(self, start: int) -> bool:
        """Whether the `[` before `start` is closed after it; it counts as closed where that is too far away to know."""
        opened = 1
        end = min(self._end, start + _MAX_INDEX)
        for match in _IN_INDEX.finditer(self._text, start, end):
            opened += {"[": 1, "]": -1}.get(match[0], 0)
            if not opened:
                return True
        return end < self._end

    def _quoted(self, texts: list[str]) -> bool:
        """Read one quoted part; whether there was no expansion in it."""
        text, at = self._text, self._at
        if text[at] == '"':
            return self._double_quoted(texts)
        if text[at] == "'":
            end = text.find("'", at + 1, self._end)
            if end < 0:
                self._left_open("'", at)
                end = self._end
            self._at = min(end + 1, self._end)
            texts.append(text[at + 1 : end])
            self._part(PartKind.SINGLE_QUOTED, at)
            return True
        self._at = min(at + 2, self._end)
        escaped = text[at + 1 : self._at]
        if self._at == self._end and escaped in {"", "\n"}:
            self._left_open(CONTINUATION, at)
        if escaped != "\n":
            texts.append(escaped)
        self._part(PartKind.ESCAPED, at)
        return True

    def _double_quoted(self, texts: list[str]) -> bool:
        """Read `"…"`; whether there was no expansion."""
        text, start = self._text, self._at
        is_literal = True
        self._at += 1
        self._inner += 1
        while self._at < self._end:
            at = self._at
            if match := _PLAIN_IN_QUOTES.match(text, at, self._end):
                texts.append(match[0])
                self._at = match.end()
                continue
            character = text[at]
            if character == '"':
                self._at += 1
                break
            if character == "\\":
                self._at = min(at + 2, self._end)
                texts.append(text[at + 1 : self._at])
            elif character in "$`" or text.startswith("<%", at):
                self._expansion(is_quoted=True)
                is_literal = False
                texts.append(text[at : self._at])
            else:
                self._at += 1
                texts.append(character)
        else:
            self._left_open('"', start)
        self._inner -= 1
        self._part(PartKind.DOUBLE_QUOTED, start)
        return is_literal

    def _group(self) -> None:
        """Read `(…)` within a pattern or a regular expression."""
        text, start = self._text, self._at
        opened = 0
        while self._at < self._end:
            character = text[self._at]
            if character in "()":
                opened += 1 if character == "(" else -1
                self._at += 1
                if not opened:
                    return
            elif character in "'\"\\":
                self._quoted([])
            elif character in "$`":
                self._expansion(is_quoted=False)
            else:
                self._at += 1
        self._left_open("(", start)

    def _blanks(self) -> bool:
        """Read blanks, and line ends after a backslash; return whether there are any."""
        match = _BLANK.match(self._text, self._at, self._end)
        if match is None:
            return False
        while (at := self._text.find(CONTINUATION, self._at, match.end())) >= 0:
            self._at = at + 2
            self._part(PartKind.ESCAPED, at)
            if self._at == len(self._text):
                self._left_open(CONTINUATION, at)
        self._at = match.end()
        return True

    def _comment(self) -> None:
        start = self._at
        end = self._text.find("\n", start, self._end)
        self._at = self._end if end < 0 else end
        self._comments.append(Span(start, self._at))
        self._part(PartKind.COMMENT, start)

    def _redirection(self, *, is_after_compound: bool) -> bool:
        """Read a redirection, if there is one here."""
        text, at = self._text, self._at
        match = _REDIRECTION.match(text, at, self._end)
        if match is None or (match[2] in {"<", ">"} and text.startswith("(", match.end()) and match[0] == match[2]):
            return False
        self._at = match.end()
        if match[1]:
            self._assignments.append(Assignment(match[1], Span(*match.span(1))))
        self._blanks()
        start = self._at
        target, _ = self._word()
        operator = match[2] or "&>"
        descriptor = text[at : match.start(2)] if match[2] else ""
        kind = EventKind.REDIRECTION_AFTER if is_after_compound else EventKind.REDIRECTION
        self._events.append((kind, operator, Redirection(operator, Span(at, self._at), target, descriptor)))
        if self._at == start or text[start] == "#":
            self._found_fault(Span(start, min(start + 1, len(text))))
            self._open_redirections.append(Span(*match.span()))
        elif match[2] in {"<<", "<<-"}:
            written = text[start : self._at]
            is_quoted = any(mark in written for mark in "\"'\\")
            self._here_documents.append(_HereDocument(at, target.text, match[2] == "<<-", is_quoted))
        return True

    def _array(self) -> None:
        """Read the values of an array up to its closing bracket, and that too."""
        text, start = self._text, self._at
        while self._at < self._end:
            at = self._at
            if self._blanks():
                pass
            elif text[at] == "#":
                self._comment()
            elif text[at] == ")":
                self._at += 1
                return
            elif text[at] == "\n":
                self._at += 1
                self._line_end(at)
            else:
                self._word()
                if self._at == at:
                    self._at += 1
                    self._found_fault(Span(at, at + 1))
        self._left_open("(", start - 1)

    def _line_end(self, at: int) -> None:
        """Read what comes with a line end: the here-documents that were announced on the line."""
        if not self._unchecked:
            self._line_ends.add(at)
        waiting, self._here_documents = self._here_documents, []
        for one in waiting:
            self._here_document(one)

    def _here_document(self, announced: _HereDocument) -> None:
        text, start = self._text, self._at
        at, body_end = start, self._end
        is_closed = False
        while at < self._end and not is_closed:
            end = text.find("\n", at, self._end)
            end = self._end if end < 0 else end
            line = text[at:end]
            is_closed = (line.lstrip("\t") if announced.strips_tabs else line) == announced.delimiter
            body_end = at if is_closed else self._end
            # The line end after the last line is that of the whole command.
            at = min(end + 1, self._end)
        if not is_closed:
            self._left_open(HERE_DOCUMENT, announced.start)
        if not announced.is_quoted:
            self._document = "<<"
            self._expansions(start, body_end)
            self._document = ""
        self._at = at
        self._part(PartKind.HERE_DOCUMENT, start)
