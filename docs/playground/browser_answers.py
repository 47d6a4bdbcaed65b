"""What a page asks the checker, which runs in the browser: JSON in, JSON out. cluster_answers.py is about a cluster.

Offsets are in UTF-16 code units, as JavaScript counts. No answer has the value of a secret in a message; texts that the
author may submit have what the author wrote.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pai_lsp.document import check, check_expanded, document_of_text
from pai_lsp.findings.diagnostic import Settings, Severity, limited
from pai_lsp.job.lookup import NoLookup
from pai_lsp.platform.platforms import platform_named
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.source.frozen import replace
from pai_lsp.source.text import ColumnUnit, text_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cluster_answers import Definitions

    from pai_lsp.catalog.catalog import Catalog
    from pai_lsp.document import Document
    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.source.text import Span, TextEdit


# The definitions of marketplaces by their addresses, when they have answered: too many to come with every question.
_definitions: Definitions = {None: NoLookup()}


def answer(question: str) -> str:
    """The answer to `{"ask", "text", "platform", …}`, where `ask` is one of those below, or one about a cluster.

    `cluster`: the profile of a cluster as JSON text; without it, the job is for any cluster. `marketplace`: the address
    of the one whose definitions are known. `at`: an offset.
    `expands`: whether the page sends the expanded job only, so that what expansion answers is not found.
    """
    asked = json.loads(question)
    not_yet = NoLookup("the marketplace of this cluster has not answered yet")
    lookup = _definitions.setdefault(asked.get("marketplace"), not_yet)
    document = document_of(asked["text"], asked["platform"], asked.get("cluster"), lookup)
    if asked["ask"] in _AT_PLACES:
        return json.dumps(_AT_PLACES[asked["ask"]](document, _offset(document.text, asked["at"])))
    if asked["ask"] == "rule":
        return json.dumps(_rule(asked["code"]))
    if asked["ask"] == "check":
        return json.dumps(_checked(document, expands=asked.get("expands", False)))
    if asked["ask"] in _ANSWERS:
        return json.dumps(_ANSWERS[asked["ask"]](document))
    from cluster_answers import cluster_answer  # noqa: PLC0415 - only the portal asks a cluster

    return json.dumps(cluster_answer(document, asked, _definitions))


@lru_cache(maxsize=1)
def document_of(text: str, platform: str, cluster: str | None, lookup: NoLookup | Catalog) -> Document:
    """The document of a text; the same one for all questions about it, so that nothing is analysed twice."""
    settings = Settings().on(platform_named(platform))
    if cluster is not None:
        from pai_lsp.cluster.profile import read_profile  # noqa: PLC0415 - as in `answer`

        settings = read_profile(cluster).applied_to(settings)
    return replace(document_of_text(text, settings), lookup=lookup)


def _kind(document: Document) -> str:
    if document.is_mpijob:
        return "MPIJob"
    return "definitions" if document.is_catalog else "job"


def _checked(document: Document, *, expands: bool) -> dict[str, Any]:
    found = document.diagnostics
    others = tuple(one for one in found if one.code not in ANSWERED_BY_EXPANSION)
    if expands and len(others) < len(found):
        # Another error says why a job cannot be expanded.
        has_error = any(one.severity is Severity.ERROR for one in others)
        found = others if has_error or _expanded(document)["text"] is not None else found
    fixable = sum(any(fix.safe for fix in one.fixes) for one in found)
    return {"kind": _kind(document), "fixable": fixable, "findings": _findings(document, found)}


def _fixed(document: Document) -> dict[str, Any]:
    from pai_lsp.safe_fixes import with_safe_fixes  # noqa: PLC0415 - only when it is asked for

    result = with_safe_fixes(document, check, lambda _: True)
    return {"text": result.document.text, "fixed": result.fixed}


def _runs(document: Document) -> dict[str, Any]:
    from pai_lsp.ide.preview import preview  # noqa: PLC0415 - as above

    if _kind(document) != "job":
        return {"text": None, "lines": []}
    found = preview(document)
    own = {line: one.span.start for line, one in found.sources.items() if one.path is None}
    lines = [[line, start] for line, start in zip(own, _units(document.text, [*own.values()]), strict=True)]
    return {"text": found.text, "lines": lines}


def _expanded(document: Document, *, inline: bool = False) -> dict[str, Any]:
    from pai_lsp.expansion.released_job import expanded  # noqa: PLC0415 - as above

    if _kind(document) != "job":
        return {"text": None, "findings": []}
    roles = [role.name for role in document.job.task_roles] if inline else ()
    result = expanded(document.job, roles)
    problems = (*check_expanded(document, result), *result.problems) if result.text is not None else result.problems
    wanted = [one for one in problems if one.severity is Severity.ERROR and one.code not in ANSWERED_BY_EXPANSION]
    errors = list({(one.code, one.span): one for one in wanted}.values())
    text = None if result.text is None or errors else result.text
    return {"text": text, "findings": _findings(document, errors)}


def _drawn(document: Document) -> dict[str, Any]:
    from pai_lsp.ide.prerequisite_graph import dot, prerequisite_graph  # noqa: PLC0415 - as above

    if document.is_mpijob:
        return {"dot": None, "places": {}}
    graph = prerequisite_graph(document.job)
    own = [node for node in graph.nodes if node.path is None]
    starts = _units(document.text, [node.span.start for node in own])
    places = {node.identifier: start for node, start in zip(own, starts, strict=True)}
    return {"dot": dot(graph) if graph.nodes else None, "places": places}


def _completed(document: Document, offset: int) -> list[dict[str, Any]]:
    from pai_lsp.ide.completion.complete import complete  # noqa: PLC0415 - as above
    from pai_lsp.ide.completion.suggestion import filled  # noqa: PLC0415 - as above

    def places(snippet: str) -> list[list[int]]:
        text, found = filled(snippet)
        return [[number, *_units(text, (span.start, span.end))] for number, span in found]

    return [
        {
            "label": one.label,
            "kind": one.kind.value,
            "detail": one.detail,
            "documentation": one.documentation,
            "edit": _edit(document, one.edit),
            "places": [] if one.snippet is None else places(one.snippet),
            "elsewhere": [_edit(document, edit) for edit in one.elsewhere],
        }
        for one in complete(document, offset)
    ]


def _hovered(document: Document, offset: int) -> dict[str, Any] | None:
    from pai_lsp.ide.hover import hover  # noqa: PLC0415 - as above

    found = hover(document, offset)
    return {"markdown": found.markdown, **_place(document, found.span)} if found else None


def _rule(code: str) -> dict[str, str]:
    from pai_lsp.ide.documentation import rule_page  # noqa: PLC0415 - as above
    from pai_lsp.rules import known  # noqa: PLC0415 - as above

    return {"markdown": rule_page(known(code))}


_AT_PLACES: Mapping[str, Callable[[Document, int], Any]] = {"complete": _completed, "hover": _hovered}
_ANSWERS: Mapping[str, Callable[[Document], Any]] = {
    "fix": _fixed,
    "runs": _runs,
    "expand": _expanded,
    "inline": lambda document: _expanded(document, inline=True),
    "graph": _drawn,
}


def _findings(document: Document, found: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    hidden = document.job.hidden
    shown = [one.without_secrets(hidden) for one in limited(tuple(found))]
    return [
        {
            "code": one.code,
            "severity": one.severity.label,
            "message": one.message,
            "line": document.lines.line_of(one.span.start) + 1,
            **_place(document, one.span),
            "fixes": [
                {
                    "title": fix.title,
                    "edits": [_edit(document, edit) for edit in fix.edits],
                }
                for fix in one.fixes
            ],
        }
        for one in shown
    ]


def _edit(document: Document, edit: TextEdit) -> dict[str, Any]:
    return {**_place(document, edit.span), "insert": edit.new_text}


def _place(document: Document, span: Span) -> dict[str, int]:
    start, end = _units(document.text, (span.start, span.end))
    return {"from": start, "to": end}


def _units(text: str, offsets: Sequence[int]) -> Sequence[int]:
    """Offsets in code points as offsets in UTF-16 code units."""
    if text.isascii():
        return offsets
    return [text_width(text[:offset], ColumnUnit.UTF16) for offset in offsets]


def _offset(text: str, units: int) -> int:
    """An offset in UTF-16 code units as one in code points."""
    return units if text.isascii() else len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))
