"""What every conversion of an MPIJob answers: the new object as YAML and what it lacks, or why there is none."""

from __future__ import annotations

from pai_lsp.mpijob.kubernetes_values import is_text
from pai_lsp.source.comments import comments
from pai_lsp.source.frozen import dataclass, field
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.writing import value_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as MappingOf
    from typing import Any

    from pai_lsp.source.nodes import Syntax

# A command at the end of a script that only keeps the container alive.
SLEEP_AT_END = lazy_pattern(r"(?:exec[ \t]+)?sleep[ \t]+(?:infinity|inf|[0-9]+[smhd]?)\s*;?\s*\Z")
_KEY = lazy_pattern(r"[ \t]*(?:-[ \t]+)*[\"']?([^\s\"'#:][^\"'#:]*)[\"']?[ \t]*:(?:[ \t]|\r?$)")
_FOR_TOOLS = lazy_pattern(r"#[ \t]*(?:pai-lsp|yaml-language-server)\b")


class ConversionError(Exception):
    """The file cannot be converted: `code` for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Lost:
    """What the result does not have: a path of the input, and why."""

    field: str
    reason: str


@dataclass(slots=True)
class Converted:
    """The new object, and what it does not have."""

    result: dict[str, Any]
    lost: list[Lost] = field(default_factory=list)


def as_mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def others_lost(values: MappingOf[str, Any], known: Collection[str], path: str, reason: str) -> list[Lost]:
    """The keys of a mapping that a conversion does not know."""
    return [Lost(f"{path}{name}", reason) for name, value in values.items() if name not in known and value is not None]


def manifest_text(manifest: dict[str, Any]) -> str:
    """A manifest as YAML that Kubernetes, too, reads back as the same values."""
    return "".join(f"{line}\n" for line in value_lines(manifest, is_text))


def job_text(job: dict[str, Any]) -> str:
    """An OpenPAI job as YAML."""
    return "".join(f"{line}\n" for line in value_lines(job))


def kept_comments(syntax: Syntax) -> list[str]:
    """The comments of the input as lines for the top of the result, each with the key that it explains.

    Comments before the first key have no key; comments for tools are left out.
    """
    lines = syntax.text.splitlines()
    found: list[str] = []
    has_key = False
    at, start = 0, 0
    for comment in comments(syntax):
        line = at + syntax.text.count("\n", start, comment.span.start)
        has_key = has_key or any(_KEY.match(one) for one in lines[at:line]) or not comment.is_alone
        at, start = line, comment.span.start
        if _FOR_TOOLS.match(comment.text):
            continue
        text = comment.text.lstrip("#").strip()
        rest = lines[line:] if comment.is_alone else lines[line : line + 1]
        key = next((match[1].strip() for one in rest if (match := _KEY.match(one))), None) if has_key else None
        if text:
            found.append(f"# {key}: {text}" if key else f"# {text}")
    return found
