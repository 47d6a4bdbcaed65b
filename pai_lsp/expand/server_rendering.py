"""What the rest-server makes of a role's commands: `<% %>` filled in as mustache 2.3.2 and its caller do it.

`pai_lsp.template.tags` finds the tags; here the whole text is rendered, with mustache's rules for lines that hold
nothing but a tag and for changed marks. Only text and names are kept; sections, partials, comments and unescaped names
vanish. Sources: mustache.js 2.3.2, parseTemplate; rest-server, src/middlewares/v2/protocol.js, render.
"""

from __future__ import annotations

import re
from typing import Any

from pai_lsp.expand.javascript import (
    OBJECT_PROTOTYPE_NAMES,
    SPACES,
    CallFailedError,
    looked_up,
    trim,
    well_formed,
    written,
)
from pai_lsp.frozen import dataclass, field
from pai_lsp.template import CLOSING, OPENING, TemplateFault, server_path
from pai_lsp.text import Span

_SPACE = f"[{SPACES}]"
_KIND = re.compile(r"[#^/>{&=!]")
_RUN = re.compile(rf"\n|(?:(?!\n){_SPACE})+|[^{SPACES}]+")
_EQUALS = re.compile(rf"{_SPACE}*=")
_BRACE = re.compile(rf"{_SPACE}*\}}")
_BLANKS = re.compile(rf"{_SPACE}*")


def rendered(template: str, values: dict[str, Any]) -> str | TemplateFault:
    """The text with its tags filled from `values`, JavaScript values by root; or where the rest-server answers 500.

    `values` holds `$parameters`, `$data` … as `pai_lsp.syntax.plain_value` gives them. Names that find nothing are put
    back as `<% name %>`, with `[0]` written `.0`.
    """
    if template in OBJECT_PROTOTYPE_NAMES:
        message = f"a script that is nothing but '{template}' is taken for a template read before"
        return TemplateFault(message, Span(0, len(template)))
    if OPENING not in template:
        return trim(template)
    parsed = _parsed(template)
    if isinstance(parsed, TemplateFault):
        return parsed
    parts: list[str] = []
    for token in parsed:
        if not token.is_name:
            parts.append(token.text)
            continue
        path = server_path(token.text)
        try:
            text = written(looked_up(path, values))
        except CallFailedError as error:
            message = f"'{token.text}' reaches a function of JavaScript that fails, '{error}'"
            return TemplateFault(message, token.span)
        parts.append(f"<% {path} %>" if text is None else text)
    return trim(well_formed("".join(parts)))


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of text, or a name to look up."""

    text: str
    span: Span
    is_name: bool = False


@dataclass(slots=True)
class _Line:
    """What the line that is being read holds so far; `blanks` are the places of its white space among the tokens."""

    blanks: list[int] = field(default_factory=list)
    has_tag: bool = False
    has_text: bool = False


class _Marks:
    """The opening and closing marks in force."""

    __slots__ = ("closing", "closing_brace", "opening")

    def __init__(self, opening: str, closing: str) -> None:
        self.opening = re.compile(rf"{re.escape(opening)}{_SPACE}*")
        self.closing = re.compile(rf"{_SPACE}*{re.escape(closing)}")
        self.closing_brace = re.compile(rf"{_SPACE}*{re.escape('}' + closing)}")


def _parsed(template: str) -> list[_Token] | TemplateFault:
    """The tokens outside of all sections, or what stops mustache."""
    tokens: list[_Token | None] = []
    sections: list[tuple[str, Span]] = []
    line = _Line()
    marks = _Marks(OPENING, CLOSING)
    at = 0
    while at < len(template):
        opening = marks.opening.search(template, at)
        _add_text(template, Span(at, opening.start() if opening else len(template)), tokens, line, kept=not sections)
        if opening is None:
            break
        start = opening.start()
        at = opening.end()
        line.has_tag = True
        kind = match[0] if (match := _KIND.match(template, at)) else ""
        at = _behind(_BLANKS, template, at + len(kind))
        content_end, behind = _content_end(kind, template, at, marks)
        closing = marks.closing.match(template, behind)
        if closing is None:
            return TemplateFault(f"'{OPENING}' without '{CLOSING}'", Span(start, opening.end()))
        content = template[at:content_end]
        at = closing.end()
        span = Span(start, at)
        if kind in {"#", "^"}:
            sections.append((content, span))
        elif kind == "/":
            if not sections:
                return TemplateFault(f"nothing opens the section '{content}'", span)
            name, opened = sections.pop()
            if name != content:
                return TemplateFault(f"the section '{name}' is never closed", opened)
        elif kind in {"", "&", "{"}:
            line.has_text = True
            if not kind and not sections:
                tokens.append(_Token(content, span, is_name=True))
        elif kind == "=":
            words = re.split(rf"{_SPACE}+", content)[:2]
            if len(words) != 2:
                return TemplateFault("mustache takes '<%=' for a change of its marks", span)
            marks = _Marks(*words)
    if sections:
        name, opened = sections[-1]
        return TemplateFault(f"the section '{name}' is never closed", opened)
    return [token for token in tokens if token is not None]


def _content_end(kind: str, template: str, at: int, marks: _Marks) -> tuple[int, int]:
    """Where a tag's content ends, and where its closing mark must stand."""
    if kind == "=":
        end = _before(_EQUALS, template, at)
        return end, _before(marks.closing, template, _behind(_EQUALS, template, end))
    if kind == "{":
        end = _before(marks.closing_brace, template, at)
        return end, _before(marks.closing, template, _behind(_BRACE, template, end))
    end = _before(marks.closing, template, at)
    return end, end


def _before(pattern: re.Pattern[str], template: str, at: int) -> int:
    match = pattern.search(template, at)
    return match.start() if match else len(template)


def _behind(pattern: re.Pattern[str], template: str, at: int) -> int:
    match = pattern.match(template, at)
    return match.end() if match else at


def _add_text(template: str, span: Span, tokens: list[_Token | None], line: _Line, *, kept: bool) -> None:
    """Take text between tags; `kept` is false inside a section, where it only counts for its line."""
    for match in _RUN.finditer(template, span.start, span.end):
        text = match[0]
        if text[0] in SPACES:
            if kept:
                line.blanks.append(len(tokens))
        else:
            line.has_text = True
        if kept:
            tokens.append(_Token(text, Span(*match.span())))
        if text == "\n":
            _end_line(tokens, line)


def _end_line(tokens: list[_Token | None], line: _Line) -> None:
    """Drop the white space of a line, its line end too, that held tags without a value and nothing else."""
    if line.has_tag and not line.has_text:
        for number in line.blanks:
            tokens[number] = None
    line.blanks.clear()
    line.has_tag = line.has_text = False
