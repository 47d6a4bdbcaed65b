"""The definitions in what a marketplace server answers: a list of items, each with a whole job as YAML text.

Source: openpaimarketplace, rest_server: `GET /items` gives every item that the user may see, with its `protocol` byte
for byte; what was changed by `PUT` was never checked, so it need not be YAML.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pai_lsp.catalog.definition_text import Content, first_line, read_definition_text
from pai_lsp.nodes import Mapping
from pai_lsp.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping as MappingOf

    from pai_lsp.catalog.definition_text import DefinitionText

_MOST_NAMED = 80
_BLANKS = re.compile(r"[ \t\r\n]*")


class NoItemsError(Exception):
    """An answer is no list of items; the text says what it is."""


def read_items(
    body: bytes,
    base: str,
    known: MappingOf[str, DefinitionText] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> tuple[tuple[DefinitionText, ...], tuple[str, ...]]:
    """The items' definitions, and which items could not be read.

    The oldest item comes first: where two have a definition of the same name, a later one does not take its place.

    Args:
        body: the answer.
        base: the server's address; that of an item is made of it.
        known: by path, texts that were read before; those that are the same are not read again.
        pause: called between items.

    Raises:
        NoItemsError: if the answer is no list of items.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise NoItemsError("its answer is no JSON") from None
    if not isinstance(answer, list):
        raise NoItemsError("its answer is no list of items")
    known = known or {}
    texts: list[DefinitionText] = []
    skipped: list[str] = []
    for item in sorted((one for one in answer if isinstance(one, dict)), key=_by_age):
        if item.get("status") == "rejected":
            continue
        path = f"{base}/items/{_word(item, 'id')}"
        text = _prerequisites(item.get("protocol"))
        before = known.get(path)
        if before is not None and text == before.text:
            texts.append(before)
            continue
        pause()
        read = None if text is None else _read(item, path, text)
        if read is None:
            skipped.append(f"item '{_named(item)}' holds no job that could be read")
        elif read.cards:
            texts.append(read)
    others = sum(not isinstance(one, dict) for one in answer)
    if others:
        skipped.append(f"{others} of the answers are no items")
    return tuple(texts), tuple(skipped)


def _read(item: Any, path: str, text: str) -> DefinitionText | None:
    summary = first_line(_word(item, "summary") or _word(item, "name"))
    read = read_definition_text(path, text, item=_word(item, "id"), summary=summary, content=Content.JOB)
    return None if read.fault else read


def _prerequisites(protocol: Any) -> str | None:
    """The part of a protocol's text that is kept: its prerequisites, empty without any; None for what is no job.

    So its secrets are nowhere kept. A text with faults is not kept at all: nobody could say where in it secrets are.
    """
    if not isinstance(protocol, str):
        return None
    syntax = parse(protocol)
    root = syntax.root
    if syntax.problems or not isinstance(root, Mapping):
        return None
    entry = root.own("prerequisites")
    if entry is None:
        return ""
    start, end = entry.key.span.start, entry.value.span.end
    if end < start:  # an alias of something further up
        return None
    behind = _BLANKS.match(protocol, end)
    part = protocol[start : behind.end() if behind else end]
    if root.is_flow:
        return f"{{{part}}}"
    return " " * (start - (protocol.rfind("\n", 0, start) + 1)) + part


def _by_age(item: Any) -> tuple[str, str]:
    return _word(item, "createdAt"), _word(item, "id")


def _word(item: Any, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _named(item: Any) -> str:
    name = "".join(character for character in _word(item, "name") if character.isprintable())
    return name[:_MOST_NAMED] or _word(item, "id")[:_MOST_NAMED] or "without a name"
