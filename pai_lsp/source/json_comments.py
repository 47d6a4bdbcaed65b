"""JSON with comments, as jobs of protocol version 1 were written, read as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse

if TYPE_CHECKING:
    import re

    from pai_lsp.source.nodes import Syntax

# Strings of JSON and comments of YAML, which stay, and comments of JSON.
_COMMENT = lazy_pattern(r"\"(?:\\.|[^\"\\])*\"|#[^\n]*|//|/\*([\s\S]*?)\*/")


def without_json_comments(syntax: Syntax) -> Syntax:
    """The text with comments of JSON as comments of YAML; its offsets are not those of the text."""
    if not syntax.text.lstrip("\ufeff \t\r\n").startswith(("{", "//", "/*")):
        return syntax
    text = _COMMENT.sub(_as_yaml_comment, syntax.text)
    return syntax if text == syntax.text else parse(text)


def _as_yaml_comment(match: re.Match[str]) -> str:
    if match[1] is None:
        return " #" if match[0] == "//" else match[0]
    lines = (line.strip(" \t\r*") for line in match[1].split("\n"))
    return " " + "".join(f"# {line}\n" for line in lines if line)
