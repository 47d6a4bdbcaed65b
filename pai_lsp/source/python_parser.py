"""PyYAML's own parser with the differences to libyaml removed, for a Python without libyaml, such as one in a browser.

libyaml takes tabs as blanks wherever they do not indent, `?` in the plain scalars of brackets, and a comment directly
after the signs of a block; PyYAML's own parser does not. Source: libyaml 0.2.5, src/scanner.c. It is
much slower. A few forms of tags, and the places of errors in escapes, still differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.libyaml import yaml
from pai_lsp.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeAlias

_ENDS = "\0\r\n\x85\u2028\u2029"
_BLANKS = f"{_ENDS} \t"
_FLOW = ",[]{}"

_WORDS = (
    (lazy_pattern(r"^found character '.+' that"), "found character that"),
    (lazy_pattern(r"not allowed here$"), "not allowed in this context"),
    (lazy_pattern(r"^sequence entries"), "block sequence entries"),
    (lazy_pattern(r"^expected (?:the )?(.+), but (?:found|got) .+$"), r"did not find expected \1"),
    (lazy_pattern(r"'<document start>'"), "<document start>"),
)

# The scanner has no types; what is overridden here has the names and meanings of yaml/scanner.py.
_Loader: Any = yaml.SafeLoader
_Mark: TypeAlias = "Any"


class PythonParser(_Loader):  # type: ignore[misc]  # see above
    """Gives the events of libyaml's parser, and its errors at the same places and in its words."""

    allow_simple_key: bool

    def get_event(self) -> yaml.Event | None:
        """The next event; None at the end."""
        try:
            return super().get_event()  # type: ignore[no-any-return]  # as above
        except yaml.MarkedYAMLError as error:
            error.problem = _in_words_of_libyaml(str(error.problem), str(error.context))
            raise

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line ends; a tab is a blank where no block can begin."""
        while True:
            while self.peek() == " " or (self.peek() == "\t" and (self.flow_level or not self.allow_simple_key)):
                self.forward()
            if self.peek() == "#":
                self._skip_comment()
            if not self.scan_line_break():
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_plain(self) -> yaml.ScalarToken:
        """Read a plain scalar, its lines folded."""
        start = end = self.get_mark()
        indent = self.indent + 1
        words: list[str] = []
        blanks: str | list[str] = ""
        while self.peek() != "#" and not self._is_at_document_sign():
            word = self._plain_word(start)
            if not word:
                break
            words += [*blanks, word]
            blanks, end = "", self.get_mark()
            self.allow_simple_key = False
            if self.peek() not in _BLANKS or self.peek() == "\0":
                break
            blanks = self._plain_blanks(start, indent)
            if not self.flow_level and self.column < indent:
                break
        if isinstance(blanks, list):
            self.allow_simple_key = True
        return yaml.ScalarToken("".join(words), True, start, end)

    def _plain_word(self, start: _Mark) -> str:
        length = 0
        while (sign := self.peek(length)) not in _BLANKS:
            following = self.peek(length + 1)
            if sign == ":" and self.flow_level and following in f"{_FLOW}?":
                self.forward(length)
                self._fail("a plain scalar", start, "found unexpected ':'")
            if (sign == ":" and following in _BLANKS) or (self.flow_level and sign in _FLOW):
                break
            length += 1
        word: str = self.prefix(length)
        self.forward(length)
        return word

    def _plain_blanks(self, start: _Mark, indent: int) -> str | list[str]:
        """The blanks after a word, or, if they include a line end, a list of what they are folded into."""
        blanks = ""
        breaks: list[str] = []
        while (sign := self.peek()) in _BLANKS and sign != "\0":
            if sign not in " \t":
                breaks.append(self.scan_line_break())
                continue
            if breaks and self.column < indent and sign == "\t":
                self._fail("a plain scalar", start, "found a tab character that violates indentation")
            blanks += sign
            self.forward()
        if not breaks:
            return blanks
        return breaks if breaks[0] != "\n" else breaks[1:] or [" "]

    def _is_at_document_sign(self) -> bool:
        return self.column == 0 and self.prefix(3) in {"---", "..."} and self.peek(3) in _BLANKS

    def scan_block_scalar_indicators(self, start_mark: _Mark) -> tuple[bool | None, int | None]:
        """Read the signs after `|` or `>`: whether to keep line ends at the end, and the indentation."""
        chomping, increment = None, None
        for _ in range(2):
            sign = self.peek()
            if chomping is None and sign in {"+", "-"}:
                chomping = sign == "+"
            elif increment is None and sign in set("0123456789"):
                increment = int(sign)
                if increment == 0:
                    self._fail("a block scalar", start_mark, "found an indentation indicator equal to 0")
            else:
                break
            self.forward()
        return chomping, increment

    def scan_block_scalar_ignored_line(self, start_mark: _Mark) -> None:
        """Skip the rest of the line with the signs."""
        self._skip_line("a block scalar", start_mark)

    def scan_directive_ignored_line(self, start_mark: _Mark) -> None:
        """Skip the rest of the line with a directive."""
        self._skip_line("a directive", start_mark)

    def _skip_line(self, context: str, start: _Mark) -> None:
        while self.peek() in {" ", "\t"}:
            self.forward()
        if self.peek() == "#":
            self._skip_comment()
        if self.peek() not in _ENDS:
            self._fail(context, start, "did not find expected comment or line break")
        self.scan_line_break()

    def _skip_comment(self) -> None:
        while self.peek() not in _ENDS:
            self.forward()

    def scan_block_scalar_indentation(self) -> tuple[list[str], int, _Mark]:
        """Find the indentation of a block scalar; a tab cannot be part of it."""
        found: tuple[list[str], int, _Mark] = super().scan_block_scalar_indentation()
        self._refuse_tab()
        return found

    def scan_block_scalar_breaks(self, indent: int) -> tuple[list[str], _Mark]:
        """Skip the indentation of a line of a block scalar; a tab cannot be part of it."""
        found: tuple[list[str], _Mark] = super().scan_block_scalar_breaks(indent)
        if self.column < indent:
            self._refuse_tab()
        return found

    def _refuse_tab(self) -> None:
        if self.peek() == "\t":
            problem = "found a tab character where an indentation space is expected"
            self._fail("a block scalar", self.get_mark(), problem)

    def _fail(self, read: str, start: _Mark, problem: str) -> NoReturn:
        raise yaml.scanner.ScannerError(f"while scanning {read}", start, problem, self.get_mark())


def _in_words_of_libyaml(problem: str, context: str) -> str:
    for pattern, replacement in _WORDS:
        problem = pattern.sub(replacement, problem)
    return problem.replace("<block end>", "key" if "mapping" in context else "'-' indicator")
