"""What the page of the playground asks the checker, which runs in the browser: JSON in, JSON out.

Offsets are in UTF-16 code units, as JavaScript counts. No answer has the value of a secret in a message; texts that the
author may submit have what the author wrote.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pai_lsp.document import Document, check, check_expanded
from pai_lsp.findings.diagnostic import Settings, Severity, limited
from pai_lsp.platform.platforms import platform_named
from pai_lsp.rules.prerequisites.extension import ANSWERED_BY_EXPANSION
from pai_lsp.source.text import ColumnUnit, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pai_lsp.findings.diagnostic import Diagnostic
    from pai_lsp.source.text import Span

# A name that marks every text as a job, so that an unfinished one is checked, too.
_JOB = "job.pai.yaml"


def answer(question: str) -> str:
    """The answer to `{"ask", "text", "platform"}`, where `ask` is a key of `_ANSWERS`."""
    asked = json.loads(question)
    document = _document(asked["text"], asked["platform"])
    return json.dumps(_ANSWERS[asked["ask"]](document))


def _document(text: str, platform: str) -> Document:
    settings = Settings().on(platform_named(platform))
    document = Document(text, settings).as_definitions(is_wanted=False)
    return document if document.is_mpijob or document.is_catalog else Document(text, settings, _JOB)


def _kind(document: Document) -> str:
    if document.is_mpijob:
        return "MPIJob"
    return "definitions" if document.is_catalog else "job"


def _checked(document: Document) -> dict[str, Any]:
    found = check(document)
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
    starts = _units(document.text, [one.span.start for one in found.sources])
    lines = [[one.line, start] for one, start in zip(found.sources, starts, strict=True) if one.path is None]
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


_ANSWERS = {
    "check": _checked,
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
                    "edits": [{**_place(document, edit.span), "insert": edit.new_text} for edit in fix.edits],
                }
                for fix in one.fixes
            ],
        }
        for one in shown
    ]


def _place(document: Document, span: Span) -> dict[str, int]:
    start, end = _units(document.text, (span.start, span.end))
    return {"from": start, "to": end}


def _units(text: str, offsets: Sequence[int]) -> Sequence[int]:
    """Offsets in code points as offsets in UTF-16 code units."""
    if text.isascii():
        return offsets
    return [text_width(text[:offset], ColumnUnit.UTF16) for offset in offsets]
