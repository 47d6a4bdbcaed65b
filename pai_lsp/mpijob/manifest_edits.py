"""Edits that give a manifest other values and leave its comments and everything else as the author wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pai_lsp.mpijob.manifest import KubernetesReader, Manifest, Value, is_text
from pai_lsp.source.comments import comments
from pai_lsp.source.edits import keeping_comments, line_end
from pai_lsp.source.frozen import replace
from pai_lsp.source.nodes import Mapping
from pai_lsp.source.syntax import parse
from pai_lsp.source.text import TextEdit, apply_edits
from pai_lsp.source.tree_edits import insert_values, without_entries
from pai_lsp.source.writing import flow_scalar, scalar_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Path = tuple[str | int, ...]


class _NoEditError(Exception):
    """A value is not written in its own place, such as that of an alias."""


def edits_towards(manifest: Manifest, wanted: dict[str, Any]) -> tuple[TextEdit, ...]:
    """The edits after which Kubernetes reads `wanted`; none where small edits cannot write it."""
    syntax = manifest.syntax
    text = syntax.text
    try:
        edits = tuple(_mapping(text, manifest.root, wanted))
    except _NoEditError:
        return ()
    edits = tuple(sorted(keeping_comments(text, edits, comments(syntax))))
    newline = line_end(text)
    edits = tuple(replace(one, new_text=one.new_text.replace("\r\n", "\n").replace("\n", newline)) for one in edits)
    number = next(at for at, root in enumerate(syntax.documents) if root is manifest.root.node)
    try:
        after = parse(apply_edits(text, edits), syntax.reader).documents
    except ValueError:  # two edits of one place
        return ()
    root = after[number] if number < len(after) else None
    return edits if root is not None and KubernetesReader().read(root).plain == wanted else ()


def edits_of_keys(manifest: Manifest, *changes: tuple[Path, Any]) -> tuple[TextEdit, ...]:
    """The edits that give keys other values, by their paths; None takes a key out. None where a value is in the way."""
    wanted = manifest.root.plain
    for path, value in changes:
        holder: Any = wanted
        for name in path[:-1]:
            holder = _below(holder, name)
        if not isinstance(holder, dict):
            return ()
        if value is None:
            holder.pop(path[-1], None)
        else:
            holder[path[-1]] = value
    return edits_towards(manifest, wanted)


def _below(holder: Any, name: str | int) -> Any:
    """What a path leads to, where null and an absent key become a mapping; None where a value has nothing below it."""
    if isinstance(holder, dict):
        if holder.get(name) is None:
            holder[name] = {}
        return holder[name]
    return holder[name] if isinstance(holder, list) and isinstance(name, int) and name < len(holder) else None


def _mapping(text: str, value: Value, wanted: dict[str, Any]) -> Iterator[TextEdit]:
    node = value.node
    if not isinstance(node, Mapping) or node.merged or len(node.entries) != len(value.content):
        raise _NoEditError
    old = dict(zip(value.content, node.entries, strict=True))
    kept = {name for name, one in value.content.items() if name in wanted and _fits(one, wanted[name])}
    if not kept:
        raise _NoEditError
    yield from without_entries(text, node, [entry for name, entry in old.items() if name not in kept])
    for name in kept:
        yield from _changed(text, value.content[name], wanted[name], is_flow=node.is_flow)
    added = {name: one for name, one in wanted.items() if name not in kept}
    if added:
        yield insert_values(text, node, added, next(old[name] for name in reversed(old) if name in kept), is_text)


def _changed(text: str, value: Value, wanted: Any, *, is_flow: bool) -> Iterator[TextEdit]:
    if value.plain == wanted:
        return
    if isinstance(wanted, dict):
        yield from _mapping(text, value, wanted)
    elif isinstance(wanted, list):
        for item, one in zip(value.content, wanted, strict=True):
            yield from _changed(text, item, one, is_flow=is_flow)
    else:
        yield TextEdit(value.node.span, (flow_scalar if is_flow else scalar_line)(wanted, is_text))


def _fits(value: Value, wanted: Any) -> bool:
    """Whether a value can be changed in its place; otherwise its key is written anew."""
    if value.plain == wanted:
        return True
    if isinstance(wanted, dict):
        return value.kind == "object" and bool(wanted) and any(name in wanted for name in value.content)
    if isinstance(wanted, list):
        is_long = len(wanted) == len(value.content) if value.kind == "array" else False
        return is_long and all(
            isinstance(one, dict) and _fits(item, one) for item, one in zip(value.content, wanted, strict=True)
        )
    return value.kind not in {"object", "array"} and len(value.node.span) > 0 and "\n" not in str(wanted)
