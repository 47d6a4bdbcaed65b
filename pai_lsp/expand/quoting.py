"""Writing shell text so that it survives the runtime's way with plugin parameters.

The runtime writes a command as Python text and reads that as YAML (see pai_lsp/plugin_parameters.py): a text comes
through unchanged when it holds `'` and no `"`, or neither a backslash nor an invisible character, and not both quotes.
Any other text is written here in another way that means the same to bash: with other quotes where that is enough, else
as one `eval $'…'`. Source of the grammar: the bash reference manual, "Quoting".
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.frozen import dataclass
from pai_lsp.plugin_parameters import damages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def surviving(commands: Sequence[str]) -> tuple[str, ...]:
    """The commands of one script as texts that all come through and, one behind the other, run the same.

    Every `<% %>` in them must stand for text that means nothing to bash, unless all commands come through as they are.
    """
    texts = [without_last_line_ends(command) for command in commands]
    lines = tuple(line for text in texts for line in text.split("\n"))
    if not any(map(damages, lines)):
        return lines
    if all(map(_is_closed, texts)):
        # Each is a command of its own, so only those that need it are written otherwise.
        return tuple(one for text in texts for one in _one_surviving(text))
    return _one_surviving("\n".join(texts))


def without_last_line_ends(command: str) -> str:
    """A command without the line ends of a block, which mean nothing but behind a backslash."""
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
    pieces = _pieces(text)
    if pieces is not None:
        rewritten = [_rewritten(line) for line in _logical_lines(pieces)]
        if all(line is not None for line in rewritten):
            return tuple(line for line in rewritten if line)
    return (evaluated(text),)


class _Kind(Enum):
    PLAIN = "plain"
    BLANK = "blank"
    LINE_END = "line end"
    ESCAPED = "\\"
    SINGLE = "'"
    DOUBLE = '"'
    ANSI = "$'"
    COMMENT = "#"
    TEMPLATE = "<% %>"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a script; `text` is as written, of a quoted part what stands between its quotes."""

    kind: _Kind
    text: str


_TEMPLATE = re.compile(r"<%[\s\S]*?%>")
_COMMENT = re.compile(r"#[^\n]*")
_SINGLE = re.compile(r"'([^']*)'")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\[\s\S])*)'")
_DOUBLE = re.compile(r'"((?:[^"\\$`]|\\[\s\S]|\$\{[A-Za-z0-9_@*#?!]+\}|\$(?![({]))*)"')
_PARAMETER = re.compile(r"\$\{[^'\"\\`{}$\s]*\}|\$(?![({'\"])")
_BLANK = re.compile(r"[ \t]+")
_LINE_END, _BACKSLASH = "\n", "\\"
_PLAIN = re.compile(r"[^ \t\r\n'\"\\$`#<>]+|[<>#]")
# What is not read here: here-documents, substitutions, arithmetic, and regular expressions, which know quotes.
_TOO_MUCH = re.compile(r"<<(?!<)|\$\(|[<>]\(|\(\(|=~|`|\$\"")
_BEFORE_COMMENT = frozenset("\t\n ;&|()")
# A part of a longer construct when it stands in a command of its own; `done` as an argument is one too many, no harm.
_KEYWORD = re.compile(
    r"(?:^|[\s;&|(])(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|\{|\}|\[\[)"
    r"(?:$|[\s;&|)])|[()]"
)
_GOES_ON = re.compile(r"(?:\\|\||&&)\s*$")


def _pieces(text: str) -> tuple[_Piece, ...] | None:
    """The parts of a script; None where there is something in it that is not read here."""
    found: list[_Piece] = []
    at = 0
    while at < len(text):
        match, kind, piece = _next_piece(text, at)
        if match is None or kind is None:
            return None
        if kind is not _Kind.ESCAPED or piece != "\n":  # a line that goes on in the next one
            found.append(_Piece(kind, piece))
        at = match.end()
    return tuple(found)


