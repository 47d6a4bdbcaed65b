"""Writes shell text so that the runtime does not change it when it fills plugin parameters.

The runtime writes a command as Python text and reads that as YAML (see pai_lsp/job/plugin_parameters.py): a text comes
through unchanged when it holds `'` and no `"`, or neither a backslash nor an invisible character, and not both quotes.
Any other text is written here in another way that means the same to bash: with other quotes where that is enough, else
as one `eval $'…'`. Source of the grammar: the bash reference manual, "Quoting".
"""

from __future__ import annotations

import re

from pai_lsp.embedded.shell import read_script
from pai_lsp.embedded.shell_script import PartKind
from pai_lsp.job.plugin_parameters import damages
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pai_lsp.embedded.shell_script import Script


def surviving(commands: Sequence[str]) -> tuple[str, ...]:
    """The commands of one script as texts that the runtime does not change and that, one after the other, run the same.

    Every `<% %>` in them must have a value that means nothing to bash, unless all commands come through as they are.
    """
    texts = [without_last_line_ends(command) for command in commands]
    lines = tuple(line for text in texts for line in text.split("\n"))
    if not any(map(damages, lines)):
        return lines
    if all(read_script(text).is_complete for text in texts):
        # Each is a command of its own, so only those that need it are written otherwise.
        return tuple(one for text in texts for one in _one_surviving(text))
    return _one_surviving("\n".join(texts))


def without_last_line_ends(command: str) -> str:
    """A command without the line ends of a block, which mean nothing except after a backslash."""
    text = command.rstrip(_LINE_END)
    return text + _LINE_END if text.endswith(_BACKSLASH) and text != command else text


def evaluated(text: str) -> str:
    """The script as one `eval $'…'`, which holds `'` and no `"`."""
    # A backslash at the end goes on in the next line, where there is nothing.
    return f"eval {ansi_quoted(text + _LINE_END if text.endswith(_BACKSLASH) else text)}"


def _one_surviving(text: str) -> tuple[str, ...]:
    lines = tuple(text.split("\n"))
    if not any(map(damages, lines)):
        return lines
    pieces = _pieces(read_script(text))
    if pieces is not None:
        rewritten = [_rewritten(line) for line in _logical_lines(pieces)]
        if all(line is not None for line in rewritten):
            return tuple(line for line in rewritten if line)
    return (evaluated(text),)


_LINE_END, _BACKSLASH = "\n", "\\"
_BLANKS = " \t"
# In these, other quotes would have another meaning, or lines must stay lines.
_KEPT = frozenset({PartKind.HERE_DOCUMENT, PartKind.REGULAR_EXPRESSION})
_PLAIN = lazy_pattern(r"[ \t]+|\n|[^ \t\n]+")


@dataclass(frozen=True, slots=True)
class _QuotedPart:
    """A part of a script, as it is written; `kind` is None for blanks, line ends and plain words."""

    kind: PartKind | None
    text: str


def _pieces(script: Script) -> tuple[_QuotedPart, ...] | None:
    """The parts of a script; None if it is not certain how to write it differently."""
    if not script.is_complete or any(part.kind in _KEPT for part in script.parts):
        return None
    found: list[_QuotedPart] = []
    at = 0
    for part in script.parts:
        found += _plain(script.text[at : part.span.start])
        found.append(_QuotedPart(part.kind, script.text[part.span.start : part.span.end]))
        at = part.span.end
    found += _plain(script.text[at:])
    return tuple(piece for piece in found if piece.text != "\\\n")  # a line that continues in the next one


def _plain(text: str) -> Iterator[_QuotedPart]:
    return (_QuotedPart(None, match[0]) for match in _PLAIN.finditer(text))


def _logical_lines(pieces: Iterable[_QuotedPart]) -> Iterator[list[_QuotedPart]]:
    line: list[_QuotedPart] = []
    for piece in pieces:
        if piece.kind is None and piece.text == _LINE_END:
            yield line
            line = []
        else:
            line.append(piece)
    yield line


def _rewritten(line: list[_QuotedPart]) -> str | None:
    """One line with other quotes so that the runtime does not change it; None if that is impossible."""
    candidates = ["".join(piece.text for piece in line)]
    code = [piece for piece in line if piece.kind is not PartKind.COMMENT]
    while len(code) < len(line) and code and code[-1].kind is None and not code[-1].text.strip(_BLANKS):
        code.pop()
    for write in (lambda piece: piece.text, _with_double_quotes, _with_single_quotes):
        written = [write(piece) for piece in code]
        if all(part is not None for part in written):
            candidates.append("".join(part for part in written if part is not None))
    return next((text for text in candidates if not damages(text)), None)


def _with_double_quotes(piece: _QuotedPart) -> str | None:
    """The piece without a `'`."""
    if piece.kind is PartKind.SINGLE_QUOTED:
        content = piece.text[1:-1]
        return None if re.search(r'[$`\\"!\n]', content) else f'"{content}"'
    return None if piece.kind in {PartKind.ANSI_QUOTED, PartKind.ESCAPED} else piece.text


def _with_single_quotes(piece: _QuotedPart) -> str | None:
    """The piece without a `"`, and with a `'` in place of a backslash."""
    if piece.kind is PartKind.DOUBLE_QUOTED:
        literal = _literal(piece.text[1:-1])
        return None if literal is None else _quoted(literal)
    if piece.kind is PartKind.SINGLE_QUOTED:
        return _quoted(piece.text[1:-1])
    if piece.kind is PartKind.ESCAPED:
        return _quoted(piece.text[1:])
    if piece.kind is PartKind.ANSI_QUOTED:
        return _QUOTE_IN_ANSI.sub(_without_double_quote, piece.text)
    return piece.text.replace("\t", " ") if piece.kind is None else piece.text


_QUOTE_IN_ANSI = lazy_pattern(r'"|\\[\s\S]')


def _without_double_quote(match: re.Match[str]) -> str:
    return r"\x22" if match[0].endswith('"') else match[0]


def _literal(text: str) -> str | None:
    """The content of double quotes, as plain text; None if something in it is expanded."""
    parts: list[str] = []
    for match in re.finditer(r"<%[\s\S]*?%>|\\([$`\"\\\n])|(\$[A-Za-z0-9_@*#?!{(-]|`)|[\s\S]", text):
        if match[2]:
            return None
        parts.append(match[0] if match[1] is None else match[1].replace("\n", ""))
    return "".join(parts)


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text and '"' not in text else ansi_quoted(text)


def ansi_quoted(text: str) -> str:
    """The text as `$'…'` without a `"` in it."""
    escapes = {"\\": "\\\\", "'": "\\'", '"': "\\x22"}
    return "$'" + "".join(escapes.get(character, character) for character in text) + "'"
