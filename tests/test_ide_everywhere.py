"""Every answer about each place of one job, with its exact place: tests/everywhere/answers.txt has them.

A place is written as its line and column, counted from 1, and its text; of several lines, as the last line.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from expansion import marketplace

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.cursor import Cursor
from pai_lsp.ide.hints_and_lenses import inlay_hints, lenses
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import definitions, links, members_at, needed_by, needs, references
from pai_lsp.ide.outline import OutlineItem, folds, outline, selection_ranges
from pai_lsp.ide.refactorings import refactorings
from pai_lsp.ide.semantic_tokens import semantic_tokens
from pai_lsp.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FOLDER = Path(__file__).parent / "everywhere"
TEXT = (FOLDER / "job.pai.yaml").read_text(encoding="utf-8")
JOB = Document(TEXT, Settings(), "job.pai.yaml", marketplace())


def place(span: Span) -> str:
    first, last = JOB.lines.place(span.start), JOB.lines.place(span.end)
    text = TEXT[span.start : span.end] if first.line == last.line else f"to {last.line}:{last.column}"
    return f"{first.line}:{first.column} {text}".rstrip()


def everywhere(answer: Callable[[int], Iterable[str]]) -> Iterator[str]:
    """The answers at each offset, those of neighbors that are equal once, with the first and the last offset."""
    before: tuple[str, ...] = ()
    start = 0
    for offset in range(len(TEXT) + 2):
        found = tuple(answer(offset)) if offset <= len(TEXT) else ()
        if found != before:
            columns = "..".join(f"{at.line}:{at.column}" for at in map(JOB.lines.place, (start, offset - 1)))
            yield from (f"{columns} {one}" for one in before)
            before, start = found, offset


def hovers(offset: int) -> Iterator[str]:
    if found := hover(JOB, offset):
        yield f"{place(found.span)}: {found.markdown.splitlines()[0]}"


def names(offset: int) -> Iterator[str]:
    if Cursor(JOB, offset).name is not None:
        for one in definitions(JOB, offset):
            yield f"{place(one.origin)} is {place(one.span)} of {place(one.whole)}"
        yield "used at " + ", ".join(map(place, references(JOB, offset, with_definition=False)))


def leads(offset: int) -> Iterator[str]:
    if Cursor(JOB, offset).name is None:
        for one in definitions(JOB, offset):
            yield f"{place(one.origin)} is {place(one.span) if one.path is None else one.path}"


def grown(offset: int) -> Iterator[str]:
    """In a line with nested brackets, one with a list in a block, and one within a block of text."""
    if JOB.lines.place(offset).line in {6, 20, 37}:
        yield " < ".join(map(place, selection_ranges(JOB, offset)))


def offers(offset: int) -> Iterator[str]:
    """In lines with a template of `data`, names, and a command."""
    if JOB.lines.place(offset).line in {16, 27, 30, 31, 34}:
        for one in refactorings(JOB, Span(offset, offset)):
            yield f"{one.kind.value}: {one.title}{f' ({one.disabled_reason})' if one.make is None else ''}"


def offered_completions(offset: int) -> Iterator[str]:
    """In lines with a key, a list and a command with a template: the first ones, and what they replace."""
    line = JOB.lines.line_span(JOB.lines.line_of(offset))
    if JOB.lines.place(offset).line in {5, 31, 34} and TEXT[line.start : offset].strip(" -"):
        for one in complete(JOB, offset)[:3]:
            replaced = TEXT[one.edit.span.start : one.edit.span.end]
            yield f"{one.kind.value} {one.label} for {replaced!r}: {one.edit.new_text!r} {one.snippet or ''}".rstrip()


def calls() -> Iterator[str]:
    for offset in range(len(TEXT)):
        for member in members_at(JOB, offset):
            if member.name_span.start == offset:
                yield f"{place(member.name_span)} in {place(member.span)}: {member.detail}"
                for one in needs(JOB, member.key):
                    yield f"  needs {one.member.name}: {', '.join(map(place, one.places))}"
                for one in needed_by(JOB, member.key):
                    yield f"  needed by {one.member.name}: {', '.join(map(place, one.places))}"


def items(found: Iterable[OutlineItem], indentation: str = "") -> Iterator[str]:
    for one in found:
        yield f"{indentation}{one.name}: {one.kind.name} {place(one.name_span)} in {place(one.span)}: {one.detail}"
        yield from items(one.children, f"{indentation}  ")


ANSWERS: dict[str, Callable[[], Iterable[str]]] = {
    "hover": lambda: everywhere(hovers),
    "names": lambda: everywhere(names),
    "leads": lambda: everywhere(leads),
    "selections": lambda: everywhere(grown),
    "offers": lambda: everywhere(offers),
    "completions": lambda: everywhere(offered_completions),
    "calls": calls,
    "outline": lambda: items(outline(JOB)),
    "tokens": lambda: (
        f"{place(one.span)}: {' '.join([one.type.name, *(modifier.name for modifier in one.modifiers)])}"
        for one in semantic_tokens(JOB)
    ),
    "folds": lambda: (f"{place(one.span)}{' comment' * one.is_comment}" for one in folds(JOB)),
    "hints": lambda: (
        f"{place(Span(one.offset, one.offset))} {one.label} {one.tooltip!r}"
        for one in inlay_hints(JOB, Span(0, len(TEXT)))
    ),
    "lenses": lambda: (
        f"{place(one.span)}: {one.kind.name} {one.title} {one.role} {', '.join(map(place, one.references))}".rstrip()
        for one in lenses(JOB)
    ),
    "links": lambda: (f"{place(one.span)}: {one.address} {one.tooltip}" for one in links(JOB)),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_the_answers_about_each_place(question: str) -> None:
    parts = (FOLDER / "answers.txt").read_text(encoding="utf-8").split("\n== ")
    expected = dict(part.removeprefix("== ").partition("\n")[::2] for part in parts)
    assert "\n".join(ANSWERS[question]()) == expected[question].rstrip("\n")


if __name__ == "__main__":  # writes the answers anew, to be read before they are kept
    written = (f"== {question}\n" + "".join(f"{line}\n" for line in answer()) for question, answer in ANSWERS.items())
    (FOLDER / "answers.txt").write_text("\n".join(written), encoding="utf-8")