_FORMS: tuple[tuple[re.Pattern[str], _Kind, int], ...] = (
    (_TEMPLATE, _Kind.TEMPLATE, 0),
    (re.compile(r"\\([\s\S])"), _Kind.ESCAPED, 1),
    (_SINGLE, _Kind.SINGLE, 1),
    (_ANSI, _Kind.ANSI, 1),
    (_DOUBLE, _Kind.DOUBLE, 1),
    (re.compile(r"\n"), _Kind.LINE_END, 0),
    (_BLANK, _Kind.BLANK, 0),
    (_PARAMETER, _Kind.PLAIN, 0),
    (_PLAIN, _Kind.PLAIN, 0),
)


def _next_piece(text: str, at: int) -> tuple[re.Match[str] | None, _Kind | None, str]:
    if text[at] == "#" and (at == 0 or text[at - 1] in _BEFORE_COMMENT) and (match := _COMMENT.match(text, at)):
        return match, _Kind.COMMENT, match[0]
    if _TOO_MUCH.match(text, at):
        return None, None, ""
    for pattern, kind, group in _FORMS:
        if match := pattern.match(text, at):
            return match, kind, match[group]
    return None, None, ""


def _logical_lines(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    line: list[_Piece] = []
    for piece in pieces:
        if piece.kind is _Kind.LINE_END:
            yield line
            line = []
        else:
            line.append(piece)
    yield line


def _rewritten(line: list[_Piece]) -> str | None:
    """One line with other quotes so that it comes through; None where that can not be done."""
    as_it_is = "".join(map(_as_written, line))
    candidates = [as_it_is]
    code = [piece for piece in line if piece.kind is not _Kind.COMMENT]
    while len(code) < len(line) and code and code[-1].kind is _Kind.BLANK:
        code.pop()
    for write in (_as_written, _with_double_quotes, _with_single_quotes):
        written = [write(piece) for piece in code]
        if all(part is not None for part in written):
            candidates.append("".join(part for part in written if part is not None))
    return next((text for text in candidates if not damages(text)), None)


def _as_written(piece: _Piece) -> str:
    if piece.kind is _Kind.ESCAPED:
        return f"\\{piece.text}"
    if piece.kind in {_Kind.SINGLE, _Kind.DOUBLE}:
        return f"{piece.kind.value}{piece.text}{piece.kind.value}"
    if piece.kind is _Kind.ANSI:
        return f"$'{piece.text}'"
    return piece.text


def _with_double_quotes(piece: _Piece) -> str | None:
    """The piece without a `'`."""
    if piece.kind is _Kind.SINGLE:
        return None if re.search(r'[$`\\"!\n]', piece.text) else f'"{piece.text}"'
    if piece.kind in {_Kind.ANSI, _Kind.ESCAPED}:
        return None
    return _as_written(piece)


def _with_single_quotes(piece: _Piece) -> str | None:
    """The piece without a `"`, and with a `'` in place of a backslash."""
    if piece.kind is _Kind.DOUBLE:
        literal = _literal(piece.text)
        return None if literal is None else _quoted(literal)
    if piece.kind is _Kind.SINGLE:
        return _quoted(piece.text)
    if piece.kind is _Kind.ESCAPED:
        return _quoted(piece.text)
    if piece.kind is _Kind.ANSI:
        return f"$'{_QUOTE_IN_ANSI.sub(_without_double_quote, piece.text)}'"
    if piece.kind is _Kind.BLANK:
        return piece.text.replace("\t", " ")
    return piece.text


_QUOTE_IN_ANSI = re.compile(r'"|\\[\s\S]')


def _without_double_quote(match: re.Match[str]) -> str:
    return r"\x22" if match[0].endswith('"') else match[0]


def _literal(text: str) -> str | None:
    """What stands in double quotes, as plain text; None where something in it is expanded."""
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


def _is_closed(text: str) -> bool:
    """Whether a command surely stands for itself, and is no part of what other commands begin or end."""
    pieces = _pieces(text)
    if pieces is None or _GOES_ON.search(text):
        return False
    code = "".join(piece.text if piece.kind is _Kind.PLAIN else _STAND_INS.get(piece.kind, "_") for piece in pieces)
    return _KEYWORD.search(code) is None


_STAND_INS = {_Kind.BLANK: " ", _Kind.LINE_END: "\n", _Kind.COMMENT: " "}
