"""What stands between the words of a script: comments, line ends, redirections, here-documents, values of arrays."""

from __future__ import annotations

import re

from pai_lsp.embedded.shell_script import CONTINUATION, HERE_DOCUMENT, Assignment, PartKind
from pai_lsp.embedded.shell_words import WordReader
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.text import Span

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_REDIRECTION = re.compile(
    r"(?:[0-9]+|\{([A-Za-z_][A-Za-z0-9_]*)\})?(<<<(?!%)|<<-|<<(?!%)|<>|>>|>\||>&|<&|<(?!%)|>)|&>>?"
)


@dataclass(frozen=True, slots=True)
class _HereDocument:
    """A here-document that was announced, and begins after the next line end."""

    start: int
    delimiter: str
    strips_tabs: bool
    is_quoted: bool


class LineReader(WordReader):
    """Reads what is no word."""

    __slots__ = ("_comments", "_here_documents", "_line_ends", "_open_redirections")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._here_documents: list[_HereDocument] = []  # announced, to begin after the next line end
        self._comments: list[Span] = []
        self._line_ends: set[int] = set()
        self._open_redirections: list[Span] = []

    def _blanks(self) -> bool:
        """Read blanks, and line ends that a backslash takes away; whether there are any."""
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

    def _redirection(self) -> bool:
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
        if self._at == start or text[start] == "#":
            self._found_fault(Span(start, min(start + 1, len(text))))
            self._open_redirections.append(Span(*match.span()))
        elif match[2] in {"<<", "<<-"}:
            written = text[start : self._at]
            is_quoted = any(mark in written for mark in "\"'\\")
            self._here_documents.append(_HereDocument(at, target.text, match[2] == "<<-", is_quoted))
        return True

    def _array(self) -> None:
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
            self._expansions(start, body_end)
        self._at = at
        self._part(PartKind.HERE_DOCUMENT, start)
