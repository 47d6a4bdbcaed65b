"""Which line near a fault is the odd one, and what was meant: libyaml often stops at a line after it.

Each suspect line gets the slips that people make: a colon, a dash or the right indentation is missing, or a character
only looks like a blank or a sign. The change after which the lines near by can be read is what was meant; of
several such changes, the one that leaves the most regular indentation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pai_lsp.source.building import nodes_in
from pai_lsp.source.frozen import dataclass
from pai_lsp.source.nodes import ProblemKind
from pai_lsp.source.odd_characters import BLANKS
from pai_lsp.source.patterns import lazy_pattern
from pai_lsp.source.text import UNSEEN, Span, end_of_line, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# How far the lines before and after the fault are read to see whether a change helps.
_LINES_BEFORE = 60
_LINES_AFTER = 25
_ODD = lazy_pattern(f"[{BLANKS}{UNSEEN}]|[\u2010-\u2015\u2212](?= )|\uff1a")
# A word that no colon follows; completion puts a character of private use into the word that is typed.
_WORD_ALONE = lazy_pattern(
    r"((?:[^\W\d]|[\ue000-\uf8ff])[\w.\ue000-\uf8ff-]*)"
    r"(?:([ \t]*=[ \t]+|;[ \t]*|::?[ \t]+|:)|[ \t]+(?=[^\s:])|\Z)"
)
_ODD_DASH = lazy_pattern(r"(-|--|\*[ ]?)(?=[\w{\[\"'])")
_KEY = lazy_pattern(r"[A-Za-z_\"'][\w.\"' -]*[ ]?:(?=\s|$)")
_DASH = lazy_pattern(r"-[ ]+(?=[^\s-])")
_INDENTATION = 3  # the rank of another indentation
_COMMENT = lazy_pattern(r"\s#")


@dataclass(frozen=True, slots=True)
class Repair:
    """One fault and the replacements in the repaired copy that remove it: `(start, end, new text)`.

    Without a message js-yaml reads the text, and only libyaml needs the replacement.
    `title` names the fix for the author: `edit` if given, else the one replacement itself.
    `is_runtime_only`: whether js-yaml reads the fault, and PyYAML refuses it as libyaml does.
    """

    message: str
    span: Span
    replacements: tuple[tuple[int, int, str], ...]
    kind: ProblemKind = ProblemKind.SYNTAX
    title: str = ""
    edit: tuple[int, int, str] | None = None
    is_runtime_only: bool = False


@dataclass(frozen=True, slots=True)
class _WrittenLine:
    """A line with content: its offset, that of its content, and the content without a comment."""

    start: int
    at: int
    content: str

    @property
    def depth(self) -> int:
        return self.at - self.start

    @property
    def begins_section(self) -> bool:
        return not self.depth and self.content[0].isascii()

    @property
    def begins(self) -> bool:
        """Whether it begins something: it has a key, a dash or a bracket."""
        return _KEY.match(self.content) is not None or self.content[0] in "-{["

    @property
    def span(self) -> Span:
        return Span(self.at, self.at + len(self.content))

    @property
    def inner_depth(self) -> int:
        """The depth of what follows the dashes of the line."""
        dashes = re.match(r"(?:- +)*", self.content)
        return self.depth + (dashes.end() if dashes else 0)


def odd_line(text: str, at: int, context_at: int) -> Repair | None:
    """The fix of the odd line near the fault `at` that libyaml met in what begins at `context_at`; None without one."""
    lines = _lines(text, at)
    here = next((number for number, line in enumerate(lines) if line.span.end >= at), -1)
    if here < 0:
        return None
    begin = next((number for number, line in enumerate(lines) if line.span.end > context_at), here)
    first = next((number for number in range(max(min(here - 2, begin), 0), -1, -1) if lines[number].begins_section), 0)
    after = next((number for number in range(here + 1, len(lines)) if lines[number].begins_section), len(lines))
    start = lines[first].start
    end = lines[after].start if after < len(lines) else lines[-1].span.end
    part = text[start:end]
    found: list[tuple[int, int, int, int, Repair]] = []
    suspects = dict.fromkeys(number for number in (here - 1, here, begin, here - 2) if number >= first)
    is_structure = all(line.begins for line in lines[max(here - 1, 0) : here + 1])
    for number in suspects:
        # Nothing is above a section, or a line that has a value already; words would become the end of a text above.
        begins_anew = lines[number].begins_section and not (number and lines[number - 1].content.endswith((":", "-")))
        for rank, change in _changes(text, lines, number):
            if rank == _INDENTATION and (begins_anew or not is_structure):
                continue
            begin_edit, end_edit, new = change.replacements[0]
            tried = f"{part[: begin_edit - start]}{new}{part[end_edit - start :]}"
            if nodes := nodes_in(tried):
                found.append((rank, -nodes, _odd_steps(tried), len(found), change))
    return min(found)[-1] if found else None


def _lines(text: str, at: int) -> list[_WrittenLine]:
    start = at
    for _ in range(_LINES_BEFORE):
        start = text.rfind("\n", 0, start)
        if start < 0:
            break
    found: list[_WrittenLine] = []
    start, number_after = start + 1, 0
    while start < len(text) and number_after < _LINES_AFTER:
        end = end_of_line(text, start)
        line = text[start:end].rstrip()
        content = line.lstrip(" ")
        at_content = start + len(line) - len(content)
        comment = _COMMENT.search(content)
        content = content[: comment.start()] if comment else content
        if content and not content.startswith("#"):
            found.append(_WrittenLine(start, at_content, content))
            number_after += start > at
        start = end + 1
    return found


def _changes(text: str, lines: list[_WrittenLine], number: int) -> Iterator[tuple[int, Repair]]:
    """What may be meant by a line, each with its rank: of two changes that help, the lower one is more likely."""

    def change(rank: int, message: str, span: Span, title: str, *replacement: Any) -> tuple[int, Repair]:
        return rank, Repair(message, span, (replacement,), title=title)

    line = lines[number]
    content, at = line.content, line.at
    if not content.isascii() and (odd := list(_ODD.finditer(text, line.start, line.span.end))):
        first, last = odd[0].start(), odd[-1].end()
        places = {match.start() for match in odd}
        new = "".join(_meant(text[at]) if at in places else text[at] for at in range(first, last))
        yield change(0, named(odd[0][0]), Span(first, odd[0].end()), "Replace it", first, last, new)
    inner = line.inner_depth - line.depth
    match = _WORD_ALONE.match(content, inner)
    is_text = match is not None and inner > 0 and not match[2]  # an item of a list
    if match and not is_text and ": " not in content and not content.endswith(":"):
        word = match[1]
        colon = Span(at + match.end(1), at + match.end())
        new = ": " if match.end() < len(content) else ":"
        is_stuck = (match[2] or "")[:1] == ":" and len(match[2]) == 1
        message = f"expected a space after '{word}:'" if is_stuck else f"expected ':' after '{word}'"
        title = "Add a space" if is_stuck else "Add ':'"
        yield change(1, message, Span(at + match.start(1), line.span.end), title, colon.start, colon.end, new)
    if dash := _ODD_DASH.match(content):
        message = f"expected '- ' before '{shortened(content[dash.end() :])}'"
        yield change(1, message, Span(at, line.span.end), "Write '- '", at, at + dash.end(), "- ")
    before = lines[number - 1] if number else None
    after = lines[number + 1] if number + 1 < len(lines) else None
    depths: dict[int, None] = {}
    for other in (after, before, lines[number - 2] if number > 1 else None):
        if other:
            depths.update(dict.fromkeys((other.inner_depth, other.depth)))
    if before and before.content.endswith(":"):
        depths[before.inner_depth + 2] = None
    for depth in depths if line.begins else ():
        if depth != line.depth:
            shown = shortened(content)
            message = f"'{shown}' is indented by {line.depth}, but the lines that it belongs to are indented by {depth}"
            yield change(_INDENTATION, message, line.span, f"Indent it by {depth}", line.start, at, " " * depth)
    if dash := _DASH.match(content):
        if _KEY.match(content, dash.end()):
            message = f"'- ' does not belong before '{shortened(content[dash.end() :])}': it begins a list"
            for new in ("", " " * dash.end()):
                yield change(2, message, line.span, "Remove '- '", at, at + dash.end(), new)
    elif line.begins and any(one.depth in {line.depth, line.depth - 2} and _DASH.match(one.content) for one in lines):
        message = f"expected '- ' before '{shortened(content)}', as in the lines near by"
        yield change(4, message, line.span, "Add '- '", at, at, "- ")
        if line.depth >= 2:
            yield change(4, message, line.span, "Add '- '", at - 2, at, "- ")


def _meant(character: str) -> str:
    if character == "\uff1a":
        return ":"
    return " " if re.match(f"[{BLANKS}]", character) else "" if re.match(f"[{UNSEEN}]", character) else "-"


def named(character: str) -> str:
    """What is wrong with a character that only looks like a blank, a dash or a colon, or like nothing."""
    meant = _meant(character)
    code = f"U+{ord(character):04X}"
    if not meant:
        return f"the invisible character {code} is a letter for YAML; remove it"
    shown = "a space" if meant == " " else f"'{meant}'"
    return f"the character {code} is not {shown}; write {shown}"


def _odd_steps(text: str) -> int:
    """How many lines are indented, compared with the line that they belong to, otherwise than most."""
    steps: dict[int, int] = {}
    depths: list[int] = []
    for line in text.split("\n"):
        content = line.lstrip(" ")
        if not content or content.startswith("#"):
            continue
        depth = len(line) - len(content)
        while depths and depths[-1] >= depth and not (depths[-1] == depth and content.startswith("- ")):
            depths.pop()
        if depths and depth > depths[-1]:
            steps[depth - depths[-1]] = steps.get(depth - depths[-1], 0) + 1
        if not depths or depths[-1] < depth:
            depths.append(depth)
        if content.startswith("- ") and ": " in content + " ":
            depths.append(depth + 2)
    return sum(steps.values()) - max(steps.values(), default=0)
