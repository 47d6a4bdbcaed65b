"""Writing values and keys as YAML that the rest-server and the runtime read alike.

Every module that writes a scalar asks this one whether it needs quotes. A text is written plain where both readers read
the same text back in that place, in quotes anywhere else. Values that are already in the job stay as written.

For another reader as well, such as Kubernetes, pass `is_text`: whether that reader takes a plain scalar for text.
"""

from __future__ import annotations

import math

from pai_lsp.source.nodes import Scalar
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import Binary, Date, server_text
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    IsText = Callable[[str], bool]

# A plain scalar does not begin with an indicator, and not as the start or the end of a document does.
_PLAIN = lazy_pattern(r"(?![-?:](?: |$)|---|\.\.\.)[^ ,\[\]{}#&*!|>'\"%@`].*")
# Inside it, these begin a value or a comment; a reader drops blanks at its end.
_NOT_PLAIN = lazy_pattern(r":(?: |$)| #| $")
# In brackets and braces, these can end it as well; old releases of PyYAML refuse any ':' or '?' there. A command is
# quoted there for those who read it: `['ls -l', 'echo $(date)']`.
_NOT_PLAIN_IN_FLOW = lazy_pattern(r"[,\[\]{}:? '\"]")
# A line without what needs an escape; one of blanks alone would be taken for an empty one.
_BLOCK_LINE = lazy_pattern(r"(?!\s+\Z)[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")
# A number without a point before its exponent is text for PyYAML.
_EXPONENT_OF_WHOLE = lazy_pattern(r"^(-?[0-9]+)e")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def always(_: str) -> bool:
    """Both readers of a job decide alone."""
    return True


def quoted(text: str) -> str:
    """A text as a quoted scalar on one line; single quotes unless it holds one or needs an escape."""
    if "'" in text or not text.isprintable():
        return '"' + within_quotes(text, '"') + '"'
    return f"'{text}'"


def within_quotes(text: str, quote: str) -> str:
    """A text between two quotes that are already there."""
    return text.replace("'", "''") if quote == "'" else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    """A character in double quotes; one that cannot be seen as an escape that both readers know."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def written_key(name: str) -> str:
    """A name as the key of a mapping, with or without braces."""
    return flow_scalar(name)


def scalar_line(value: Any, is_text: IsText = always) -> str:
    """A scalar value on one line, after `key: ` or `- ` of a block, or as a key in a block."""
    if isinstance(value, (str, Binary)):
        text = str(value)
        return text if _is_plain(text) and is_text(text) else quoted(text)
    if isinstance(value, Date):
        return value.moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, float):
        return _EXPONENT_OF_WHOLE.sub(r"\1.0e", server_text(value))
    return "null" if value is None else server_text(value)


def flow_scalar(value: Any, is_text: IsText = always) -> str:
    """A scalar value, or a key, in brackets or braces."""
    written = scalar_line(value, is_text)
    return quoted(value) if written == value and not is_plain_in_flow(written) else written


def is_plain_in_flow(written: str) -> bool:
    """Whether a plain scalar of a block stays plain in brackets or braces."""
    return not _NOT_PLAIN_IN_FLOW.search(written)


def flow_value(value: Any, is_text: IsText = always) -> str:
    """A value in flow style, on one line."""
    if isinstance(value, dict):
        entries = (f"{flow_scalar(key, is_text)}: {flow_value(one, is_text)}" for key, one in value.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_value(one, is_text) for one in value) + "]"
    return flow_scalar(value, is_text)


def item_lines(value: Any, is_text: IsText = always) -> list[str]:
    """A list item in block style, its first line with the dash, the lines not yet indented."""
    first, *rest = value_lines(value, is_text)
    return [f"- {first}", *(rest if isinstance(value, str) else indented(rest, "  "))]


def value_lines(value: Any, is_text: IsText = always) -> list[str]:
    """A value in block style, its first line without indentation, to follow a dash or a key."""
    if isinstance(value, dict) and value:
        return [line for key, one in value.items() for line in entry_lines(key, one, is_text)]
    if isinstance(value, list) and value:
        return [line for one in value for line in item_lines(one, is_text)]
    if isinstance(value, str) and "\n" in value and (block := _literal(value)):
        return block
    return [flow_value(value) if isinstance(value, (dict, list)) else scalar_line(value, is_text)]


def entry_lines(key: str, value: Any, is_text: IsText = always) -> list[str]:
    """A key with its value in block style, the lines not yet indented."""
    name = scalar_line(key, is_text)
    if isinstance(value, (dict, list)) and value:
        return [f"{name}:", *indented(value_lines(value, is_text), "  ")]
    first, *rest = value_lines(value, is_text)
    return [f"{name}: {first}", *rest]


def indented(lines: Iterable[str], pad: str) -> list[str]:
    """The lines with `pad` in front, except empty ones."""
    return [f"{pad}{line}" if line else line for line in lines]


def _literal(text: str) -> list[str] | None:
    """A text of several lines as a literal block; None where only quotes can write it."""
    lines = text.split("\n")
    body = lines[:-1] if lines[-1] == "" else lines
    if body[0][:1] in {"", " ", "\t"} or not body[-1] or not all(map(_BLOCK_LINE.fullmatch, body)):
        return None
    return ["|" if lines[-1] == "" else "|-", *(f"  {line}" if line else line for line in body)]


def _is_plain(text: str) -> bool:
    if not text.isprintable() or not _PLAIN.fullmatch(text) or _NOT_PLAIN.search(text):
        return False
    scalar = Scalar(Span(0, len(text)), text)
    return scalar.is_string and isinstance(scalar.runtime_value, str)
