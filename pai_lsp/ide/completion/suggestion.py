"""What a completion offers, and how its text is written at the cursor."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from pai_lsp.source.frozen import dataclass
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import flow_scalar, scalar_line, within_quotes

if TYPE_CHECKING:
    from pai_lsp.ide.cursor import InsertionPoint

_PLACEHOLDER = lazy_pattern(
    r"(?<!\\)\$(?:\{(?P<number>\d+)(?::(?P<default>(?:[^{}\\]|\\.)*)|\|(?P<choices>(?:[^|\\]|\\.)*)\|)?\}|(?P<bare>\d+))"
)


class SuggestionKind(Enum):
    """What sort of thing is offered, for the editor's icon; assistants and the playground get the values."""

    KEY = "key"
    VALUE = "value"
    REFERENCE = "reference"
    ROLE = "role"
    PLUGIN = "plugin"
    EVENT = "event"
    SNIPPET = "snippet"
    VARIABLE = "variable"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing to insert.

    edit: the text as it is inserted by an editor without snippets; `snippet`: the same with LSP's placeholders
        (`${1:name}`), or None without any.
    detail: a few words beside the label; documentation: Markdown.
    order: the smaller, the earlier in the list.
    elsewhere: edits in other places of the document that come with it.
    """

    label: str
    kind: SuggestionKind
    edit: TextEdit
    snippet: str | None = None
    detail: str = ""
    documentation: str = ""
    order: int = 0
    is_deprecated: bool = False
    elsewhere: tuple[TextEdit, ...] = ()


def plain_text(snippet: str) -> str:
    """A snippet's text with its places filled by their defaults, the first of several choices; `$1` repeats another."""
    return filled(snippet)[0]


def filled(snippet: str) -> tuple[str, list[tuple[int, Span]]]:
    """The text of `plain_text`, and its places: the number of each, and where its default is in the text."""
    matches = list(_PLACEHOLDER.finditer(snippet))
    defaults: dict[str, str] = {}
    for match in matches:
        choices = match["choices"]
        default = match["default"] if choices is None else re.split(r"(?<!\\),", choices)[0]
        if default is not None:
            defaults.setdefault(match["number"], default.replace("\\", ""))
    text, end = "", 0
    places: list[tuple[int, Span]] = []
    for match in matches:
        text += _unescaped(snippet[end : match.start()])
        number = match["number"] or match["bare"]
        default = defaults.get(number, "")
        places.append((int(number), Span(len(text), len(text) + len(default))))
        text += default
        end = match.end()
    return text + _unescaped(snippet[end:]), places


def _unescaped(text: str) -> str:
    return text.replace("\\$", "$").replace("\\}", "}").replace("\\\\", "\\")


def escaped(text: str) -> str:
    """A text without special characters of a snippet."""
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")


def written_scalar(point: InsertionPoint, text: str) -> str:
    """A text as a YAML scalar or key where the cursor is."""
    return flow_scalar(text) if point.is_flow else scalar_line(text)


def scalar_suggestion(
    point: InsertionPoint, text: str, kind: SuggestionKind, detail: str, documentation: str = "", order: int = 0
) -> Suggestion:
    """Offer a scalar in place of what is typed, quoted where that is needed and not typed already."""
    written = within_quotes(text, point.quote) if point.quote else written_scalar(point, text)
    edit = TextEdit(point.replace, point.missing + written + point.missing_after)
    return Suggestion(text, kind, edit, None, detail, documentation, order)


def snippet_suggestion(
    point: InsertionPoint,
    label: str,
    snippet: str,
    detail: str,
    documentation: str = "",
    order: int = 0,
    kind: SuggestionKind = SuggestionKind.SNIPPET,
) -> Suggestion:
    """Offer a snippet of several lines; its other lines are indented to where the first one begins.

    Editors are asked to keep the indentation as it is, so it is written out here.
    """
    lead, pad = point.block_start()
    return inserted(point.replace, label, kind, lead + snippet.replace("\n", "\n" + pad), detail, documentation, order)


def inserted(
    place: Span,
    label: str,
    kind: SuggestionKind,
    snippet: str,
    detail: str = "",
    documentation: str = "",
    order: int = 0,
) -> Suggestion:
    """Offer a snippet as it is, in place of a part of the document."""
    plain = plain_text(snippet)
    edit = TextEdit(place, plain)
    return Suggestion(label, kind, edit, snippet if snippet != plain else None, detail, documentation, order)
