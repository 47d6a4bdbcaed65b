"""The job, its secrets and its commands as the released runtime reads them.

The runtime reads the job with PyYAML, from a text in which the rest-server has masked the secrets. The secrets arrive
separately, see pai_lsp/platform/secrets_section.py.

Sources: rest-server, src/utils/protocolSecret.js, mask; openpai-runtime, src/init.d/initializer.py and
user_command_renderer.py.

In a job with secrets, the runtime renders the commands a second time: the rest-server leaves references to secrets as
they are, and pystache reads the whole script again with nothing but `$secrets`. It writes secrets as HTML, and every
other tag that is left becomes empty. Sections and changed marks can only come in with a parameter's value. Sources:
openpai-runtime, src/common/utils.py, render_string_with_secrets; pystache 0.5.4, parser.py, context.py.
"""

from __future__ import annotations

from pai_lsp.embedded.template import CLOSING, MISSING, OPENING
from pai_lsp.platform.secrets_section import masked_span, runtime_secrets
from pai_lsp.platform.tables import converted_role_name
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.syntax import parse
from pai_lsp.source.tags import runtime_value
from pai_lsp.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pai_lsp.job.job import Job


class RuntimeStopError(Exception):
    """An error that ends the init container, and with it the task; the message is for the user."""


@dataclass(frozen=True, slots=True)
class RuntimeJob:
    """What the runtime knows: the job, and its secrets (None without any)."""

    values: dict[Any, Any]
    secrets: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RuntimeRole:
    """A task role in the runtime; `name` is the name that the rest-server has converted from the role's own."""

    job: RuntimeJob
    name: str
    values: dict[Any, Any]


def runtime_job(job: Job) -> RuntimeJob:
    """The job as the runtime reads it.

    Raises:
        RuntimeStopError: if PyYAML cannot read the text.
    """
    root = job.syntax.root
    masked = masked_text(job.text)
    if masked != job.text:
        syntax = parse(masked, job.syntax.reader)
        if syntax.problems:
            raise RuntimeStopError("the runtime cannot read the job once the rest-server has masked its secrets")
        root = syntax.root
    try:
        values = runtime_value(root)
    except ValueError:
        raise RuntimeStopError("the runtime's YAML reader fails on a value of the job") from None
    if not isinstance(values, dict):
        raise RuntimeStopError("the runtime finds no job in the text")
    secrets = job.plain.get("secrets") if isinstance(job.syntax.root, Mapping) else None
    if not isinstance(secrets, dict) or not secrets:
        return RuntimeJob(values, None)
    try:
        return RuntimeJob(values, runtime_secrets(secrets))
    except ValueError:
        raise RuntimeStopError(
            "the runtime's YAML reader fails on the secrets as the rest-server writes them"
        ) from None


def runtime_role(job: RuntimeJob, name: str) -> RuntimeRole:
    """The role of that name, which the runtime looks up by its converted name.

    Raises:
        RuntimeStopError: if it does not find the role.
    """
    converted = converted_role_name(name)
    roles = job.values.get("taskRoles")
    values = roles.get(converted) if isinstance(roles, dict) else None
    if not isinstance(values, dict):
        raise RuntimeStopError(f"the runtime looks for the task role under '{converted}', and does not find it")
    return RuntimeRole(job, converted, values)


def masked_text(text: str) -> str:
    """The job's text as the rest-server stores it."""
    span = masked_span(text)
    if not len(span):
        return text
    following = text[span.end :]
    return text[: span.start] + 'secrets: "******"' + (f"\n{following}" if following else "")


_KINDS = frozenset("!>&/#^")
_INDEX = lazy_pattern(r"\[(\d+)\]")
_LINE_ENDS = ("", "\r", "\n")
# pystache calls itself a few times for each open section, and Python ends that at about this depth.
_DEEPEST = 300


def after_runtime(text: str, secrets: dict[str, Any] | None, *, shows_secrets: bool) -> str:
    """The commands as the runtime writes them into its script.

    secrets: as the runtime reads them; without any, the text does not change.
    shows_secrets: whether secrets are filled in, as the runtime does it. Without, what depends on a secret stays as it
        is written, and all other tags are emptied.

    Raises:
        RuntimeStopError: if the runtime cannot parse the text.
    """
    if not secrets or OPENING not in text:
        return text
    values = {"$secrets": {key: _by_position(value) for key, value in secrets.items()}}
    return "".join(_rendered(_parsed(text), text, [values], shows_secrets=shows_secrets))


def _by_position(value: Any) -> Any:
    """A list becomes a mapping of its positions; a list inside a list stays a list, into which no path leads."""
    if isinstance(value, list):
        return {str(number): item for number, item in enumerate(value)}
    return {key: _by_position(one) for key, one in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True, slots=True)
class _Name:
    """A tag that writes a value, as HTML or as it is."""

    name: str
    span: Span
    is_raw: bool


@dataclass(frozen=True, slots=True)
class _Section:
    """The content between `<%# name %>` or `<%^ name %>` and `<%/ name %>`; `span` includes both tags."""

    name: str
    span: Span
    is_inverted: bool
    parts: list[_Part]


