"""What the rest-server makes of a role's commands: `<% %>` filled in as mustache 2.3.2 and its caller do it.

`pai_lsp.template.tags` finds the tags; here the text around them is kept, with mustache's rule for lines that hold
nothing but a tag. Only text and names are kept; sections, partials, comments and unescaped names vanish.
Sources: mustache.js 2.3.2, parseTemplate; rest-server, src/middlewares/v2/protocol.js, render.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pai_lsp.expand.javascript import OBJECT_PROTOTYPE_NAMES, CallFailedError, looked_up, trim, well_formed, written
from pai_lsp.frozen import dataclass, field
from pai_lsp.template import OPENING, SPACES, Tag, TagKind, TemplateFault, server_path, tags
from pai_lsp.text import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

_RUN = re.compile(rf"\n|(?:(?!\n)[{SPACES}])+|[^{SPACES}]+")
# What mustache takes for text on a line, though nothing but a name is kept of it.
_COUNTS_AS_TEXT = frozenset({TagKind.NAME, TagKind.UNESCAPED, TagKind.UNESCAPED_BRACES})


def rendered(template: str, values: dict[str, Any]) -> str | TemplateFault:
    """The text with its tags filled from `values`, JavaScript values by root; or where the rest-server answers 500.

    `values` holds `$parameters`, `$data` … as `pai_lsp.nodes.plain_value` gives them. Names that find nothing are put
    back as `<% name %>`, with `[0]` written `.0`.
    """
    if template in OBJECT_PROTOTYPE_NAMES:
        message = f"a script that is nothing but '{template}' is taken for a template read before"
        return TemplateFault(message, Span(0, len(template)))
    if OPENING not in template:
        return trim(template)
    found, fault = tags(template)
    if fault is not None:
        return fault
    parts: list[str] = []
    for token in _tokens(template, found):
        if isinstance(token, str):
            parts.append(token)
            continue
        path = server_path(token.content)
        try:
            text = written(looked_up(path, values))
        except CallFailedError as error:
            message = f"'{token.content}' reaches a function of JavaScript that fails, '{error}'"
            return TemplateFault(message, token.span)
        parts.append(f"<% {path} %>" if text is None else text)
    return trim(well_formed("".join(parts)))


@dataclass(slots=True)
class _Line:
    """What the line that is being read holds so far; `blanks` are the places of its white space among the tokens."""

    blanks: list[int] = field(default_factory=list)
    has_tag: bool = False
    has_text: bool = False


def _tokens(template: str, found: Sequence[Tag]) -> list[str | Tag]:
    """The texts and the names outside of all sections."""
    tokens: list[str | Tag | None] = []
    line = _Line()
    open_sections = at = 0
    for tag in found:
        _add_text(template, Span(at, tag.span.start), tokens, line, is_kept=not open_sections)
        at = tag.span.end
        line.has_tag = True
        line.has_text |= tag.kind in _COUNTS_AS_TEXT
        if tag.kind in {TagKind.SECTION, TagKind.INVERTED}:
            open_sections += 1
        elif tag.kind is TagKind.END:
            open_sections -= 1
        elif tag.kind is TagKind.NAME and not open_sections:
            tokens.append(tag)
    _add_text(template, Span(at, len(template)), tokens, line, is_kept=not open_sections)
    return [token for token in tokens if token is not None]


def _add_text(template: str, span: Span, tokens: list[str | Tag | None], line: _Line, *, is_kept: bool) -> None:
    """Take text between tags; inside a section it is not kept, and only counts for its line."""
    for match in _RUN.finditer(template, span.start, span.end):
        text = match[0]
        if text[0] in SPACES:
            if is_kept:
                line.blanks.append(len(tokens))
        else:
            line.has_text = True
        if is_kept:
            tokens.append(text)
        if text == "\n":
            _end_line(tokens, line)


def _end_line(tokens: list[str | Tag | None], line: _Line) -> None:
    """Drop the white space of a line, its line end too, that held tags without a value and nothing else."""
    if line.has_tag and not line.has_text:
        for number in line.blanks:
            tokens[number] = None
    line.blanks.clear()
    line.has_tag = line.has_text = False
