"""Every answer about each place of some files, with its exact place: tests/everywhere has them beside each file.

A place is written as its line and column, counted from 1, and its text; of several lines, as the last line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from expansion import FOLDER as EXPANSIONS
from expansion import MemoryLookup, marketplace
from marks import is_catalog
from test_cluster_fit import cluster
from test_refactorings import read_selection

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Settings
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.cursor import Cursor
from pai_lsp.ide.formatting import formatted
from pai_lsp.ide.hints_and_lenses import inlay_hints, lenses
from pai_lsp.ide.hover import hover
from pai_lsp.ide.marketplace_insertion import insertion
from pai_lsp.ide.navigation import definitions, links, members_at, needed_by, needs, references
from pai_lsp.ide.outline import OutlineItem, folds, outline, selection_ranges
from pai_lsp.ide.refactorings import made, mpijob_conversion, refactorings
from pai_lsp.ide.semantic_tokens import semantic_tokens
from pai_lsp.ide.typed_line import moved_line
from pai_lsp.job.lookup import SuggestedDefinition
from pai_lsp.source.text import Span, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pai_lsp.source.text import TextEdit

FOLDER = Path(__file__).parent / "everywhere"
FILES = sorted(FOLDER.glob("*.yaml"))


def of_file(path: Path) -> Document:
    text = path.read_text(encoding="utf-8")
    settings = Settings(cluster=cluster()) if "extended" in path.name else Settings()
    return Document(text, settings, path.name, marketplace(), is_catalog=is_catalog(text))


@dataclass(frozen=True)
class Answers:
    """The answers about a file, as lines."""

    document: Document

    @cached_property
    def text(self) -> str:
        return self.document.text

    def place(self, span: Span) -> str:
        first, last = self.document.lines.place(span.start), self.document.lines.place(span.end)
        text = self.text[span.start : span.end] if first.line == last.line else f"to {last.line}:{last.column}"
        return f"{first.line}:{first.column} {text}".rstrip()

    def edits(self, found: Iterable[TextEdit]) -> str:
        return ", ".join(f"{self.place(one.span)} -> {one.new_text!r}" for one in found)

    def everywhere(self, answer: Callable[[int], Iterable[str]]) -> Iterator[str]:
        """The answers at each offset, those of neighbors that are equal once, with the first and the last offset."""
        before: tuple[str, ...] = ()
        start = 0
        for offset in range(len(self.text) + 2):
            found = tuple(answer(offset)) if offset <= len(self.text) else ()
            if found != before:
                columns = "..".join(
                    f"{at.line}:{at.column}" for at in map(self.document.lines.place, (start, offset - 1))
                )
                yield from (f"{columns} {one}" for one in before)
                before, start = found, offset

    def hover(self) -> Iterator[str]:
        """Of each the first line and the last."""

        def answer(offset: int) -> Iterator[str]:
            if found := hover(self.document, offset):
                lines = [*filter(None, found.markdown.splitlines())]
                yield f"{self.place(found.span)}: {lines[0]} … {len(lines)} … {lines[-1]}"

        return self.everywhere(answer)

    def names(self) -> Iterator[str]:
        def answer(offset: int) -> Iterator[str]:
            if Cursor(self.document, offset).name is not None:
                for one in definitions(self.document, offset):
                    yield f"{self.place(one.origin)} is {self.place(one.span)} of {self.place(one.whole)}"
                uses = references(self.document, offset, with_definition=False)
                yield "used at " + ", ".join(map(self.place, uses))

        return self.everywhere(answer)

    def leads(self) -> Iterator[str]:
        def answer(offset: int) -> Iterator[str]:
            if Cursor(self.document, offset).name is None:
                for one in definitions(self.document, offset):
                    yield f"{self.place(one.origin)} is {self.place(one.span) if one.path is None else one.path}"

        return self.everywhere(answer)

    def selections(self) -> Iterator[str]:
        """At some places in all lines."""
        for offset in range(0, len(self.text), 17):
            grown = " < ".join(map(self.place, selection_ranges(self.document, offset)))
            yield f"{self.place(Span(offset, offset))}: {grown}"

    def offers(self) -> Iterator[str]:
        """Each refactoring where it is offered first: at the beginning of a word, or for a line."""
        starts = [at for at in range(len(self.text)) if self.text[at].isalnum() and not self.text[at - 1].isalnum()]
        lines = map(self.document.lines.line_span, range(len(self.document.lines)))
        offer = mpijob_conversion if self.document.is_mpijob else refactorings
        seen: set[str] = set()
        for span in [*(Span(at, at) for at in starts), *lines]:
            for one in offer(self.document, span):
                if one.title not in seen:
                    seen.add(one.title)
                    found = made(one)
                    change = self.edits(found.make()) if found.make else found.disabled_reason
                    yield f"{self.place(span)} {one.kind.value} {one.title}: {change}"

    def completions(self) -> Iterator[str]:
        """After a blank, a bracket or a sign: the first one, and what it replaces."""
        for offset in range(1, len(self.text)):
            if self.text[offset - 1] in "[{$,:<" or (self.text[offset - 1] == " " != self.text[offset]):
                found = complete(self.document, offset)
                for one in found[:1]:
                    at, replaced = self.document.lines.place(offset), self.text[one.edit.span.start : one.edit.span.end]
                    inserted = f"{one.edit.new_text!r} {'' if one.snippet is None else repr(one.snippet)}".rstrip()
                    more = f", more: {self.edits(one.elsewhere)}" if one.elsewhere else ""
                    yield f"{at.line}:{at.column} of {len(found)}: {one.label} for {replaced!r}: {inserted}{more}"

    def typed(self) -> Iterator[str]:
        """Lines that are typed again some columns to the right, each with Enter and without."""
        for number in range(len(self.document.lines)):
            line = self.document.lines.line_span(number)
            for more in (2, 4, 6):
                before = f"{self.text[: line.start]}{' ' * more}{self.text[line.start : line.end]}"
                for end in ("", f"\n{' ' * more}"):
                    above = self.text[: line.start] + before[line.start :] + end
                    document = Document(above + self.text[line.end :], self.document.settings, self.document.path)
                    if moved := moved_line(document, len(above)):
                        after = apply_edits(document.text, moved)[line.start :]
                        yield f"{number + 1} +{more} {end!r}: {after[: len(above) - line.start + 1]!r}"

    def calls(self) -> Iterator[str]:
        for offset in range(len(self.text)):
            for member in members_at(self.document, offset):
                if member.name_span.start == offset:
                    yield f"{self.place(member.name_span)} in {self.place(member.span)}: {member.detail}"
                    for one in needs(self.document, member.key):
                        yield f"  needs {one.member.name}: {', '.join(map(self.place, one.places))}"
                    for one in needed_by(self.document, member.key):
                        yield f"  needed by {one.member.name}: {', '.join(map(self.place, one.places))}"

    def outline(self) -> Iterator[str]:
        def items(found: Iterable[OutlineItem], indentation: str = "") -> Iterator[str]:
            for one in found:
                place = f"{self.place(one.name_span)} in {self.place(one.span)}"
                yield f"{indentation}{one.name}: {one.kind.name} {place}: {one.detail}"
                yield from items(one.children, f"{indentation}  ")

        return items(outline(self.document))

    def tokens(self) -> Iterator[str]:
        for one in semantic_tokens(self.document):
            yield f"{self.place(one.span)}: {' '.join([one.type.name, *(modifier.name for modifier in one.modifiers)])}"

    def folds(self) -> Iterator[str]:
        return (f"{self.place(one.span)}{' comment' * one.is_comment}" for one in folds(self.document))

    def hints(self) -> Iterator[str]:
        for one in inlay_hints(self.document, Span(0, len(self.text))):
            yield f"{self.place(Span(one.offset, one.offset))} {one.label} {one.tooltip!r}"

    def lenses(self) -> Iterator[str]:
        for one in lenses(self.document):
            places = ", ".join(map(self.place, one.references))
            yield f"{self.place(one.span)}: {one.kind.name} {one.title} {one.role} {places}".rstrip()

    def links(self) -> Iterator[str]:
        return (f"{self.place(one.span)}: {one.address} {one.tooltip}" for one in links(self.document))

    def format(self) -> Iterator[str]:
        return (f"{step}: {self.edits(formatted(self.document, step))}" for step in (2, 4))


QUESTIONS = (
    "hover", "names", "leads", "selections", "offers", "completions", "typed", "calls", "outline", "tokens", "folds",
    "hints", "lenses", "links", "format",
)  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_the_answers_about_each_place(path: Path, question: str) -> None:
    parts = path.with_suffix(".txt").read_text(encoding="utf-8").split("\n== ")
    expected = dict(part.removeprefix("== ").partition("\n")[::2] for part in parts)
    assert "\n".join(getattr(Answers(of_file(path)), question)()) == expected[question].rstrip("\n")


class Suggesting(MemoryLookup):
    """The marketplace, with its definitions to complete."""

    def suggestions(self, typed: str, most: int) -> tuple[SuggestedDefinition, ...]:
        del typed
        found = ((name, self.find(name).definitions[0]) for name in self.names())
        return tuple(
            SuggestedDefinition(name, one.name, "", one.type, variables=tuple(v.name for v in one.template_variables))
            for name, one in found
        )[:most]


# What a line of a marked text stands for that begins with `@`.
SHORT = {
    "@head": "protocolVersion: 2\nname: train\ntype: job\nprerequisites:\n"
    "  - {type: dockerimage, name: image, uri: 'ubuntu:20.04'}",
    "@role": "taskRoles:\n  worker:\n    instances: 1\n    dockerImage: image\n"
    "    resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}",
}
PLACES = FOLDER / "places.txt"


def at_a_mark(title: str, marked: str) -> Iterator[str]:
    """All about the place of `$0`, or about what is between `⟦` and `⟧`; or what puts a definition there."""
    text, span = read_selection("\n".join(SHORT.get(line, line) for line in marked.split("\n")))
    lookup = Suggesting((EXPANSIONS / "marketplace.yaml").read_text(encoding="utf-8"))
    document = Document(text, Settings(cluster=cluster()), "job.pai.yaml", lookup, is_catalog=is_catalog(text))
    answers = Answers(document)
    if title.startswith("put a definition"):
        reference, values = "marketplace://name/digits", {"dataPath": "/data"}
        yield answers.edits(insertion(document.job, span.start, reference, "digits", values))
        yield answers.edits(insertion(document.job, span.start, "marketplace://name/install_wget", "wget", {}))
        return
    for offer in map(made, refactorings(document, span)):
        change = answers.edits(offer.make()) if offer.make else offer.disabled_reason
        yield f"{offer.title}: {change}"
    if found := hover(document, span.start):
        lines = [*filter(None, found.markdown.splitlines())]
        yield f"hover {answers.place(found.span)}: {' / '.join(line[:80] for line in lines[:3])}"
    for target in definitions(document, span.start):
        yield f"leads to {answers.place(target.span) if target.path is None else target.path}"
    completed = complete(document, span.start)
    if completed:
        yield f"completed: {', '.join(one.label for one in completed[:8])} of {len(completed)}"
    for one in completed[:2]:
        inserted = f"{answers.edits([one.edit])} {'' if one.snippet is None else repr(one.snippet)}".rstrip()
        yield f"  {one.detail}: {inserted}"
    if moved := moved_line(document, span.start):
        yield f"moves: {answers.edits(moved)}"


def marked_places() -> dict[str, tuple[str, str]]:
    """By title, the marked text and the answers."""
    parts = PLACES.read_text(encoding="utf-8").split("=== ")[1:]
    titled = (part.partition("\n") for part in parts)
    return {title: (body.partition("\n---\n")[0], body.partition("\n---\n")[2]) for title, _, body in titled}


@pytest.mark.parametrize("title", marked_places())
def test_the_answers_at_a_marked_place(title: str) -> None:
    marked, expected = marked_places()[title]
    assert "".join(f"{line}\n" for line in at_a_mark(title, marked)) == expected


if __name__ == "__main__":  # writes the answers anew, to be read before they are kept
    for file in FILES:
        about = Answers(of_file(file))
        written = (f"== {one}\n" + "".join(f"{line}\n" for line in getattr(about, one)()) for one in QUESTIONS)
        file.with_suffix(".txt").write_text("\n".join(written), encoding="utf-8")
    found = {title: (marked, at_a_mark(title, marked)) for title, (marked, _) in marked_places().items()}
    PLACES.write_text(
        "".join(
            f"=== {title}\n{one}\n---\n" + "".join(f"{x}\n" for x in lines) for title, (one, lines) in found.items()
        ),
        encoding="utf-8",
    )
