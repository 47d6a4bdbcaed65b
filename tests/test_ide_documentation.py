"""docs/features.md is true: its table has the server's methods, and its examples show what the features say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from documentation_blocks import DOCUMENTATION, marked_blocks
from lsprotocol import types as lsp

from pai_lsp.document import Document
from pai_lsp.findings.diagnostic import Severity
from pai_lsp.ide.completion.complete import complete
from pai_lsp.ide.hints_and_lenses import HintKind, LensKind, inlay_hints, lenses
from pai_lsp.ide.hover import hover
from pai_lsp.ide.navigation import RenameRefused, links, members_at, needed_by, needs, references, rename
from pai_lsp.ide.outline import OutlineItem, folds, outline, selection_ranges
from pai_lsp.ide.semantic_tokens import semantic_tokens
from pai_lsp.lsp.features import DOCUMENT_FEATURES
from pai_lsp.source.text import Span, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BLOCKS = marked_blocks("features.md")
JOB = BLOCKS["job"]
DOCUMENT = Document(JOB)
PAGE = (DOCUMENTATION / "features.md").read_text(encoding="utf-8")

# Where the lines of the completion's example are typed: the text that they replace, the first time it occurs.
TYPED = {
    "dockerImage: |": "dockerImage: pytorch\n",
    "prerequisites: [mnist, |": "prerequisites: [mnist]\n",
    "command|": "commands:\n      - export TOKEN=<% $secrets.token %>\n",
    "event: |": "event: taskStarts\n",
    "train.py <% |": "train.py --epochs <% $parameters.epochs %>",
    "echo $PAI_HOST|": "export TOKEN=<% $secrets.token %>\n",
    "torchrun --nno|": "export TOKEN=<% $secrets.token %>\n",
}


def line(offset: int) -> int:
    return JOB.count("\n", 0, offset) + 1


def completion() -> Iterator[str]:
    for row in BLOCKS["completion"].splitlines():
        typed = row.partition("|")[0] + "|"
        start = JOB.index(TYPED[typed])
        end = "\n" if TYPED[typed].endswith("\n") else ""
        text = JOB[:start] + typed[:-1] + end + JOB[start + len(TYPED[typed]) :]
        if typed == "command|":
            text = JOB[:start] + typed[:-1] + "\n"
        prefix = re.split(r"[ $]", typed[:-1])[-1]
        labels = [one.label for one in complete(Document(text), start + len(typed) - 1)]
        wanted = [label for label in labels if label.startswith(prefix)]
        named = [one for one in wanted if one in row.partition("|")[2].replace(",", " ").split()]
        assert wanted[: len(named)] == named, f"{typed} offers {wanted}"
        yield f"{typed:32}{', '.join(named)}"


def hovered() -> Iterator[str]:
    found = hover(DOCUMENT, JOB.index("[mnist]") + 1)
    assert found is not None
    shown = re.sub(r"```sh\n(.*?)\n```", lambda match: f"    {match[1]}", found.markdown, flags=re.DOTALL)
    yield from shown.split("\n")


def referenced() -> Iterator[str]:
    for span in references(DOCUMENT, JOB.index("worker")):
        column = span.start - JOB.rfind("\n", 0, span.start)
        text = DOCUMENT.lines.line_text(line(span.start) - 1).strip().removeprefix("- ")
        yield f"{f'{line(span.start)}:{column}':8}{text}"


def renamed() -> Iterator[str]:
    for name in ("node", "My_Role"):
        yield f"worker -> {name}"
        try:
            after = apply_edits(JOB, rename(DOCUMENT, JOB.index("worker"), name))
        except RenameRefused as refused:
            yield str(refused)
            continue
        yield from (new for old, new in zip(JOB.split("\n"), after.split("\n"), strict=True) if new != old)


def hierarchy() -> Iterator[str]:
    for name, ask, words in (
        ("worker", needs, "needs"),
        ("mnist", needs, "needs"),
        ("install", needed_by, "is needed by"),
    ):
        (member,) = members_at(DOCUMENT, JOB.index(f"{name}:" if name == "worker" else f"name: {name}") + 6)
        yield f"{name} {words} {', '.join(call.member.name for call in ask(DOCUMENT, member.key))}"


def outlined(items: Iterable[OutlineItem] | None = None, indentation: str = "") -> Iterator[str]:
    for item in outline(DOCUMENT) if items is None else items:
        yield f"{indentation}{item.name}" + (f": {item.detail}" if item.detail else "")
        yield from outlined(item.children, indentation + "  ")


def hinted() -> Iterator[str]:
    text = JOB
    for hint in reversed(inlay_hints(DOCUMENT, Span(0, len(JOB)))):
        text = f"{text[: hint.offset]}⟦{hint.label}⟧{text[hint.offset :]}"
    yield from (one for one in text.split("\n") if "⟦" in one)


def lensed() -> Iterator[str]:
    above: dict[int, list[str]] = {}
    for lens in lenses(DOCUMENT):
        above.setdefault(line(lens.span.start), []).append(lens.title)
    yield from (f"{f'{number}:':4}{' | '.join(titles)}" for number, titles in above.items())


def coloured() -> Iterator[str]:
    start = JOB.index("- python")
    for token in semantic_tokens(DOCUMENT, Span(start, len(JOB))):
        names = " ".join([token.type.value, *(modifier.value for modifier in token.modifiers)])
        yield f"{JOB[token.span.start : token.span.end]:16}{names}"


def linked() -> Iterator[str]:
    for link in links(DOCUMENT):
        yield f"{JOB[link.span.start : link.span.end]:48}{link.address}"


def folded() -> Iterator[str]:
    for fold in folds(DOCUMENT):
        first, last = line(fold.span.start), line(fold.span.end)
        yield f"{f'{first}-{last}':8}{DOCUMENT.lines.line_text(first - 1)}"


def selected() -> Iterator[str]:
    spans = selection_ranges(DOCUMENT, JOB.index("epochs %>"))
    yield from (JOB[span.start : span.end] for span in spans[:5])


EXAMPLES: dict[str, Callable[[], Iterator[str]]] = {
    "completion": completion,
    "hover": hovered,
    "references": referenced,
    "rename": renamed,
    "hierarchy": hierarchy,
    "outline": outlined,
    "inlay-hints": hinted,
    "lenses": lensed,
    "tokens": coloured,
    "links": linked,
    "folding": folded,
    "selection": selected,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_shows_what_the_feature_says(name: str) -> None:
    assert "".join(f"{one}\n" for one in EXAMPLES[name]()) == BLOCKS[name]


def test_every_example_is_looked_at() -> None:
    assert set(BLOCKS) == {"job", *EXAMPLES}


def test_the_job_is_sound() -> None:
    assert {one.code for one in DOCUMENT.diagnostics if one.severity <= Severity.WARNING} == {"needs-expansion"}


def test_the_table_has_all_methods() -> None:
    table = {
        method for row in PAGE.splitlines() if row.startswith("| ") for method in re.findall(r"`(\w+/[\w/]+)`", row)
    }
    features = {one.method for one in DOCUMENT_FEATURES} | {lsp.WORKSPACE_SYMBOL, lsp.WORKSPACE_EXECUTE_COMMAND}
    assert table == features | {lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS}


def test_the_settings_are_those_of_the_hints() -> None:
    assert set(re.findall(r"`openpai\.inlayHints\.(\w+)`", PAGE)) == {kind.value for kind in HintKind}
    assert set(re.findall(r"`openpai\.codeLens\.(\w+)`", PAGE)) == {kind.value for kind in LensKind}
