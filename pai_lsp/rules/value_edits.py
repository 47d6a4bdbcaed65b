"""Adding values to a mapping or a list, written as it is written itself: in braces and brackets, or line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.edits import append_item, insert_entry
from pai_lsp.expand.yaml_text import entry_lines, flow_scalar, flow_value, value_lines

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingOf

    from pai_lsp.nodes import Entry, Mapping, Sequence
    from pai_lsp.text import TextEdit


def insert_values(text: str, mapping: Mapping, values: MappingOf[str, Any], behind: Entry | None = None) -> TextEdit:
    """Add keys with their values behind one of a mapping's keys, usually the last."""
    lines: list[str] = []
    for key, value in values.items():
        lines += [f"{flow_scalar(key)}: {flow_value(value)}"] if mapping.is_flow else entry_lines(key, value)
    return insert_entry(text, mapping, "\n".join(lines), behind)


def append_value(text: str, sequence: Sequence, value: Any) -> TextEdit:
    """Add a value behind a list's last item."""
    return append_item(text, sequence, flow_value(value) if sequence.is_flow else "\n".join(value_lines(value)))
