"""YAML that is written anew from another text, line by line, so that the comments of that text find their places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pai_lsp.source.frozen import dataclass, replace
from pai_lsp.source.nodes import Mapping, Sequence
from pai_lsp.source.writing import scalar_line, value_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as SequenceOf

    from pai_lsp.source.comments import Comment
    from pai_lsp.source.nodes import Node


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the new text; `at` is the offset in the old one of what it says, None for what is new.

    holds_comment: whether a comment may stand behind it.
    """

    text: str
    at: int | None = None
    holds_comment: bool = True


@dataclass(frozen=True, slots=True)
class Written:
    """A value in block style; the first line of a scalar stands behind its key, a collection stands below it."""

    lines: tuple[Line, ...]
    is_collection: bool = False


def written_scalar(value: Any, at: int | None = None) -> Written:
    """A scalar value, one of several lines as a literal block; an empty list or mapping too."""
    first, *rest = value_lines(value)
    return Written((Line(first, at), *(Line(line, None, holds_comment=False) for line in rest)))


def written_mapping(entries: Iterable[tuple[str, Written, int | None]]) -> Written:
    """Keys with their values, and where the old text has them; `{}` for none."""
    lines: list[Line] = []
    for key, value, at in entries:
        name = scalar_line(key)
        if value.is_collection:
            lines += (Line(f"{name}:", at), *_indented(value.lines))
        else:
            first = value.lines[0]
            place = first.at if at is None else at
            lines += (replace(first, text=f"{name}: {first.text}", at=place), *value.lines[1:])
    return Written(tuple(lines), is_collection=True) if lines else written_scalar({})


def written_list(items: Iterable[Written]) -> Written:
    """Items one below the other; `[]` for none."""
    lines: list[Line] = []
    for item in items:
        first, *rest = item.lines
        lines += (replace(first, text=f"- {first.text}"), *(_indented(rest) if item.is_collection else rest))
    return Written(tuple(lines), is_collection=True) if lines else written_scalar([])


def written_node(node: Node) -> Written:
    """A node of the old text as it is."""
    if isinstance(node, Mapping):
        entries = node.effective_entries()
        return written_mapping((entry.name, written_node(entry.value), entry.key.span.start) for entry in entries)
    if isinstance(node, Sequence):
        return written_list(map(written_node, node.items))
    return written_scalar(node.value, node.span.start)


def _indented(lines: Iterable[Line]) -> list[Line]:
    return [replace(line, text=f"  {line.text}") if line.text else line for line in lines]


def with_comments(written: Written, comments: SequenceOf[Comment], source: str) -> str:
    """The new text with every comment of the old one, above or behind the line that says what it stood beside."""
    lines = written.lines
    above: dict[int, list[str]] = {}
    behind: dict[int, list[str]] = {}
    places = sorted((line.at, number) for number, line in enumerate(lines) if line.at is not None)
    for comment in comments:
        start = source.rfind("\n", 0, comment.span.start) + 1
        beside = [number for at, number in places if start <= at < comment.span.start and not comment.is_alone]
        if beside and lines[beside[-1]].holds_comment:
            behind.setdefault(beside[-1], []).append(comment.text)
        else:
            following = (number for at, number in places if at > comment.span.start)
            place = beside[-1] if beside else next(following, len(lines))
            above.setdefault(place, []).append(comment.text)
    found: list[str] = []
    for number, line in enumerate(lines):
        pad = " " * (len(line.text) - len(line.text.lstrip(" ")))
        found += (f"{pad}{comment}" for comment in above.get(number, ()))
        found.append("  ".join([line.text, *behind.get(number, ())]))
    found += above.get(len(lines), ())
    return "".join(f"{line}\n" for line in found)
