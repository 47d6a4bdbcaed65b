"""Writing values as YAML that the rest-server and the runtime read alike.

Only what expansion adds is written here; what stands in the job already stays as its author wrote it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pai_lsp.source.edits import double_quoted, quoted
from pai_lsp.source.nodes import Scalar
from pai_lsp.source.scalar import Binary, Date, server_text
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

# A plain scalar in a block: no indicator in front, no comment, no key; and nothing that a reader could take otherwise.
_PLAIN = re.compile(r"(?![-?:](?:\s|$))[^\s\-?:,\[\]{}#&*!|>'\"%@`=~<].*")
_NOT_PLAIN = re.compile(r":(?:\s|$)|\s#|\s$")
_BLOCK_LINE = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")
_NAME = re.compile(r"(?:[^\W\d]|/)[\w./-]*")


def scalar_line(value: Any) -> str:
    """A scalar value on one line, to stand behind `key: ` or `- ` of a block."""
    if isinstance(value, (str, Binary)):
        text = str(value)
        return text if _is_plain(text) else _quoted(text)
    if isinstance(value, Date):
        return value.moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return "null" if value is None else server_text(value)


def flow_scalar(value: Any) -> str:
    """A scalar value as it may stand in a flow list or mapping."""
    if isinstance(value, str):
        return value if _NAME.fullmatch(value) and _is_plain(value) else _quoted(value)
    return scalar_line(value)


def flow_value(value: Any) -> str:
    """A value in flow style, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow_scalar(key)}: {flow_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_value, value)) + "]"
    return flow_scalar(value)


def item_lines(value: Any) -> list[str]:
    """A list item in block style, its first line with the dash, the lines not yet indented."""
    first, *rest = value_lines(value)
    return [f"- {first}", *(rest if isinstance(value, str) else indented(rest, "  "))]


def value_lines(value: Any) -> list[str]:
    """A value in block style, its first line without indentation, to stand behind a dash or a key."""
    if isinstance(value, dict) and value:
        return [line for key, one in value.items() for line in entry_lines(key, one)]
    if isinstance(value, list) and value:
        return [line for one in value for line in item_lines(one)]
    if isinstance(value, str) and "\n" in value and (block := _literal(value)):
        return block
    return [_empty_or_scalar(value)]


def entry_lines(key: str, value: Any) -> list[str]:
    """A key with its value in block style, the lines not yet indented."""
    name = scalar_line(key)
    if isinstance(value, (dict, list)) and value:
        return [f"{name}:", *indented(value_lines(value), "  ")]
    first, *rest = value_lines(value)
    return [f"{name}: {first}", *rest]


def indented(lines: Iterable[str], pad: str) -> list[str]:
    """The lines with `pad` in front, but for empty ones."""
    return [f"{pad}{line}" if line else line for line in lines]


def _empty_or_scalar(value: Any) -> str:
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else scalar_line(value)


def _literal(text: str) -> list[str] | None:
    """A text of several lines as a literal block; None where only quotes can say it."""
    lines = text.split("\n")
    body = lines[:-1] if lines[-1] == "" else lines
    if not body[0] or body[0][0] in " \t" or not body[-1].strip() or not all(map(_BLOCK_LINE.fullmatch, lines)):
        return None
    if any(line and not line.strip() for line in body):
        return None
    return ["|" if lines[-1] == "" else "|-", *(f"  {line}" if line else line for line in body)]


def _is_plain(text: str) -> bool:
    if not text.isprintable() or not _PLAIN.fullmatch(text) or _NOT_PLAIN.search(text):
        return False
    scalar = Scalar(Span(0, len(text)), text)
    return scalar.is_string and isinstance(scalar.runtime_value, str)


def _quoted(text: str) -> str:
    return quoted(text) if text.isprintable() else _ESCAPED.sub(_escape, double_quoted(text))


_ESCAPED = re.compile(r"[^\x20-\x7e]")


def _escape(match: re.Match[str]) -> str:
    """A character that can not be seen, as an escape that both readers know."""
    character = match[0]
    code = ord(character)
    if character.isprintable():
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
