"""`<% $parameters.x %>` and `{{ name }}`: finding them in a text, and what they mean.

The rest-server reads `<% %>` with mustache 2.3.2 and keeps only text and names; the runtime has a reader of its own
for plugin parameters. Sources: mustache.js 2.3.2, parseTemplate; rest-server, middlewares/v2/protocol.js, render;
openpai-runtime, src/init.d/initializer.py, replace_ref. Offsets are code points in the text given.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property, lru_cache
from itertools import zip_longest

from pai_lsp.source.foreign import number_of
from pai_lsp.source.frozen import dataclass, dataclass_of_many
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import server_text
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

OPENING, CLOSING = "<%", "%>"
# Where these come from a template, mustache and the runtime's pystache write them as HTML.
ESCAPED_CHARACTERS = frozenset("&<>\"'")
# What `\s` and `trim()` take for white space in JavaScript; Python's differ in both directions.
SPACES = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

# What may be written before the first dot; `this` belongs to the extended protocol.
ROOTS = ("$parameters", "$secrets", "$data", "$script", "$output")

_SPACES = lazy_pattern(f"[{SPACES}]+")
_SERVER_INDEX = lazy_pattern(r"\[([0-9]+)\]")
_SERVER_CUT = lazy_pattern(r"\.|\[([0-9]+)\]")
_RUNTIME_INDEX = lazy_pattern(r"([^\[]*)\[\s*([0-9]+)\s*\]")
_STEP = lazy_pattern(r"(?P<dot>\.)?(?P<name>[^.\[\]]+)|\[(?P<blank>\s*)(?P<index>[0-9]+)\s*\]")
_VARIABLE = lazy_pattern(r"\{\{[ \t]*([A-Za-z_][\w.-]*)[ \t]*\}\}")
# Names that Kubernetes' FrameworkController fills into the whole pod specification, so they mean something anywhere.
# Source: frameworkcontroller, pkg/apis/frameworkcontroller/v1/funcs.go.
_CONTROLLER_VARIABLE = lazy_pattern(r"FC_[A-Z_]+")
# openpai-runtime, replace_ref: the `$` is required; blanks are allowed before it. Other white space is not: the
# runtime looks at Python's writing of the text, where a line end is a backslash and an `n`.
_RUNTIME_OPENING = lazy_pattern(r"<% *(?=\$)")


class TagKind(Enum):
    """What mustache takes a tag for; the values are its first characters."""

    __hash__ = object.__hash__  # the one of Enum is many times slower

    NAME = ""
    SECTION = "#"
    INVERTED = "^"
    END = "/"
    PARTIAL = ">"
    UNESCAPED_BRACES = "{"
    UNESCAPED = "&"
    DELIMITERS = "="
    COMMENT = "!"


_KINDS = {kind.value: kind for kind in TagKind if kind.value}


@dataclass_of_many(frozen=True, slots=True)
class PathStep:
    """One part of a path: a key, or an index as a number; `span` is its text without dot or brackets."""

    name: str | int
    span: Span


@dataclass(frozen=True)
class TemplateTag:
    """One `<% … %>`; `span` holds the delimiters, `content_span` what is between them without blanks.

    in_section: whether it is in a section, all of which the rest-server drops.
    """

    kind: TagKind
    content: str
    span: Span
    content_span: Span
    in_section: bool = False

    @cached_property
    def steps(self) -> tuple[PathStep, ...]:
        """The content as a path: `$data.uri[0]` has three steps; empty if it is not a path."""
        steps: list[PathStep] = []
        at = 0
        while at < len(self.content):
            match = _STEP.match(self.content, at)
            if match is None or (at and match["name"] and not match["dot"]) or (not at and match["dot"]):
                return ()
            group = "index" if match["index"] is not None else "name"
            name: str | int = number_of(match["index"]) if group == "index" else match["name"]
            steps.append(PathStep(name, Span(*match.span(group)).shifted(self.content_span.start)))
            at = match.end()
        return tuple(steps)

    @cached_property
    def server_steps(self) -> tuple[PathStep, ...]:
        """The content as the rest-server splits it, every name a string: `$data.uri[0]` gives `$data`, `uri`, `0`.

        Source: rest-server, middlewares/v2/protocol.js, render; mustache.js 2.3.2, Context.lookup.
        """
        content, at = self.content, self.content_span.start
        if "[" not in content and not content.startswith("."):
            return self.runtime_steps  # both split it at the dots
        cuts = list(_SERVER_CUT.finditer(content))
        if not cuts or cuts[0].start() == 0:
            return (PathStep(content, self.content_span),)
        steps = [PathStep(content[: cuts[0].start()], Span(at, at + cuts[0].start()))]
        for cut, following in zip_longest(cuts, cuts[1:]):
            end = following.start() if following else len(content)
            rest = content[cut.end() : end]
            index = cut[1] or ""
            span = Span(cut.start(1), end if rest else cut.end(1)) if index else Span(cut.end(), end)
            steps.append(PathStep(index + rest, span.shifted(at)))
        return tuple(steps)

    @cached_property
    def runtime_steps(self) -> tuple[PathStep, ...]:
        """The content as the runtime splits it: names by dots, and numbers in brackets, which are ints.

        Source: openpai-runtime, src/init.d/initializer.py, replace_ref.
        """
        steps: list[PathStep] = []
        at = self.content_span.start
        for part in self.content.split("."):
            here = 0
            for match in _RUNTIME_INDEX.finditer(part) if steps else ():
                here = match.end()
                if match[1]:
                    steps.append(PathStep(match[1], Span(*match.span(1)).shifted(at)))
                steps.append(PathStep(number_of(match[2]), Span(*match.span(2)).shifted(at)))
            if not here:
                steps.append(PathStep(part, Span(at, at + len(part))))
            at += len(part) + 1
        return tuple(steps)

    @property
    def root(self) -> str:
        """The first step, as `$parameters`; the whole content if it is not a path."""
        steps = self.steps
        return str(steps[0].name) if steps else self.content


@dataclass(frozen=True, slots=True)
class TemplateFault:
    """Where mustache gives up, which makes the rest-server answer 500."""

    message: str
    span: Span


@lru_cache(maxsize=1024)
def tags(text: str) -> tuple[tuple[TemplateTag, ...], TemplateFault | None]:
    """All tags of a text, exactly as mustache reads it, and the fault that stops it, if any; found once for a text."""
    found: list[TemplateTag] = []
    sections: list[TemplateTag] = []
    opening, closing = OPENING, CLOSING
    at = 0
    while (start := text.find(opening, at)) >= 0:
        at = _after_spaces(text, start + len(opening))
        kind = _KINDS.get(text[at : at + 1], TagKind.NAME)
        if kind is not TagKind.NAME:
            at = _after_spaces(text, at + 1)
        content_end, end = _tag_end(text, at, kind, closing)
        if end < 0:
            return tuple(found), _unclosed(kind, opening, closing, Span(start, at))
        content_end = at + len(text[at:content_end].rstrip(SPACES))
        span = Span(start, end + len(closing))
        tag = TemplateTag(kind, text[at:content_end], span, Span(at, max(at, content_end)), in_section=bool(sections))
        at = span.end
        if kind is TagKind.DELIMITERS:
            words = _SPACES.split(tag.content)
            if len(words) < 2:
                return tuple(found), _unclosed(kind, opening, closing, Span(start, tag.content_span.start))
            opening, closing = words[:2]
        found.append(tag)
        if kind is TagKind.NAME:
            continue
        if kind is TagKind.SECTION or kind is TagKind.INVERTED:
            sections.append(tag)
        elif kind is TagKind.END:
            if not sections:
                return tuple(found), TemplateFault(f"nothing opens the section '{tag.content}'", span)
            opened = sections.pop()
            if opened.content != tag.content:
                return tuple(found), TemplateFault(f"the section '{opened.content}' is never closed", opened.span)
    if sections:
        return tuple(found), TemplateFault(f"the section '{sections[-1].content}' is never closed", sections[-1].span)
    return tuple(found), None


def _tag_end(text: str, at: int, kind: TagKind, closing: str) -> tuple[int, int]:
    """The offsets at which a tag's content ends and its closing mark begins; -1 if there is no such mark.

    Source: mustache.js 2.3.2, parseTemplate: `{` and `=` have an end of their own in front of the closing mark.
    """
    if kind is TagKind.UNESCAPED_BRACES:
        end = text.find("}" + closing, at)
        return end, end + 1 if end >= 0 else -1
    if kind is TagKind.DELIMITERS:
        equals = text.find("=", at)
        return equals, text.find(closing, equals + 1) if equals >= 0 else -1
    end = text.find(closing, at)
    return end, end


def runtime_tags(text: str) -> tuple[TemplateTag, ...]:
    """The tags that the runtime fills in a plugin parameter: `<% $… %>`, and nothing else."""
    found: list[TemplateTag] = []
    at = 0
    while (match := _RUNTIME_OPENING.search(text, at)) and (end := text.find(CLOSING, match.end())) >= 0:
        at = end + len(CLOSING)
        content = text[match.end() : end].rstrip(" ")
        found.append(
            TemplateTag(TagKind.NAME, content, Span(match.start(), at), Span(match.end(), match.end() + len(content)))
        )
    return tuple(found)


def _unclosed(kind: TagKind, opening: str, closing: str, span: Span) -> TemplateFault:
    """The fault of a tag that does not end as its kind must; `span` reaches to its content."""
    if kind is TagKind.DELIMITERS:
        return TemplateFault(f"mustache reads '{opening}=' as a change of its delimiters", span)
    if kind is TagKind.UNESCAPED_BRACES:
        return TemplateFault(f"'{opening}{{' without '}}{closing}'", span)
    return TemplateFault(f"'{opening}' without '{closing}'", Span(span.start, span.start + len(opening)))


def tags_without_dollar(text: str) -> tuple[TemplateTag, ...]:
    """The tags of a plugin parameter that the runtime leaves alone, because they do not begin with `$`."""
    found: list[TemplateTag] = []
    at = 0
    while (end := text.find(CLOSING, at)) >= 0:
        start = text.rfind(OPENING, at, end)
        at = end + len(CLOSING)
        content = text[start + len(OPENING) : end] if start >= 0 else ""
        if (name := content.strip()) and not name.startswith("$"):
            first = start + len(OPENING) + len(content) - len(content.lstrip())
            found.append(TemplateTag(TagKind.NAME, name, Span(start, at), Span(first, first + len(name))))
    return tuple(found)


def _after_spaces(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in SPACES:
        at += 1
    return at


@dataclass(frozen=True, slots=True)
class Variable:
    """One `{{ name }}`; `span` holds the braces."""

    name: str
    span: Span
    name_span: Span


def variables(text: str) -> Iterator[Variable]:
    """The `{{ name }}` of a text, without those of FrameworkController (`{{FC_TASK_INDEX}}`)."""
    for match in _VARIABLE.finditer(text):
        if not _CONTROLLER_VARIABLE.fullmatch(match[1]):
            yield Variable(match[1], Span(*match.span()), Span(*match.span(1)))


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A plain value with each `{{ name }}` of `values` replaced in its strings, once: what is put in is not read again.

    A string that is one placeholder and nothing else becomes the value itself, of whatever type; in a longer one the
    value is written as the rest-server would write it. Other braces stay.
    """
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, values) for key, item in value.items()}
    if not isinstance(value, str) or "{{" not in value or not values:
        return value
    parts: list[str] = []
    at = 0
    for variable in variables(value):
        if variable.name not in values:
            continue
        if len(variable.span) == len(value.strip()):
            return values[variable.name]
        parts += (value[at : variable.span.start], server_text(values[variable.name]))
        at = variable.span.end
    return "".join((*parts, value[at:]))


def server_path(content: str) -> str:
    """A tag's content as the rest-server looks it up: `a[0]` becomes `a.0`."""
    return _SERVER_INDEX.sub(r".\1", content)


MISSING = object()