_Part = str | _Name | _Section


@dataclass(frozen=True, slots=True)
class _SecretTag:
    kind: str
    content: str
    span: Span


def _parsed(text: str) -> list[_Part]:
    """The text in parts. If a section stays open, pystache loses everything in front of it.

    Raises:
        RuntimeStopError: for a section that ends before it begins, and for delimiters that are not two words.
    """
    marks = OPENING, CLOSING
    parts: list[_Part] = []
    opened: list[tuple[_SecretTag, list[_Part]]] = []
    at = 0
    while tag := _next_tag(text, at, *marks):
        start, end = tag.span.start, tag.span.end
        if tag.kind not in {"", "&"}:
            line = Span(_before_blanks(text, at, start), end)
            if text[line.start - 1 : line.start] in _LINE_ENDS and text[end : end + 1] in _LINE_ENDS:
                start = line.start
                end += text.startswith("\r", end)
                end += text.startswith("\n", end)
        parts.append(text[at:start])
        at = end
        if tag.kind in {"#", "^"}:
            opened.append((tag, parts))
            parts = []
            if len(opened) > _DEEPEST:
                raise RuntimeStopError("the runtime fails on the commands: sections are nested too deeply")
        elif tag.kind == "/":
            if not opened or opened[-1][0].content != tag.content:
                raise RuntimeStopError("the runtime fails on the commands: a section ends that has not begun")
            first, outer = opened.pop()
            outer.append(_Section(tag.content, Span(first.span.start, tag.span.end), first.kind == "^", parts))
            parts = outer
        elif tag.kind == "=":
            words = tag.content.split()
            if len(words) < 2:
                raise RuntimeStopError("the runtime fails on the commands: a change of marks needs two of them")
            marks = words[0], words[1]
        elif tag.kind in {"", "&"}:
            parts.append(_Name(tag.content, tag.span, is_raw=tag.kind == "&"))
    return [*map(_with_indexes, parts), text[at:]]


def _with_indexes(part: _Part) -> _Part:
    """The runtime takes `[0]` for `.0` in names that are written as HTML outside of sections."""
    if isinstance(part, _Name) and not part.is_raw:
        return _Name(_INDEX.sub(r".\1", part.name), part.span, is_raw=False)
    return part


def _next_tag(text: str, at: int, opening: str, closing: str) -> _SecretTag | None:
    """The next closed tag; an open one ends the search."""
    start = text.find(opening, at)
    if start < 0:
        return None
    inner = _after_space(text, start + len(opening))
    kind = text[inner : inner + 1]
    if kind in {"=", "{"} and (end := text.find(closing, inner + 2)) >= 0:
        content = text[inner + 1 : end].rstrip()
        is_whole = content.endswith("=" if kind == "=" else "}") and "\n" not in (name := content[:-1].strip())
        if is_whole and name:
            return _SecretTag("&" if kind == "{" else kind, name, Span(start, end + len(closing)))
    kind = kind if kind in _KINDS else ""
    first = _after_space(text, inner + len(kind))
    end = text.find(closing, first + 1)
    if end < 0:
        # The last tag may hold nothing but blanks, or nothing but its kind, which is a name then.
        end = text.find(closing, first)
        kind = kind if first > inner + 1 else ""
        return (
            _SecretTag(kind, text[first - 1 : first], Span(start, end + len(closing)))
            if end > start + len(opening)
            else None
        )
    return _SecretTag(kind, text[first:end].rstrip(), Span(start, end + len(closing)))


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _before_blanks(text: str, first: int, at: int) -> int:
    """The start of the blanks in front of a place, `first` at the earliest."""
    while at > first and text[at - 1] in " \t":
        at -= 1
    return at


def _rendered(parts: list[_Part], text: str, stack: list[Any], *, shows_secrets: bool) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        value = _found(part.name, stack)
        if value is not MISSING and not shows_secrets:
            yield text[part.span.start : part.span.end]
        elif isinstance(part, _Name):
            from html import escape  # noqa: PLC0415 - only for a secret among commands

            written = "" if value is MISSING else str(value)
            yield written if part.is_raw else escape(written)
        else:
            yield from _section(part, "" if value is MISSING else value, text, stack, shows_secrets=shows_secrets)


def _section(section: _Section, value: Any, text: str, stack: list[Any], *, shows_secrets: bool) -> Iterator[str]:
    if section.is_inverted:
        if not value:
            yield from _rendered(section.parts, text, stack, shows_secrets=shows_secrets)
        return
    for item in value if isinstance(value, list) else [value] if value else []:
        yield from _rendered(section.parts, text, [*stack, item], shows_secrets=shows_secrets)


def _found(name: str, stack: list[Any]) -> Any:
    """The value that pystache finds for a name, or `MISSING`; the first step is searched in all open sections."""
    if name == ".":
        return stack[-1]
    first, *steps = name.split(".")
    value = next((one[first] for one in reversed(stack) if isinstance(one, dict) and first in one), MISSING)
    for step in steps:
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
    return value
