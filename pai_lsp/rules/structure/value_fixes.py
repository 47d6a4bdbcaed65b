"""Fixes that write a value in the expected type.

Each function returns the fixes for one place; none if the right edit is not known.
"""

from __future__ import annotations

import re

from pai_lsp.findings.diagnostic import Fix
from pai_lsp.findings.fixes import fix_of, quote_fix, wrap_in_list_fix, wrap_mapping_fixes
from pai_lsp.job.definition import name_span
from pai_lsp.platform.job_schema import field
from pai_lsp.platform.tables import ROLE_NAME
from pai_lsp.rules.structure.structure_fixes import empty_fixes, prerequisite_type
from pai_lsp.source.edits import column, line_end, remove_item
from pai_lsp.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.spelling import nearest
from pai_lsp.source.text import Span, TextEdit
from pai_lsp.source.writing import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pai_lsp.job.job import Job
    from pai_lsp.rules.structure.structure_places import ErrorPlace

_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
# Keys of `portList` in protocol v1, whose items are not labels with counts.
_PORT_KEYS = frozenset({"label", "name", "port", "portNumber", "beginAt"})
_SIZE = lazy_pattern(r"(\d{1,6}) ?([gGmM])(?:i|i?[bB])?")
_VERSION_2 = lazy_pattern(r"[vV]?2(?:\.0+)?")


def type_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
    """Write a value in one of the expected types."""
    node, types = place.node, place.error.types
    if isinstance(node, Scalar) and node.value is None:
        return _null_fixes(job, place, node)
    fix: Fix | None = None
    if "string" in types:
        fix = _as_string(job, place, node)
    elif {"integer", "number"} & set(types):
        fix = _as_number(place, node)
    elif "boolean" in types:
        fix = _as_boolean(node)
    elif "array" in types:
        fix = _as_list(job, place, node)
    elif "object" in types and isinstance(node, Sequence) and not node.items and node.is_flow:
        fix = Fix("Write an empty mapping", (TextEdit(node.span, "{}"),), safe=True)
    return (fix,) if fix else ()


def _null_fixes(job: Job, place: ErrorPlace, node: Scalar) -> tuple[Fix, ...]:
    owner = place.owner
    if not isinstance(owner, Sequence):
        return empty_fixes(job, place)
    return fix_of("Remove the empty item", remove_item(job.text, owner, node), safe=True)


def _as_string(job: Job, place: ErrorPlace, node: Node | None) -> Fix | None:
    if isinstance(node, Scalar):
        return quote_fix(node) if node.tag is None else None
    if node is None or node.tag is not None:
        return None
    if isinstance(node, Sequence) and len(node.items) == 1 and place.entry is not None:
        return _unwrapped(job.text, place.entry, node)
    written = _written_line(job.text, node)
    if written is None or place.entry is not None:
        return None
    span = Span(node.span.start, node.span.start + len(written))
    return Fix("Quote it", (TextEdit(span, quoted(written)),), safe=True)


def _written_line(text: str, node: Node) -> str | None:
    """The text of an item on one line, with a colon at its end; None for several lines."""
    end = text.find("\n", node.span.start)
    line = text[node.span.start : len(text) if end < 0 else end]
    if node.span.end > node.span.start + len(line):
        return None
    if isinstance(node, Mapping) and not node.is_flow:
        content = re.split(r"(?<=\s)#", line, maxsplit=1)[0]
        return content.rstrip()
    return text[node.span.start : node.span.end]


def _unwrapped(text: str, entry: Entry, sequence: Sequence) -> Fix | None:
    """Replace a list of one string with the string."""
    item = sequence.items[0]
    between = text[entry.key.span.end : sequence.span.start]
    if not isinstance(item, Scalar) or not item.is_string or item.is_block or not re.fullmatch(r"['\"]?:\s+", between):
        return None
    written = text[item.span.start : item.span.end]
    colon = text.index(":", entry.key.span.end)
    return Fix("Remove the list around it", (TextEdit(Span(colon + 1, sequence.span.end), f" {written}"),), safe=True)


def _as_number(place: ErrorPlace, node: Node | None) -> Fix | None:
    if not isinstance(node, Scalar):
        return None
    if place.error.expected:
        number = place.error.expected[0]
        return Fix(f"Write the number {number}", (TextEdit(node.span, number),), safe=True)
    size = _SIZE.fullmatch(node.text)
    if size is None or place.entry is None or not place.entry.name.endswith("MB"):
        return None
    number = str(int(size[1]) * (1024 if size[2] in "gG" else 1))
    return Fix(f"Change to {number} (MB)", (TextEdit(node.span, number),))


def _as_boolean(node: Node | None) -> Fix | None:
    if not isinstance(node, Scalar):
        return None
    text = node.text.strip().lower()
    if text not in _TRUE | _FALSE:
        return None
    word = "true" if text in _TRUE else "false"
    return Fix(f"Write {word}", (TextEdit(node.span, word),), safe=True)


