"""What the two readers make of a node with an explicit tag, such as `!!int 5` or `!!set {a, b}`.

The rest-server's js-yaml refuses a text with a tag that it does not know or that does not fit its node; the runtime's
PyYAML fails on others, which ends the task in its init container. Single scalars are the business of scalar.py.
Sources: js-yaml 3.13.1, lib/js-yaml/loader.js, composeNode, and lib/js-yaml/type/; PyYAML, constructor.py.
"""

from __future__ import annotations

from pai_lsp.source.nodes import NO_TYPE, YAML_TAG, Mapping, Scalar, Sequence, plain_value
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.scalar import REFUSED, tagged_server_value
from pai_lsp.source.text import Span
from pai_lsp.source.type_checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pai_lsp.source.nodes import Node

# The tags that js-yaml knows, with the kind of node that they are for, and what that must be.
_KINDS: dict[str, tuple[type[Scalar | Mapping | Sequence], str]] = {
    "null": (Scalar, "null or '~'"),
    "bool": (Scalar, "true or false"),
    "int": (Scalar, "a whole number"),
    "float": (Scalar, "a number"),
    "timestamp": (Scalar, "a date"),
    "binary": (Scalar, "text in base 64"),
    "str": (Scalar, "a text"),
    "merge": (Scalar, "'<<'"),
    "map": (Mapping, "a mapping"),
    "set": (Mapping, "a mapping of keys without values"),
    "seq": (Sequence, "a list"),
    "omap": (Sequence, "a list of mappings with one key each, all different"),
    "pairs": (Sequence, "a list of mappings with one key each"),
}
# Nothing at all fits these; js-yaml makes an empty text, list or mapping of it, or null.
_FIT_NOTHING = frozenset({"null", "str", "merge", "map", "set", "seq", "omap", "pairs"})
# A tag, and the anchor that may be between it and its node.
_TAG_BEFORE = lazy_pattern(r"(?<![^\s,\[{])(?P<tag>![^\s]*)(?:[ \t\r\n]+&[^\s,\[\]{}]+)?[ \t\r\n]*\Z")
_LONGEST_TAG = 500


def tag_span(text: str, node: Node) -> Span | None:
    """Where a node's tag is written; None where it is not found, as with a comment between the two."""
    start = node.span.start
    found = _TAG_BEFORE.search(text, max(0, start - _LONGEST_TAG), start)
    return Span(*found.span("tag")) if found else None


def with_tag(text: str, node: Node) -> Span:
    """A scalar on one line with its tag; of anything else, the tag."""
    tag = tag_span(text, node)
    if tag is None:
        return node.span
    is_line = isinstance(node, Scalar) and "\n" not in text[tag.start : node.span.end]
    return Span(tag.start, max(tag.end, node.span.end)) if is_line else tag


def server_refusal(node: Node) -> str | None:
    """Why the rest-server refuses the text for the sake of this node's tag, in words that name no value."""
    if node.tag is None or node.tag == NO_TYPE:
        return None
    kind = node.tag.removeprefix(YAML_TAG)
    if kind not in _KINDS or kind == node.tag:
        return "is not a tag that OpenPAI reads"
    return None if _fits(node, kind) else f"needs {_KINDS[kind][1]}"


def is_of_other_kind(node: Node) -> bool:
    """Whether the tag is one for another kind of node, as `!!map [a]`, so that no value fits it."""
    kind = (node.tag or "").removeprefix(YAML_TAG)
    return kind in _KINDS and not isinstance(node, _KINDS[kind][0])


def _fits(node: Node, kind: str) -> bool:
    if isinstance(node, Scalar) and node.is_empty:
        return kind in _FIT_NOTHING
    if not isinstance(node, _KINDS[kind][0]):
        return False
    if isinstance(node, Scalar):
        return tagged_server_value(kind, node.text, node.reader) is not REFUSED
    if isinstance(node, Mapping):
        return kind == "map" or all(value is None for value in plain_value(node).values())
    if kind == "seq":
        return True
    items = [plain_value(item) for item in node.items]
    if not all(isinstance(item, dict) and len(item) == 1 for item in items):
        return False
    return kind == "pairs" or len({name for item in items for name in item}) == len(items)


def runtime_value(node: Node | None) -> Any:
    """The node as the runtime's PyYAML constructs it.

    Raises:
        ValueError: where PyYAML fails: on a value, on a tag, or on a key that is a list or a mapping.
    """
    if node is None:
        return None
    if isinstance(node, Scalar):
        value = node.runtime_value
        if isinstance(value, ValueError):
            raise value
        return value
    kind = "" if node.tag is None or node.tag == NO_TYPE else node.tag.removeprefix(YAML_TAG)
    if isinstance(node, Sequence):
        if kind in {"omap", "pairs"}:
            return [_pair(item) for item in node.items]
        if kind in {"", "seq"}:
            return [runtime_value(item) for item in node.items]
    elif kind in {"", "map", "set"}:
        return set(_dictionary(node)) if kind == "set" else _dictionary(node)
    raise ValueError("a tag that does not fit its node")


def _dictionary(node: Mapping) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for source in reversed(node.merged):
        found |= _dictionary(source)
    for entry in node.entries:
        if not entry.is_merge:
            key = entry.key
            if not isinstance(key, Scalar):
                raise ValueError("a key that is a list or a mapping")
            # As a key, `=` is text; anywhere else PyYAML fails on it.
            is_text = key.text == "=" and key.tag in {None, NO_TYPE}
            found[key.text if is_text else runtime_value(key)] = runtime_value(entry.value)
    return found


def _pair(node: Node) -> tuple[Any, Any]:
    """An item of `!!omap` or `!!pairs`, where PyYAML does not know `<<`."""
    if not isinstance(node, Mapping) or len(node.entries) != 1 or node.entries[0].is_merge:
        raise ValueError("no mapping with one key")
    entry = node.entries[0]
    return runtime_value(entry.key), runtime_value(entry.value)