def _as_list(job: Job, place: ErrorPlace, node: Node | None) -> Fix | None:
    path = place.error.path
    kind = prerequisite_type(job, path)
    documented = field(path, prerequisite_type=kind, kind=job.schema_kind, platform=job.platform)
    wanted = "mappings" if isinstance(node, Mapping) else "strings"
    return as_list_fix(job, place.entry, node) if documented is None or wanted in documented.type else None


def as_list_fix(job: Job, entry: Entry | None, node: Node | None) -> Fix | None:
    """Wrap a single value in a list, whatever its style."""
    text = job.text
    if isinstance(node, Scalar) and node.tag is None:
        if node.is_block:
            return _block_as_item(text, entry, node)
        if not node.is_string:
            return Fix("Wrap in a list", (TextEdit(node.span, f"[{quoted(node.text)}]"),), safe=True)
        return wrap_in_list_fix(text, node)
    return next(iter(wrap_mapping_fixes(node)), None) if node else None


def _block_as_item(text: str, entry: Entry | None, node: Scalar) -> Fix | None:
    """`commands: |` becomes `commands:` and `- |`; the block's lines are indented deeply enough already."""
    if entry is None or text[entry.key.span.end : node.span.start].strip(" '\"") != ":":
        return None
    pad = " " * column(text, entry.key.span.start)
    colon = text.index(":", entry.key.span.end)
    edit = TextEdit(Span(colon + 1, node.span.start), f"{line_end(text)}{pad}- ")
    return Fix("Wrap in a list", (edit,), safe=True)


def choice_fixes(place: ErrorPlace) -> tuple[Fix, ...]:
    """Change to one of the allowed values; safe for a single close one, and for the only one if the value is empty."""
    node, choices = place.node, place.error.expected
    if not isinstance(node, Scalar) or node.tag is not None:
        return ()
    near = nearest(node.text, choices)
    is_sure = (len(choices) == 1 and (not node.text or _VERSION_2.fullmatch(node.text) is not None)) or len(near) == 1
    span = name_span(node) if node.is_string else node.span
    start = "" if len(span) else " "
    return tuple(Fix(f"Change to '{choice}'", (TextEdit(span, start + choice),), is_sure) for choice in near or choices)


def ports_as_mapping_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
    """Convert a list of labels, or of `label: count`, to the mapping that `ports` must be."""
    node = place.node
    labels = _labels(node) if isinstance(node, Sequence) else None
    if not isinstance(node, Sequence) or labels is None or len(set(labels)) < len(labels):
        return ()
    text = job.text
    if node.is_flow:
        parts = [_flow_part(text, item) for item in node.items]
        return (Fix("Convert to a mapping", (TextEdit(node.span, "{" + ", ".join(parts) + "}"),), safe=True),)
    edits: list[TextEdit] = []
    for item in node.items:
        dash = text.rfind("-", 0, item.span.start)
        if isinstance(item, Mapping) and item.is_flow:
            return ()
        edits.append(TextEdit(Span(dash, dash + 1), " "))
        if isinstance(item, Scalar):
            edits.append(TextEdit(Span(item.span.end, item.span.end), ": 1"))
    columns = {column(text, item.span.start) for item in node.items}
    return (Fix("Convert to a mapping", tuple(edits), safe=True),) if len(columns) == 1 else ()


def _labels(sequence: Sequence) -> list[str] | None:
    """The labels in a list; None if an item is not a label."""
    labels: list[str] = []
    for item in sequence.items:
        if isinstance(item, Scalar) and ROLE_NAME.fullmatch(item.text):
            labels.append(item.text)
        elif isinstance(item, Mapping) and item.entries and not _PORT_KEYS & {one.name for one in item.entries}:
            labels += (one.name for one in item.entries)
        else:
            return None
    return labels or None


def _flow_part(text: str, item: Node) -> str:
    written = text[item.span.start : item.span.end]
    if isinstance(item, Scalar):
        return f"{written}: 1"
    return written.strip("{} ") if isinstance(item, Mapping) and item.is_flow else written


def roles_as_mapping_fixes(job: Job, place: ErrorPlace) -> tuple[Fix, ...]:
    """Convert a list of task roles, each beginning with its `name`, to a mapping of names."""
    node, entry, text = place.node, place.entry, job.text
    if not isinstance(node, Sequence) or node.is_flow or entry is None:
        return ()
    edits: list[TextEdit] = []
    for item in node.items:
        first = item.entries[0] if isinstance(item, Mapping) and not item.is_flow and len(item.entries) > 1 else None
        if first is None or first.name != "name" or not isinstance(first.value, Scalar) or not first.value.text:
            return ()
        dash = text.rfind("-", 0, first.key.span.start)
        if column(text, dash) <= column(text, entry.key.span.start):
            return ()
        written = text[first.value.span.start : first.value.span.end]
        edits.append(TextEdit(Span(dash, first.value.span.end), f"{written}:"))
    return fix_of("Convert to a mapping", tuple(edits))
